import { setTimeout } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { runningMs } from '../harness/standstill.ts'

const REDIS_URL = process.env.REDIS_URL ?? ''
const hasRedis = onServer && REDIS_URL !== ''

const WAIT = { timeout: 20_000, interval: 50 }
/**
 * Far above what a busy machine needs, far below what a request that waited for Redis would take.
 */
const SLOW_MS = 3000
/** Low enough that even a busy machine exceeds it. */
const RATE = { perSecond: 10, burst: 30 }
/** Three clients of a process that pause so long ask it some hundred times a second. */
const PAUSE_MS = 20

describe.skipIf(!hasRedis)(
  `limits over processes${hasRedis ? '' : ' (skipped: needs DATABASE_URL and REDIS_URL)'}`,
  () => {
    let proxy: Proxy
    let service: Processes

    beforeAll(async () => {
      const { hostname, port } = new URL(REDIS_URL)
      proxy = await startProxy({ host: hostname, port: Number(port || 6379) })
      const url = new URL(REDIS_URL)
      url.host = `127.0.0.1:${proxy.port}`
      const env = { REDIS_URL: url.href, TRUSTED_PROXIES: '127.0.0.0/8' }
      service = await startProcesses({ api: 2, worker: 0, env })
      await service.ok('PATCH', '/settings', { rateLimit: RATE })
    })

    afterAll(async () => {
      await service.close()
      await proxy.close()
    })

    afterEach(async () => {
      proxy.swallow(null)
      // A connection that has lost answers would take later ones for those.
      await proxy.down()
      await proxy.up()
      await vi.waitFor(async () => {
        for (const { url } of service.apis)
          expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ bus: 'up' })
      }, WAIT)
    })

    const newKey = async (): Promise<string> => {
      let made = await service.call('POST', '/keys', { body: { label: 'limits', capabilities: [] } })
      // The test's own key has the same limit.
      while (made.status === 429) {
        await setTimeout(200)
        made = await service.call('POST', '/keys', { body: { label: 'limits', capabilities: [] } })
      }
      return made.json.key as string
    }

    interface Load {
      passed: number
      seconds: number
      statuses: Set<number>
      slowestMs: number
    }

    /** Sends far more requests than the budget to every process, and leaves it the processor. */
    async function press(key: string, seconds: number, apis: readonly ServiceProcess[] = service.apis): Promise<Load> {
      const started = performance.now()
      const load: Load = { passed: 0, seconds: 0, statuses: new Set(), slowestMs: 0 }
      const one = async (api: ServiceProcess): Promise<void> => {
        while (performance.now() - started < seconds * 1000) {
          const sentAt = runningMs()
          const { status } = await service.call('GET', '/discussions', { api, headers: { 'x-api-key': key } })
          load.slowestMs = Math.max(load.slowestMs, runningMs() - sentAt)
          load.statuses.add(status)
          if (status === 200) load.passed++
          await setTimeout(PAUSE_MS)
        }
      }
      await Promise.all(apis.flatMap((api) => [one(api), one(api), one(api)]))
      load.seconds = (performance.now() - started) / 1000
      return load
    }

    const budget = (seconds: number): number => RATE.burst + RATE.perSecond * seconds

    test('two processes give one key one budget, and at most one burst beyond it', async () => {
      const { passed, seconds, statuses } = await press(await newKey(), 5)
      expect(statuses).toEqual(new Set([200, 429]))
      // Separate limits would allow twice the budget.
      expect(passed).toBeLessThanOrEqual(budget(seconds) + RATE.burst)
      expect(passed).toBeGreaterThan(budget(seconds) * 0.7)
    })

    test('tokens taken at one process are missing at another', async () => {
      const key = await newKey()
      const [one, other] = service.apis as readonly [ServiceProcess, ServiceProcess]
      // So far in debt that a moment does not make up for it.
      await press(key, 1.5, [one])
      const asked = await Promise.all(
        Array.from({ length: 3 }, () =>
          service.call('GET', '/discussions', { api: other, headers: { 'x-api-key': key } }),
        ),
      )
      // At first they do not know the debt.
      expect(asked.map(({ status }) => status).filter((status) => status !== 200 && status !== 429)).toEqual([])
      await vi.waitFor(async () => {
        const { status, headers } = await service.call('GET', '/discussions', {
          api: other,
          headers: { 'x-api-key': key },
        })
        expect(Number(headers.get('ratelimit-remaining'))).toBeLessThan(RATE.burst - 5)
        expect([200, 429]).toContain(status)
      }, WAIT)
    })

    test('Redis goes down and comes back: no error, no wait, each process alone meanwhile', async () => {
      const key = await newKey()
      const under = press(key, 6)
      await setTimeout(1000)
      await proxy.down()
      await setTimeout(2000)
      await proxy.up()
      const { passed, seconds, statuses, slowestMs } = await under
      expect(statuses).toEqual(new Set([200, 429]))
      expect(slowestMs).toBeLessThan(SLOW_MS)
      expect(passed).toBeLessThanOrEqual(budget(seconds) * 2)
      await vi.waitFor(async () => {
        for (const { url } of service.apis)
          expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ bus: 'up' })
      }, WAIT)
      const after = await press(await newKey(), 4)
      expect(after.passed).toBeLessThanOrEqual(budget(after.seconds) + RATE.burst)
    })

    test('Redis takes commands and answers none: no error, no wait, each process alone', async () => {
      const key = await newKey()
      proxy.swallow(() => true)
      const { passed, seconds, statuses, slowestMs } = await press(key, 3)
      expect(statuses).toEqual(new Set([200, 429]))
      expect(slowestMs).toBeLessThan(SLOW_MS)
      expect(passed).toBeLessThanOrEqual(budget(seconds) * 2)
    })

    test('ten failed logins over both processes count as ten, with Redis and without', async () => {
      let round = 0
      /** The statuses of 14 wrong passwords for one e-mail address, spread over processes. */
      const guess = async (apis: readonly ServiceProcess[]): Promise<Record<number, number>> => {
        round++
        const statuses: Record<number, number> = {}
        const one = async (api: ServiceProcess): Promise<void> => {
          const { status, body } = await fetch(`${api.url}/api/v1/admin/auth/login`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${round}` },
            body: JSON.stringify({ email: `nobody-${round}@example.com`, password: 'guess' }),
          })
          await body?.cancel()
          statuses[status] = (statuses[status] ?? 0) + 1
        }
        await Promise.all(Array.from({ length: 14 }, (_, n) => one(apis[n % apis.length] ?? first(apis))))
        return statuses
      }
      // Before both processes have Redis again, seven each are too few for either.
      await vi.waitFor(async () => expect(await guess(service.apis)).toEqual({ 401: 10, 429: 4 }), WAIT)
      await proxy.down()
      expect(await guess([first(service.apis)])).toEqual({ 401: 10, 429: 4 })
    })
  },
)
