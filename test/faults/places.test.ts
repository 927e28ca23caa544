import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'

import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import type { StreamPlaces } from '../../src/core/stream-places.ts'
import { createRedisPlaces } from '../../src/data/places/redis.ts'
import {
  commandsOf,
  type Held,
  NAMES,
  PER_TENANT,
  PROCESSES,
  QUOTAS,
  release,
  take,
  TENANTS,
} from '../harness/places.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { stoodStillMs } from '../harness/standstill.ts'

const REDIS_URL = process.env.REDIS_URL ?? ''
const LEASE = { leaseMs: 400, renewMs: 60 }
/** Shorter than the wait for an answer of Redis, and than a renewed lease. */
const STILL_MS = 150

describe.skipIf(REDIS_URL === '')(
  `places over processes${REDIS_URL === '' ? ' (skipped: needs REDIS_URL)' : ''}`,
  () => {
    let redis: Redis
    beforeAll(() => void (redis = new Redis(REDIS_URL)))
    afterAll(() => redis.disconnect())

    /** A process, as far as Redis sees it: it is killed or paused by cutting its line. */
    interface Process {
      places: StreamPlaces
      proxy: Proxy
    }

    async function start(prefix: string, lease: { leaseMs?: number; renewMs?: number } = LEASE): Promise<Process> {
      const url = new URL(REDIS_URL)
      const proxy = await startProxy({ host: url.hostname, port: Number(url.port || 6379) })
      url.host = `127.0.0.1:${proxy.port}`
      const places = createRedisPlaces({ urls: [url.href], prefix, ...lease })
      await connected(places, prefix)
      return { places, proxy }
    }

    /** A process counts alone until its first answer of Redis. */
    async function connected(places: StreamPlaces, prefix: string): Promise<void> {
      const tenantId = newId()
      const giveBack = await places.take({ tenantId, perTenant: PER_TENANT, quotas: [] })
      const key = `${prefix}places:{${tenantId}}`
      await vi.waitFor(async () => expect(await redis.exists(key)).toBe(1), { timeout: 5000, interval: 5 })
      giveBack?.()
      await vi.waitFor(async () => expect(await redis.exists(key)).toBe(0), { timeout: 5000, interval: 5 })
    }

    async function end({ places, proxy }: Process): Promise<void> {
      await places.close()
      await proxy.close()
    }

    /** What Redis counts of live processes, as the model writes it. */
    async function counted(prefix: string): Promise<Record<string, number>> {
      const [seconds, micros] = await redis.time()
      const now = Number(seconds) * 1000 + Number(micros) / 1000
      const counts: Record<string, number> = {}
      for (const tenantId of TENANTS) {
        const key = `${prefix}places:{${tenantId}}`
        const live = new Set<string>()
        for (const [process, share] of Object.entries(await redis.hgetall(key))) {
          const [count = 0, until = 0] = share.split(':').map(Number)
          if (until <= now) continue
          live.add(process)
          counts[tenantId] = (counts[tenantId] ?? 0) + count
        }
        for (const name of NAMES) {
          for (const [process, count] of Object.entries(await redis.hgetall(`${key}:${name}`))) {
            if (live.has(process)) counts[name + tenantId] = (counts[name + tenantId] ?? 0) + Number(count)
          }
        }
      }
      return counts
    }

    function expected(held: readonly Held[]): Record<string, number> {
      const counts: Record<string, number> = {}
      for (const { tenantId, quotas } of held) {
        for (const name of ['', ...quotas.map((quota) => quota.name)]) {
          counts[name + tenantId] = (counts[name + tenantId] ?? 0) + 1
        }
      }
      return counts
    }

    /**
     * A failure counts only if this process ran: during a stall leases expire, and answers are read
     * too late.
     */
    const whileRunning =
      <Values extends unknown[]>(run: (...values: Values) => Promise<void>) =>
      async (...values: Values): Promise<void> => {
        const before = stoodStillMs()
        try {
          await run(...values)
        } catch (error) {
          // The clock that measures stalls ticks.
          await setTimeout(100)
          fc.pre(stoodStillMs() - before < STILL_MS)
          throw error
        }
      }

    test('takes, releases, killed and paused processes and a Redis that loses its data, at random, agree with the model', async () => {
      await fc.assert(
        fc.asyncProperty(
          commandsOf(1),
          whileRunning(async (commands) => {
            const prefix = `engagement-test-${randomBytes(6).toString('hex')}:`
            const processes = await Promise.all(Array.from({ length: PROCESSES }, () => start(prefix)))
            let held: Held[] = []
            const settled = () =>
              vi.waitFor(async () => expect(await counted(prefix)).toEqual(expected(held)), {
                timeout: 5000,
                interval: 2,
              })
            try {
              for (const command of commands) {
                if (command.kind === 'take') await take(processes[command.process]?.places, held, command)
                else if (command.kind === 'release') release(held, command.which)
                else if (command.kind === 'flush') {
                  const keys = await redis.keys(`${prefix}*`)
                  if (keys.length > 0) await redis.del(...keys)
                } else {
                  const process = processes[command.process]
                  if (process === undefined) continue
                  await process.proxy.down()
                  if (command.kind === 'kill') {
                    held = held.filter((one) => one.process !== command.process)
                    await settled()
                    await end(process)
                    processes[command.process] = await start(prefix)
                  } else {
                    // Its lease expires, its streams stay, and one of them ends without a report.
                    await setTimeout(LEASE.leaseMs + 100)
                    const mine = held.findIndex((one) => one.process === command.process)
                    if (mine >= 0) release(held, mine)
                    await process.proxy.up()
                    await connected(process.places, prefix)
                  }
                }
                await settled()
              }
              for (const { giveBack } of held.splice(0)) giveBack()
              await settled()
              // Counts that a dead process has left under names expire, and no longer count.
              expect(await redis.keys(`${prefix}places:{*}`)).toEqual([])
            } finally {
              await Promise.all(processes.map(end))
              const left = await redis.keys(`${prefix}*`)
              if (left.length > 0) await redis.del(...left)
            }
          }),
        ),
        { numRuns: 25, endOnFailure: true },
      )
    })

    test('a process that ends while Redis is slow removes its counts', async () => {
      const prefix = `engagement-test-${randomBytes(6).toString('hex')}:`
      const { places, proxy } = await start(prefix, {})
      const tenantId = newId()
      const request = { tenantId, perTenant: PER_TENANT, quotas: QUOTAS.at(-1) ?? [] }
      const [first, second] = [await places.take(request), await places.take(request)]
      proxy.swallow(() => true)
      first?.()
      // The message arrives; without an answer the process decides alone.
      await vi.waitFor(async () =>
        expect(await redis.hvals(`${prefix}places:{${tenantId}}`)).toEqual([expect.stringMatching(/^1:/)]),
      )
      await setTimeout(300)
      second?.()
      await end({ places, proxy })
      await vi.waitFor(async () => expect(await redis.keys(`${prefix}places:{*}`)).toEqual([]))
    })

    test('the timer of a removed share does not remove its successor', async () => {
      const prefix = `engagement-test-${randomBytes(6).toString('hex')}:`
      const { places, proxy } = await start(prefix)
      const request = { tenantId: newId(), perTenant: PER_TENANT, quotas: [] }
      const key = `${prefix}places:{${request.tenantId}}`
      try {
        proxy.swallow(() => true)
        // Redis is asked again a second after it has not answered, or once it is back.
        const first = await places.take(request)
        await proxy.down()
        proxy.swallow(null)
        await proxy.up()
        await vi.waitFor(async () => expect(await redis.hvals(key)).toEqual([expect.stringMatching(/^1:/)]))
        first?.()
        await vi.waitFor(async () => expect(await redis.exists(key)).toBe(0))
        const second = await places.take(request)
        await setTimeout(1000 + LEASE.leaseMs)
        // It is reported again, in time for its lease.
        expect(await redis.hvals(key)).toEqual([expect.stringMatching(/^1:/)])
        second?.()
      } finally {
        await end({ places, proxy })
      }
    })

    test('concurrent takes of several processes fill the last place and no more, in any order', async () => {
      const prefix = `engagement-test-${randomBytes(6).toString('hex')}:`
      const processes = await Promise.all(Array.from({ length: PROCESSES }, () => start(prefix)))
      try {
        const counts = fc.array(fc.nat(40), { minLength: PROCESSES, maxLength: PROCESSES })
        await fc.assert(
          fc.asyncProperty(
            counts,
            fc.integer({ min: 1, max: 60 }),
            whileRunning(async (asked, perTenant) => {
              const tenantId = newId()
              const got = await Promise.all(
                processes.flatMap(({ places }, n) =>
                  Array.from({ length: asked[n] ?? 0 }, () => places.take({ tenantId, perTenant, quotas: [] })),
                ),
              )
              for (const giveBack of got) giveBack?.()
              const all = asked.reduce((sum, count) => sum + count, 0)
              expect(got.filter((one) => one !== null)).toHaveLength(Math.min(all, perTenant))
            }),
          ),
          { numRuns: 50 },
        )
        await vi.waitFor(() => expect(redis.keys(`${prefix}*`)).resolves.toEqual([]), { timeout: 5000, interval: 20 })
      } finally {
        await Promise.all(processes.map(end))
      }
    })
  },
)
