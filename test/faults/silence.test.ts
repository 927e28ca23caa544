import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { type ProxiedService, startProxiedService } from '../harness/proxied-service.ts'

const WAIT = { timeout: 30_000, interval: 50 }

const SKIPPED = onServer ? '' : ' (skipped: needs DATABASE_URL)'

describe.skipIf(!onServer)(`a database that vanishes silently${SKIPPED}`, () => {
  let inside: pg.Client
  let service: ProxiedService

  beforeAll(async () => {
    service = await startProxiedService()
    inside = new pg.Client({ connectionString: service.databaseUrl })
    await inside.connect()
  })

  afterAll(async () => {
    await inside.end()
    await service.close()
  })

  const post = async (externalId: string, withinMs = 60_000): Promise<number> => {
    const response = await fetch(`${service.url}/api/v1/discussions`, {
      method: 'POST',
      headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ externalId }),
      signal: AbortSignal.timeout(withinMs),
    }).catch(() => null)
    return response?.status ?? 0
  }
  const readyz = async (): Promise<number> => (await fetch(`${service.url}/readyz`)).status
  const written = async (like: string): Promise<string[]> => {
    const { rows } = await inside.query<{ external_id: string }>(
      'SELECT external_id FROM discussions WHERE external_id LIKE $1',
      [like],
    )
    return rows.map((row) => row.external_id)
  }

  test('everything is 503 in time, nothing is written afterwards, and new writes succeed soon after its return', async () => {
    expect(await post('before')).toBe(201)
    service.proxy.silence(true)
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
    service.proxy.silence(false)
    const back = performance.now()
    await vi.waitFor(async () => expect(await post('after')).toBeLessThan(300), WAIT)
    expect(performance.now() - back).toBeLessThan(10_000)
    await vi.waitFor(async () => expect(await readyz()).toBe(200), WAIT)
    await sleep(1000)
    expect(await written('silent-%')).toEqual([])
  })

  test('a write whose client has disconnected is not sent', async () => {
    service.proxy.silence(true)
    const statuses = await Promise.all(Array.from({ length: 40 }, (_each, index) => post(`gone-${index}`, 1000)))
    expect(new Set(statuses)).toEqual(new Set([0]))
    service.proxy.silence(false)
    await vi.waitFor(async () => expect(await post('present')).toBe(201), WAIT)
    await sleep(1000)
    // Only statements under way on the four connections have reached the server in the end.
    expect((await written('gone-%')).length).toBeLessThanOrEqual(4)
  })
})
