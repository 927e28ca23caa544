import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'

import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { runningMs } from '../harness/standstill.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const REDIS_URL = process.env.REDIS_URL ?? ''
const hasRedis = onServer && REDIS_URL !== ''

const WAIT = { timeout: 20_000, interval: 50 }
/** The places of a killed process are free again after 45 s (docs/reference/choices/streams.md). */
const BACK = { timeout: 60_000, interval: 500 }
/**
 * Far above what a busy machine needs, far below what a request that waited for Redis would take.
 */
const SLOW_MS = 3000
/**
 * A process that waits 240 ms for Redis decides alone. Its messages go through this process twice.
 */
const PROMPT_MS = 80

describe.skipIf(!hasRedis)(
  `caps on streams over processes${hasRedis ? '' : ' (skipped: needs DATABASE_URL and REDIS_URL)'}`,
  () => {
    const prefix = `engagement-test-${randomBytes(6).toString('hex')}:`
    let redis: Redis
    let proxy: Proxy
    let service: Processes
    let one: ServiceProcess
    let other: ServiceProcess
    let discussionId: string
    const clients = new Set<StreamClient>()

    beforeAll(async () => {
      const url = new URL(REDIS_URL)
      redis = new Redis(url.href)
      proxy = await startProxy({ host: url.hostname, port: Number(url.port || 6379) })
      url.host = `127.0.0.1:${proxy.port}`
      service = await startProcesses({ api: 2, worker: 0, env: { REDIS_URL: url.href, REDIS_PREFIX: prefix } })
      ;[one, other] = service.apis as [ServiceProcess, ServiceProcess]
      const body = { rateLimit: { perSecond: 10_000, burst: 10_000 } }
      expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)
    })

    afterAll(async () => {
      await service.close()
      await proxy.close()
      redis.disconnect()
    })

    beforeEach(async ({ task }) => {
      const { json } = await service.call('POST', '/discussions', { body: { externalId: task.id } })
      discussionId = json.id as string
    })

    afterEach(async () => {
      proxy.swallow(null)
      await proxy.up()
      leave(clients)
      await vi.waitFor(() => expect(keys()).resolves.toEqual([]), WAIT)
    })

    const keys = () => redis.keys(`${prefix}places:*`)

    /** What each process has told of the one tenant. */
    const counts = async (): Promise<number[]> =>
      (await redis.hvals((await keys())[0] ?? '')).map((share) => Number.parseInt(share))

    function leave(some: Iterable<StreamClient>): void {
      for (const client of some) {
        clients.delete(client)
        client.close()
      }
    }

    async function open(api: ServiceProcess, query = ''): Promise<StreamClient> {
      const headers: Record<string, string> = query === '' ? { 'x-api-key': service.apiKey } : {}
      const client = await openStream(`${api.url}/api/v1/stream/${discussionId}${query}`, headers)
      if (client.status === 200) clients.add(client)
      return client
    }

    const openMany = (count: number, query = '', apis = [one, other]): Promise<StreamClient[]> =>
      Promise.all(Array.from({ length: count }, (_, n) => open(apis[n % apis.length] ?? one, query)))

    const admitted = (some: readonly StreamClient[]) => some.filter(({ status }) => status === 200)

    /** Both processes know of it, not only the one that was asked. */
    async function setCaps(stream: { maxStreams?: number; maxStreamsPerReader?: number }): Promise<void> {
      for (const api of service.apis) {
        const { status } = await service.call('PATCH', '/settings', { api, body: { stream } })
        expect(status).toBe(200)
      }
    }

    async function newTicket(): Promise<string> {
      const json = await service.ok('POST', '/stream/ticket', { discussionId }, await service.as('reader'))
      return `?ticket=${json.ticket}`
    }

    function expectRefused(client: StreamClient | undefined): void {
      expect(client?.status).toBe(429)
      expect(Number(client?.headers['retry-after'])).toBeGreaterThan(0)
    }

    /**
     * A process that has just started decides alone while it is too busy to read Redis's answer in
     * time.
     */
    const expectRefusedSoon = (api: ServiceProcess) => vi.waitFor(async () => expectRefused(await open(api)), WAIT)

    /** Asks Redis until the returned function is called, which tells the longest wait. */
    function watchRedis(): () => Promise<number> {
      let longestMs = 0
      let isOver = false
      const watching = (async () => {
        for (let last = performance.now(); !isOver;) {
          await setTimeout(10)
          await redis.ping()
          longestMs = Math.max(longestMs, performance.now() - last)
          last = performance.now()
        }
      })()
      return async () => {
        isOver = true
        await watching
        return longestMs
      }
    }

    /**
     * Whether it succeeds. Its failure counts only if Redis answered in time: a machine that is too
     * busy for that lets both processes decide alone.
     */
    async function holds(round: () => Promise<void>): Promise<boolean> {
      const longest = watchRedis()
      try {
        await round()
        return true
      } catch (error) {
        if ((await longest()) < PROMPT_MS) throw error
        return false
      } finally {
        await longest()
        leave(clients)
        await vi.waitFor(() => expect(keys()).resolves.toEqual([]), WAIT)
      }
    }

    test('two processes race for the last places: all are taken, none twice, round after round', async () => {
      await setCaps({ maxStreams: 100 })
      const round = async (): Promise<void> => {
        const all = await openMany(200)
        expect(admitted(all)).toHaveLength(100)
        all.filter(({ status }) => status !== 200).forEach(expectRefused)
        expectRefused(await open(one))
        const some = admitted(all).slice(0, 30)
        leave(some)
        await vi.waitFor(async () => expect(admitted(await openMany(1))).toHaveLength(1), WAIT)
        await openMany(100)
        expect(clients.size).toBe(100)
      }
      for (let held = 0; held < 3;) if (await holds(round)) held++
    })

    test("a reader's tickets open as many streams as the cap allows, and further ones are told to wait", async () => {
      await setCaps({ maxStreams: 5000, maxStreamsPerReader: 5 })
      const all = await openMany(60, await newTicket())
      expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
      await vi.waitFor(() => expect(all.filter(({ closed }) => closed)).toHaveLength(55), WAIT)
      const sentOff = { retry: 30_000, event: 'connection-timeout', data: { lastEventId: null } }
      for (const client of all) {
        if (client.closed) expect(client.all).toEqual([sentOff])
        else await vi.waitFor(() => expect(client.connected).toBeDefined())
      }
    })

    test('at the cap, a client that closes and reconnects to another process at once is admitted', async () => {
      await setCaps({ maxStreams: 20 })
      const queue = admitted(await openMany(20))
      expect(queue).toHaveLength(20)
      for (let n = 0; n < 60; n++) {
        const first = queue.shift()
        leave(first === undefined ? [] : [first])
        const again = await open(n % 2 === 0 ? other : one)
        expect(again.status).toBe(200)
        queue.push(again)
      }
      expectRefused(await open(one))
    })

    test('a stream that fails after it was counted gives its place back', async () => {
      await setCaps({ maxStreams: 10 })
      const real = discussionId
      discussionId = '0190b1a0-0000-7000-8000-000000000000'
      const failed = await openMany(10)
      expect(failed.map(({ status }) => status)).toEqual(Array(10).fill(404))
      discussionId = real
      expect(admitted(await openMany(30))).toHaveLength(10)
    })

    test('Redis loses its data: no stream ends, and the counts become right again', async () => {
      await setCaps({ maxStreams: 40 })
      const open40 = await openMany(40)
      expect(admitted(open40)).toHaveLength(40)
      await redis.del(...(await keys()))
      // Each process reports its count again.
      await vi.waitFor(async () => expect(await counts()).toHaveLength(2), WAIT)
      expectRefused(await open(one))
      expectRefused(await open(other))
      expect(open40.some(({ closed }) => closed)).toBe(false)
      leave(open40.slice(0, 10))
      await vi.waitFor(async () => expect(admitted(await openMany(1))).toHaveLength(1), WAIT)
      await openMany(30)
      expect(clients.size).toBe(40)
    })

    test('Redis goes down, and comes back empty: streams open without a wait, by local counts, then exactly again', async () => {
      await setCaps({ maxStreams: 40 })
      const before = await openMany(30)
      expect(admitted(before)).toHaveLength(30)
      // Now each knows the other's latest count.
      leave(await openMany(2))
      await vi.waitFor(async () => expect(await counts()).toEqual([15, 15]), WAIT)
      await proxy.down()
      await redis.del(...(await keys()))
      const asked = runningMs()
      const meanwhile = await openMany(30)
      expect(runningMs() - asked).toBeLessThan(SLOW_MS)
      // Each decides by its own 15 and the other's last 15.
      const inAll = 30 + admitted(meanwhile).length
      expect(inAll).toBeGreaterThanOrEqual(40)
      expect(inAll).toBeLessThanOrEqual(50)
      await proxy.up()
      await vi.waitFor(async () => expect(await counts()).toHaveLength(2), WAIT)
      expect(before.some(({ closed }) => closed)).toBe(false)
      expectRefused(await open(one))
      expectRefused(await open(other))
    })

    test('Redis takes commands and answers none: streams still open, without a long wait', async () => {
      await setCaps({ maxStreams: 40 })
      await openMany(10)
      proxy.swallow(() => true)
      const asked = runningMs()
      const meanwhile = await openMany(20)
      expect(runningMs() - asked).toBeLessThan(SLOW_MS)
      expect(admitted(meanwhile)).toHaveLength(20)
      // A connection that has lost bytes is useless.
      await proxy.down()
      proxy.swallow(null)
      await proxy.up()
      await vi.waitFor(async () => expect((await counts()).reduce((sum, count) => sum + count, 0)).toBe(30), WAIT)
    })

    test('the places of a process that stops are free at once', async () => {
      await setCaps({ maxStreams: 20 })
      expect(admitted(await openMany(20, '', [one]))).toHaveLength(20)
      expectRefused(await open(other))
      await one.stop()
      clients.clear()
      expect(admitted(await openMany(40, '', [other]))).toHaveLength(20)
      await one.start()
      await expectRefusedSoon(one)
    })

    test('the places of a killed process are free within 60 s', async () => {
      await setCaps({ maxStreams: 20 })
      expect(admitted(await openMany(20, '', [one]))).toHaveLength(20)
      expectRefused(await open(other))
      await one.kill()
      clients.clear()
      await vi.waitFor(async () => expect(admitted(await openMany(1, '', [other]))).toHaveLength(1), BACK)
      expect(admitted(await openMany(40, '', [other]))).toHaveLength(19)
      await one.start()
      await expectRefusedSoon(one)
    })
  },
)
