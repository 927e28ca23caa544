import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { ownDatabase } from '../harness/own-database.ts'
import { freePort } from '../harness/ports.ts'
import type { Env } from '../harness/processes.ts'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const WAIT = { timeout: 20_000, interval: 5 }
/**
 * When to stop a process: after a share of a start's duration, or at a visible event of the start.
 */
const MOMENTS: readonly (number | ((started: Start) => Promise<unknown>))[] = [
  0,
  0.1,
  0.25,
  0.4,
  0.55,
  0.7,
  0.8,
  0.9,
  ({ port }) => vi.waitFor(() => fetch(`http://127.0.0.1:${port}/healthz`), WAIT),
  isReady,
]

function isReady({ output }: Start): Promise<unknown> {
  return vi.waitFor(() => expect(output.stdout).toContain('is ready'), WAIT)
}

/** Stops a start at each of the moments by `stop`, and expects that nothing is left behind. */
async function expectCleanEndAtEach(env: Env, stop: (started: Start) => void): Promise<void> {
  // A guess for the first one, which has the most to do. Then the latest moment says how long a
  // start takes on this machine, as busy as it is.
  let wholeMs = 1000
  for (const moment of [0.3, ...MOMENTS.toReversed()]) {
    const began = performance.now()
    const started = await start(env)
    await (typeof moment === 'number' ? pause(moment * wholeMs) : moment(started))
    if (moment === isReady) wholeMs = performance.now() - began
    stop(started)
    await expectCleanEnd(started)
  }
}

let place: Env
let remove: () => Promise<void>

beforeAll(async () => {
  const own = await ownDatabase()
  remove = own.remove
  place = { ...own.env, DATABASE_POOL_SIZE: '4' }
})
afterAll(() => remove())

interface Start {
  child: ChildProcess & { pid: number }
  port: number
  mark: string
  output: { stdout: string; stderr: string }
  ended: Promise<unknown[]>
}

/** Without the guard of the harness, which would kill orphans before they are found. */
async function start(env: Env = {}): Promise<Start> {
  const [port, mark] = [await freePort(), `mark-${randomBytes(8).toString('hex')}`]
  const { PATH, HOME, TMPDIR } = process.env
  const settings = { PORT: String(port), LOG_LEVEL: 'info', SHUTDOWN_GRACE_SECONDS: '8', DRAIN_SECONDS: '1' }
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    env: { PATH, HOME, TMPDIR, ...settings, ...place, ...env, EARLY_STOP: mark },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text))
  }
  return { child: Object.assign(child, { pid: child.pid ?? 0 }), port, mark, output, ended: once(child, 'close') }
}

/** Processes of a start, its children among them. */
const processesOf = (mark: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)
    } catch {
      return false
    }
  })

async function expectCleanEnd({ ended, mark, output, port }: Start): Promise<void> {
  const [code, signal] = await ended
  expect(['0 null', 'null SIGTERM'], output.stderr).toContain(`${String(code)} ${String(signal)}`)
  const levels = output.stderr.split('\n').flatMap((line) => (line === '' ? [] : levelOf(line)))
  expect(Math.max(0, ...levels), output.stderr).toBeLessThan(50)
  // A child ends by itself, a moment after its parent.
  await vi.waitFor(() => expect(processesOf(mark)).toEqual([]), { timeout: 3000, interval: 20 })
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  server.close()
}

/** A line that is not JSON counts as the worst level. */
function levelOf(line: string): number {
  try {
    return (JSON.parse(line) as { level: number }).level
  } catch {
    return Infinity
  }
}

const kinds: [kind: string, env: Env, isSkipped: boolean, hasChildren: boolean][] = [
  ['one process', {}, false, false],
  ['WORKERS=2, without Redis', { WORKERS: '2' }, !onServer, true],
]

// They wait more than they work, and only a server takes several starts at once.
describe.each(kinds)('%s', { concurrent: onServer }, (_kind, env, isSkipped, hasChildren) => {
  const skipped = isSkipped ? ' (skipped: needs DATABASE_URL)' : ''

  test.skipIf(isSkipped)(`SIGTERM at any moment of the start: a clean end, with nothing left behind${skipped}`, () =>
    expectCleanEndAtEach(env, ({ child }) => child.kill('SIGTERM')),
  )

  const alone = hasChildren ? '' : ' (skipped: it is alone in its group)'
  test.skipIf(isSkipped || !hasChildren)(
    `SIGTERM to all processes of a group at any moment: the same${skipped}${alone}`,
    () => expectCleanEndAtEach(env, ({ child }) => process.kill(-child.pid, 'SIGTERM')),
  )
})

test.skipIf(!onServer)(
  `a child that a signal ends before it serves is started again${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`,
  async () => {
    const started = await start({ WORKERS: '2' })
    const { pid } = started.child
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await vi.waitFor(() => {
        const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
        process.kill(Number(child || Infinity), signal)
      }, WAIT)
    }
    await vi.waitFor(() => expect(started.output.stdout).toContain('3 processes serve'), WAIT)
    started.child.kill('SIGTERM')
    await expectCleanEnd(started)
  },
)
