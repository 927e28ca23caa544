import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

test('the package exports what mounts a backend, and its folder has no outside imports', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'backend-'))
  cpSync(join(root, 'dist/clients/backend'), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const [cwd, name] of [[root, 'engagement-service/backend'] as const, [folder, './backend.js'] as const]) {
    const script = `console.log(Object.keys(await import('${name}')).sort().join())`
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd }).toString()
    expect(output.trim()).toBe('createBackend,fastifyPlugin,nodeHandler')
  }
  rmSync(folder, { recursive: true })
})
