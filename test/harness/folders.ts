import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll } from 'vitest'

/** A new folder for what the tests write. It is removed after the last of them. */
export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-tests-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
