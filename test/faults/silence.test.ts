import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { createServerDatabase, onServer } from '../harness/database.ts'
import { freePort } from '../harness/ports.ts'
import { type Run, runMain } from '../harness/processes.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'

const LONG = 120_000
const WAIT = { timeout: 30_000, interval: 50 }

const SKIPPED = onServer ? '' : ' (skipped: needs DATABASE_URL)'

describe.skipIf(!onServer)(`a database that vanishes silently${SKIPPED}`, () => {
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  let database: Awaited<ReturnType<typeof createServerDatabase>>
  let inside: pg.Client
  let proxy: Proxy
  let url: string
  let service: Run

  beforeAll(async () => {
    database = await createServerDatabase()
    inside = new pg.Client({ connectionString: database.url })
    await inside.connect()
    const { hostname, port } = new URL(database.url)
    proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
    const proxied = new URL(database.url)
    proxied.host = `127.0.0.1:${proxy.port}`
    const PORT = String(await freePort())
    url = `http://127.0.0.1:${PORT}`
    service = runMain({
      PORT,
      DATABASE_URL: proxied.href,
      DATABASE_POOL_SIZE: '4',
      ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      BOOTSTRAP_API_KEY: apiKey,
      UNAUTHENTICATED_RATE_PER_SECOND: '0',
      LOG_LEVEL: 'warn',
      SHUTDOWN_GRACE_SECONDS: '2',
    })
    await service.ready
  }, LONG)

  afterAll(async () => {
    service.signal('SIGTERM')
    await service.exited
    await proxy.close()
    await inside.end()
    await database.drop()
  })

  const post = async (externalId: string, withinMs = 60_000): Promise<number> => {
    const response = await fetch(`${url}/api/v1/discussions`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ externalId }),
      signal: AbortSignal.timeout(withinMs),
    }).catch(() => null)
    return response?.status ?? 0
  }
  const readyz = async (): Promise<number> => (await fetch(`${url}/readyz`)).status
  const written = async (like: string): Promise<string[]> => {
    const { rows } = await inside.query<{ external_id: string }>(
      'SELECT external_id FROM discussions WHERE external_id LIKE $1',
      [like],
    )
    return rows.map((row) => row.external_id)
  }

  test(
    'everything is 503 in time, nothing is written afterwards, and new writes succeed soon after its return',
    async () => {
      expect(await post('before')).toBe(201)
      proxy.silence(true)
      const took: number[] = []
      const statuses = await Promise.all(
        Array.from({ length: 60 }, async (_each, index) => {
          await sleep(index * 100)
          const from = performance.now()
          const status = await post(`silent-${index}`)
          took.push(performance.now() - from)
          return status
        }),
      )
      expect(new Set(statuses)).toEqual(new Set([503]))
      expect(Math.max(...took)).toBeLessThan(12_000)
      await vi.waitFor(async () => expect(await readyz()).toBe(503), WAIT)
      proxy.silence(false)
      const back = performance.now()
      await vi.waitFor(async () => expect(await post('after')).toBeLessThan(300), WAIT)
      expect(performance.now() - back).toBeLessThan(10_000)
      await vi.waitFor(async () => expect(await readyz()).toBe(200), WAIT)
      await sleep(1000)
      expect(await written('silent-%')).toEqual([])
    },
    LONG,
  )

  test(
    'a write whose client has disconnected is not sent',
    async () => {
      proxy.silence(true)
      const statuses = await Promise.all(Array.from({ length: 40 }, (_each, index) => post(`gone-${index}`, 1000)))
      expect(new Set(statuses)).toEqual(new Set([0]))
      proxy.silence(false)
      await vi.waitFor(async () => expect(await post('present')).toBe(201), WAIT)
      await sleep(1000)
      // Only statements under way on the four connections have reached the server in the end.
      expect((await written('gone-%')).length).toBeLessThanOrEqual(4)
    },
    LONG,
  )
})
