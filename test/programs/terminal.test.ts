import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'
import { makeDataDir } from '../harness/database.ts'
import { findProgram } from '../harness/programs.ts'

const SCRIPT = findProgram('script')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'engagement-terminal-'))
  makeDataDir(join(folder, 'data'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.skipIf(SCRIPT === undefined)(
  'at a terminal the start and Ctrl+C print words, no JSON (script of util-linux)',
  async () => {
    const { PATH, HOME } = process.env
    const command = `${process.execPath} ${join(ROOT, 'dist/main.js')}`
    const child = spawn(SCRIPT ?? '', ['--quiet', '--return', '--command', command, '/dev/null'], {
      env: { PATH, HOME, PORT: '0', DATA_DIR: join(folder, 'data') },
    })
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const wasReady = shown.includes('is ready at')
      shown += text
      // Ctrl+C.
      if (!wasReady && shown.includes('is ready at')) child.stdin.write('\u0003')
    })
    await new Promise((resolve) => child.on('close', resolve))
    expect(shown).toMatch(/Opening the database …[^]+is ready at[^]+Stopping, within 10 s …\s+Stopped\.\s+$/)
    expect(shown).not.toContain('{"level"')
  },
)
