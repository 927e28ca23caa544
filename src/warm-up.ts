// `node dist/warm-up.js` starts the service and a command once, on a database of their own, and
// keeps the code that V8 compiles for them. `npm run build` does this, and so does an image.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = mkdtempSync(join(tmpdir(), 'engagement-warm-up-'))

function start(program: string, ...args: string[]): { child: ChildProcess; ended: Promise<unknown[]> } {
  const { PATH, TMPDIR, NODE_OPTIONS } = process.env
  const child = fork(join(import.meta.dirname, program), args, {
    execArgv: ['--import', pathToFileURL(join(import.meta.dirname, 'keep-code.js')).href],
    env: { PATH, TMPDIR, NODE_OPTIONS, HOST: '127.0.0.1', PORT: '0', DRAIN_SECONDS: '0', DATA_DIR: folder },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  return { child, ended: once(child, 'exit') }
}

try {
  const { child, ended } = start('main.js')
  await Promise.race([once(child, 'message'), ended])
  child.kill()
  await ended
  await start('cli/cli.js', 'tenant', 'list').ended
} finally {
  rmSync(folder, { recursive: true, force: true })
}
