import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { afterEach, describe, expect, test, vi } from 'vitest'

import { makeDataDir, onServer } from '../harness/database.ts'
import { freePort } from '../harness/ports.ts'
import { first, type Processes, type Run, runMain, type ServiceProcess, startProcesses } from '../harness/processes.ts'

const WAIT = { timeout: 20_000, interval: 20 }
const TOKEN = 'a-token-of-the-tests'

/** A fault of the program, on a signal that it does not use itself. */
const FAULTS = `data:text/javascript,${encodeURIComponent(`
  process.on('SIGUSR2', () => void Promise.reject(new Error('made by the test')))
  process.on('SIGHUP', () => setImmediate(() => { throw new Error('made by the test') }))
  const { FAILS_AT_START } = process.env
  const failing = FAILS_AT_START && setInterval(() => {
    // Before this, Node's own handling ends the process.
    if (process.listenerCount('uncaughtException') === 0) return
    clearInterval(failing)
    process.kill(process.pid, FAILS_AT_START)
  }, 1)
`)}`
const WITH_FAULTS = { LOG_LEVEL: 'info', NODE_OPTIONS: `--import=${FAULTS}`, METRICS_TOKEN: TOKEN }

interface Line {
  level: number
  msg: string
  err?: { message: string }
}

const linesOf = ({ stderr }: Run): Line[] =>
  stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))

const told = (run: Run): Line[] => linesOf(run).filter(({ err }) => err?.message === 'made by the test')

let service: Processes | undefined

afterEach(async () => {
  // Its log has the errors that the test made.
  await service?.close().catch(() => undefined)
})

const scrape = async ({ url }: ServiceProcess): Promise<string> =>
  (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text()

test('after unhandled rejections a process goes on: one line a second, and all are counted', async () => {
  service = await startProcesses({ env: WITH_FAULTS })
  const api = first(service.apis)
  for (let n = 0; n < 5; n++) {
    api.run.signal('SIGUSR2')
    await pause(20)
  }
  await vi.waitFor(
    async () => expect(await scrape(api)).toMatch(/^unhandled_errors_total\{kind="rejection"\} [2-5]$/m),
    WAIT,
  )
  expect((await service.call('GET', '/discussions')).status).toBe(200)
  const lines = told(api.run)
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.length).toBeLessThan(5)
  expect(lines[0]).toMatchObject({ level: 50, msg: expect.stringContaining('goes on') })
  expect(api.isRunning).toBe(true)
})

test.each(onServer ? (['api', 'worker'] as const) : (['all'] as const))(
  'after an uncaught exception a process of ROLE=%s stops in good order and ends with status 1',
  async (role) => {
    service = await startProcesses({ env: { ...WITH_FAULTS, DRAIN_SECONDS: '1' } })
    const process = first(role === 'worker' ? service.workers : service.apis)
    const began = performance.now()
    process.run.signal('SIGHUP')
    if (role !== 'worker') {
      // It takes no new work from a balancer, and still serves what comes.
      await vi.waitFor(async () => expect((await fetch(`${process.url}/readyz`)).status).toBe(503), WAIT)
      expect((await service.call('GET', '/discussions')).status).toBe(200)
    }
    expect(await process.run.exited).toEqual({ code: 1, signal: null })
    if (role !== 'worker') expect(performance.now() - began).toBeGreaterThan(900)
    expect(told(process.run)).toMatchObject([{ level: 60, msg: expect.stringContaining('started again') }])
    expect(linesOf(process.run).at(-1)?.msg).toBe('stopped')
  },
)

test.each(['SIGUSR2', 'SIGHUP'])('a start that meets %s ends with status 1 and says why', async (signal) => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-data-'))
  makeDataDir(folder)
  const failed = runMain({ ...WITH_FAULTS, FAILS_AT_START: signal, DATA_DIR: folder, PORT: String(await freePort()) })
  expect(await failed.exited).toEqual({ code: 1, signal: null })
  expect(told(failed)).toMatchObject([{ level: 60 }])
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(!onServer)(`several processes of one parent${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  const childrenOf = ({ pid }: Run): number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)

  test('a child that meets an exception is replaced; at one in the parent all stop, with status 1', async () => {
    service = await startProcesses({
      api: 1,
      worker: 0,
      role: 'all',
      env: { ...WITH_FAULTS, WORKERS: '2' },
    })
    const parent = first(service.apis)
    process.kill(first(childrenOf(parent.run)), 'SIGHUP')
    await vi.waitFor(
      () => expect(linesOf(parent.run).map(({ msg }) => msg)).toContain('a process has ended, and is started again'),
      WAIT,
    )
    expect((await service.call('GET', '/discussions')).status).toBe(200)
    parent.run.signal('SIGHUP')
    expect(await parent.run.exited).toEqual({ code: 1, signal: null })
  })
})
