// `node dist/warm-up.js` starts the service and a command once, on a database of their own, and
// saves the code that V8 compiles for them. `npm run build` does this, and so does the image.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { codeStamp } from './load.ts'

/** A start takes some seconds, more on a busy machine. */
const READY_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'engagement-warm-up-'))
let running: ChildProcess | undefined

function start(program: string, ...args: string[]): { child: ChildProcess; ended: Promise<unknown> } {
  const { PATH, TMPDIR, NODE_OPTIONS } = process.env
  const child = fork(join(import.meta.dirname, program), args, {
    execArgv: ['--import', pathToFileURL(join(import.meta.dirname, 'keep-code.js')).href],
    env: {
      PATH,
      TMPDIR,
      NODE_OPTIONS,
      LOG_LEVEL: 'warn',
      HOST: '127.0.0.1',
      PORT: '0',
      DRAIN_SECONDS: '0',
      DATA_DIR: folder,
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  // Not inherited: on a terminal it would say that it opens a database.
  child.stderr?.pipe(process.stderr)
  running = child
  const ended = once(child, 'exit').then(([code]) => {
    if (code !== 0) throw new Error(`${program} has failed`)
  })
  return { child, ended }
}

async function warmUp(): Promise<void> {
  const { child, ended } = start('main.js')
  const timer = setTimeout(() => child.kill('SIGKILL'), READY_MS)
  await Promise.race([once(child, 'message'), ended]).finally(() => clearTimeout(timer))
  child.kill()
  await ended
  await start('cli/cli.js', 'tenant', 'list').ended
  writeFileSync(codeStamp, '')
}

const clear = (): void => rmSync(folder, { recursive: true, force: true })

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    running?.kill('SIGKILL')
    clear()
    process.exit(1)
  })
}

try {
  await warmUp()
} catch (error) {
  console.error(`The service is not compiled ahead: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  clear()
}
