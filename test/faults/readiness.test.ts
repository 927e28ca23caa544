import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { createServerDatabase, onServer } from '../harness/database.ts'
import { freePort } from '../harness/ports.ts'
import { type Env, type Run, runMain } from '../harness/processes.ts'

let runs: Run[]
let folder: string

beforeEach(() => {
  runs = []
  folder = mkdtempSync(join(tmpdir(), 'engagement-ready-'))
})
afterEach(async () => {
  for (const run of runs) run.signal('SIGKILL')
  await Promise.all(runs.map(({ exited }) => exited))
  rmSync(folder, { recursive: true, force: true })
})

const apiKey = `ek_${randomBytes(32).toString('hex')}`

async function start(env: Env): Promise<string> {
  const port = String(await freePort())
  const place = env.ROLE === 'worker' ? { WORKER_PORT: port } : { PORT: port }
  runs.push(runMain({ BOOTSTRAP_API_KEY: apiKey, LOG_LEVEL: 'warn', SHUTDOWN_GRACE_SECONDS: '2', ...env, ...place }))
  return `http://127.0.0.1:${port}`
}

/** The status of an answer; 0 while nobody listens. */
const statusOf = (url: string, headers: Record<string, string> = {}): Promise<number> =>
  fetch(url, { headers }).then(
    ({ status }) => status,
    () => 0,
  )

/**
 * Asks from the very start until the process is ready: what the key was answered meanwhile, and
 * right afterwards.
 */
async function askUntilReady(url: string): Promise<{ meanwhile: Set<number>; afterwards: number }> {
  const withKey = () => statusOf(`${url}/api/v1/discussions`, { 'x-api-key': apiKey })
  const meanwhile = new Set<number>()
  while ((await statusOf(`${url}/readyz`)) !== 200) {
    meanwhile.add(await withKey())
    await setTimeout(2)
  }
  return { meanwhile, afterwards: await withKey() }
}

function expectNoRefusal({ meanwhile, afterwards }: Awaited<ReturnType<typeof askUntilReady>>): void {
  expect(afterwards).toBe(200)
  // Before, the listener is closed, or answers 503. Somebody may have been ready between the two
  // questions.
  for (const status of meanwhile) expect([0, 503, 200]).toContain(status)
}

/**
 * Asks a process that starts again, as browsers do that come back to it: a 503 would end their
 * streams for good.
 */
async function expectNoWait(url: string): Promise<void> {
  const { meanwhile, afterwards } = await askUntilReady(url)
  expect([...meanwhile, afterwards]).not.toContain(503)
}

/** Stops all processes that run. */
async function stopAll(): Promise<void> {
  for (const run of runs) run.signal('SIGTERM')
  await Promise.all(runs.splice(0).map(({ exited }) => exited))
}

test.skipIf(onServer)(
  `embedded: the first start is ready when its key works, and never answers it 401; the next one is never 503${onServer ? ' (skipped: the same without DATABASE_URL)' : ''}`,
  async () => {
    const env = { DATA_DIR: join(folder, 'data') }
    expectNoRefusal(await askUntilReady(await start(env)))
    await stopAll()
    await expectNoWait(await start(env))
  },
)

test.skipIf(!onServer)(
  `two api processes and a worker on a new database: each is ready when the key works, and none answers it 401; started again, none is 503${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`,
  async () => {
    const { url: DATABASE_URL, drop } = await createServerDatabase()
    try {
      const env = {
        DATABASE_URL,
        DATABASE_POOL_SIZE: '4',
        ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
        ENCRYPTION_KEY: randomBytes(32).toString('base64'),
        UNAUTHENTICATED_RATE_PER_SECOND: '0',
      }
      const worker = await start({ ...env, ROLE: 'worker' })
      let refusal = await fetch(`${worker}/readyz`).catch(() => null)
      while (refusal === null) {
        await setTimeout(20)
        refusal = await fetch(`${worker}/readyz`).catch(() => null)
      }
      expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await refusal.json()).toMatchObject({ detail: 'The first start is not over: no tenant exists yet.' })
      const apis = await Promise.all([start({ ...env, ROLE: 'api' }), start({ ...env, ROLE: 'api' })])
      for (const answers of await Promise.all(apis.map(askUntilReady))) expectNoRefusal(answers)
      while ((await statusOf(`${worker}/readyz`)) !== 200) await setTimeout(20)
      await stopAll()
      const again = await Promise.all([start({ ...env, ROLE: 'api' }), start({ ...env, ROLE: 'api' })])
      await Promise.all(again.map(expectNoWait))
    } finally {
      for (const run of runs) run.signal('SIGKILL')
      await Promise.all(runs.map(({ exited }) => exited))
      await drop()
    }
  },
)
