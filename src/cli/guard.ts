// Runs a command in a thread, and ends the process within a second after a signal, whatever the
// command is doing: a thread that computes, or waits for the embedded database, can hear no signal
// itself. As the first process of a container, which gets no signals that it has no handler for,
// it ends as well. Everything that a command does may be cut off at any instant.
import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Worker } from 'node:worker_threads'

import { ROOT } from '../core/process/root.ts'
import { SIGNALS, type Told } from './stop.ts'

/** How long a command may take to stop by itself. */
const GRACE_MS = 600
/** How long its thread may take to end: at once, but in code that is not JavaScript. */
const END_MS = 200
/** How often it may take that long again on a busy machine, where the process hardly runs. */
const AGAIN = 4
const SHOW_CURSOR = '\u001b[?25h'

const worker = new Worker(join(ROOT, 'dist/cli/command.js'), {
  argv: process.argv.slice(2),
  workerData: basename(process.argv[1] ?? ''),
})
let stops: string | null = null
let draft: string | null = null
let isStopping = false
let hasToldItsEnd = false
let isEnding = false

worker.on('message', (told: Told) => {
  if ('draft' in told) draft = told.draft
  else {
    stops = told.stops
    hasToldItsEnd = isStopping && stops === null
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

function killLater(again = AGAIN): void {
  const before = process.cpuUsage()
  setTimeout(() => {
    const { user, system } = process.cpuUsage(before)
    if (again > 0 && (user + system) / 1000 < END_MS / 2) killLater(again - 1)
    else process.kill(process.pid, 'SIGKILL')
  }, END_MS)
}

function end(status: number): void {
  if (isEnding) return
  isEnding = true
  killLater()
  void worker.terminate().then(() => {
    if (draft !== null) rmSync(draft, { force: true })
    if (process.stderr.isTTY) process.stderr.write(SHOW_CURSOR)
    if (!hasToldItsEnd) console.error(stops ?? 'stopped')
    process.exit(status)
  })
}

for (const [name, number] of Object.entries(SIGNALS)) {
  process.on(name, () => {
    const waits = !isStopping && stops !== null
    isStopping = true
    if (!waits) return end(128 + number)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
    worker.postMessage(number)
    setTimeout(() => end(128 + number), GRACE_MS)
  })
}
