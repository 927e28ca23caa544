// Runs a command in a thread, and ends the process within a second after a signal, whatever the
// command is doing: a thread that computes, or waits for the embedded database, can get no signal
// itself. As the first process of a container, which gets no signals that it has no handler for,
// it ends as well. Everything that a command does may be cut off at any instant.
import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Worker } from 'node:worker_threads'

import { ROOT } from '../core/process/root.ts'
import { SIGNALS, type CommandMessage } from './stop.ts'

/** How long a command may take to stop by itself. */
const GRACE_MS = 600
/** How long its thread may take to end: at once, but in code that is not JavaScript. */
const END_MS = 200
/** How often it may take that long again on a busy machine, where the process hardly runs. */
const AGAIN = 4
const SHOW_CURSOR = '\u001b[?25h'

type Signal = keyof typeof SIGNALS

const worker = new Worker(join(ROOT, 'dist/cli/command.js'), {
  argv: process.argv.slice(2),
  workerData: basename(process.argv[1] ?? ''),
})
let stops: string | null = null
let draft: string | null = null
let isStopping = false
let hasPrintedEnd = false
let isEnding = false

worker.on('message', (message: CommandMessage) => {
  if ('draft' in message) draft = message.draft
  else {
    stops = message.stops
    hasPrintedEnd = isStopping && stops === null
  }
})

// Output is flushed first.
const exit = (status: number): void =>
  void process.stdout.write('', () => process.stderr.write('', () => process.exit(status)))

worker.on('exit', (status) => {
  if (!isEnding) exit(status)
})
worker.on('error', (error: Error) => {
  console.error(`The command failed: ${error.message}`)
  exit(1)
})
// A reader of the output that is gone: `export | head`.
process.stdout.on('error', (error) => {
  console.error(`The command failed: ${error.message}`)
  process.exit(1)
})

/** What is left to do once the command can do nothing more. */
function finish(): void {
  try {
    if (draft !== null) rmSync(draft, { force: true })
  } catch (error) {
    console.error(`the draft is left behind: ${String(error)}`)
  }
  if (process.stderr.isTTY) process.stderr.write(SHOW_CURSOR)
  if (!hasPrintedEnd) console.error(stops ?? 'stopped')
  hasPrintedEnd = true
}

function killLater(name: Signal, again = AGAIN): void {
  const before = process.cpuUsage()
  setTimeout(() => {
    const { user, system } = process.cpuUsage(before)
    if (again > 0 && (user + system) / 1000 < END_MS / 2) return killLater(name, again - 1)
    finish()
    // By the signal itself, without our handler: an exit would wait for the thread. To a shell, the
    // status is the same.
    process.removeAllListeners(name)
    process.kill(process.pid, name)
  }, END_MS)
}

function end(name: Signal): void {
  if (isEnding) return
  isEnding = true
  killLater(name)
  void worker.terminate().then(() => {
    finish()
    process.exit(128 + SIGNALS[name])
  })
}

for (const name of Object.keys(SIGNALS) as Signal[]) {
  process.on(name, () => {
    const waits = !isStopping && stops !== null
    isStopping = true
    if (!waits) return end(name)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
    worker.postMessage(SIGNALS[name])
    setTimeout(() => end(name), GRACE_MS)
  })
}
