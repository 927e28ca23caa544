import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { openServer } from '../../src/data/server/server.ts'
import { onServer } from '../harness/database.ts'
import { type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { type Received, type Receiver, reply, startReceiver } from '../harness/receiver.ts'
import { hasRedisServer, type OwnRedis, startRedis } from '../harness/redis.ts'
import { unnamed } from '../harness/sql.ts'

/** CHAOS_EVENTS=1000 for a long one. */
const EVENTS = Number(process.env.CHAOS_EVENTS ?? 150)
const WRITERS = 4
// A dead worker's deliveries are taken up once its lease of 15 s is over.
const DRAINED = { timeout: 60_000 + EVENTS * 100, interval: 250 }
const COMMENTS = '/discussions/by-external/page/comments'

const canRun = onServer && hasRedisServer
const reason = canRun ? '' : ' (skipped: needs DATABASE_URL and redis-server)'

/** One attempt as the receiver saw it. */
interface Seen {
  deliveryId: string
  key: string
  raw: string
  /** What it answered; null where it cut the connection, or the connection was cut. */
  status: number | null
  began: number
  ended: number
}

const TERMINATE = unnamed(`SELECT pg_terminate_backend(pid) FROM (
     SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'engagement-service'
     ORDER BY random() LIMIT $1) t`)
const EVENT_KEYS = unnamed(`SELECT type || ':' || id AS key FROM events WHERE type <> 'notification_reply'`)
const LOG =
  unnamed(`SELECT d.id, d.endpoint_id AS "endpointId", d.event_type || ':' || d.event_id AS key, d.status::text,
     d.attempt_count AS "attemptCount", coalesce(json_agg(json_build_object('n', a.n, 'statusCode', a.status_code, 'error', a.error)
       ORDER BY a.n) FILTER (WHERE a.n IS NOT NULL), '[]') AS attempts
   FROM deliveries d LEFT JOIN attempts a ON a.tenant_id = d.tenant_id AND a.delivery_id = d.id
   GROUP BY d.tenant_id, d.id`)

interface LoggedDelivery {
  id: string
  endpointId: string
  key: string
  status: string
  attemptCount: number
  attempts: { n: number; statusCode: number | null; error: string | null }[]
}

const chance = (share: number): boolean => Math.random() < share
const between = (from: number, to: number): number => from + Math.random() * (to - from)
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const oneOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

describe.skipIf(!canRun)(`workers, Redis and database connections killed at random${reason}`, () => {
  let receiver: Receiver
  let redis: OwnRedis
  let service: Processes
  let database: Database
  let isOver = false

  beforeAll(async () => {
    receiver = await startReceiver()
    redis = await startRedis()
    const env = { REDIS_URL: redis.url, WEBHOOK_CA_FILE: receiver.caFile }
    service = await startProcesses({ api: 1, worker: 3, env })
    database = await openServer({ url: service.databaseUrl ?? '', size: 1, onError: () => undefined })
  })
  afterAll(async () => {
    await database.close()
    await service.close()
    await redis.stop()
    await receiver.close()
  })

  /** A receiver that is at one path, and what it saw there. */
  function receive(path: string, judge: () => number | null, delayMs = () => 0): Seen[] {
    const seen: Seen[] = []
    receiver.on(path, (request, response) => {
      if (request.headers['x-service-event'] === 'verification') return undefined
      const entry = seenOf(request)
      seen.push(entry)
      response.on('close', () => (entry.ended = Math.min(entry.ended, performance.now())))
      setTimeout(() => answer(response, entry, judge()), delayMs())
      return true
    })
    return seen
  }

  function answer(response: ServerResponse, entry: Seen, status: number | null): void {
    // Nobody waits for it any more.
    if (response.destroyed) return
    entry.status = status
    // The next attempt may begin before a busy test hears of the end of this one.
    entry.ended = performance.now()
    if (status === null) response.destroy()
    else reply(response, status)
  }

  async function register(path: string, policy: object): Promise<string> {
    const { json } = await service.call('POST', '/webhooks', { body: { url: receiver.url + path, policy } })
    return json.id as string
  }
  const stateOf = async (id: string) => (await service.call('GET', `/webhooks/${id}`)).json.state

  /** Posts until it is acknowledged: the same request each time, which counts once. */
  async function post(text: string): Promise<void> {
    const headers = { ...(await service.as('writer')), 'idempotency-key': randomUUID() }
    for (;;) {
      const sent = await service.call('POST', COMMENTS, { body: { body: text }, headers }).catch(() => null)
      if (sent?.status === 201) return
      await sleep(100)
    }
  }

  /** As a process manager does; faults may also hit the start's own connections. */
  async function startAgain(worker: ServiceProcess, attempts = 5): Promise<void> {
    await worker.start().catch((error: unknown) => {
      if (attempts === 1) throw error
      return startAgain(worker, attempts - 1)
    })
  }

  const restarts = new Map<ServiceProcess, Promise<void>>()
  const harms: (() => Promise<unknown>)[] = [
    async () => {
      const worker = oneOf(service.workers)
      await restarts.get(worker)
      await worker.kill()
      restarts.set(
        worker,
        sleep(between(0, 1000)).then(() => startAgain(worker)),
      )
    },
    () => database.db.query(TERMINATE, [Math.ceil(between(0, 6))]),
    () => redis.command('CLIENT', 'KILL', 'TYPE', oneOf(['pubsub', 'normal'])),
    async () => {
      await redis.stop()
      await sleep(between(0, 1000))
      await redis.start()
    },
  ]

  async function harm(): Promise<void> {
    // Each of them at least twice, however short the run.
    for (let n = 0; !isOver || n < harms.length * 2; n++) {
      await sleep(between(200, 700))
      await (harms[n % harms.length] as () => Promise<unknown>)()
      if (chance(0.3)) await oneOf(harms)()
    }
    await Promise.all(restarts.values())
  }

  test(
    `over ${EVENTS} events: each arrives at every verified endpoint, under one key; attempts stay within the limit, one at a time; the log is correct`,
    async () => {
      const steady = { path: '/steady', limit: 3, seen: receive('/steady', () => 204) }
      const failing = {
        path: '/failing',
        limit: 5,
        seen: receive('/failing', () => (chance(0.3) ? oneOf([500, 503, 302, 404]) : 200)),
      }
      const slow = {
        path: '/slow',
        limit: 10,
        seen: receive(
          '/slow',
          () => (chance(0.2) ? null : 204),
          () => between(0, 200),
        ),
      }
      const silent = { path: '/silent', limit: 3, seen: [] as Seen[] }
      receiver.on(silent.path, (_request, response) => reply(response, 404))
      const ids = new Map<string, (typeof steady)[]>()
      for (const each of [steady, failing, slow, silent]) {
        const policy = { maxAttempts: each.limit, backoffBaseMs: 50, breakerCooldownMs: 200, disableThreshold: 1000 }
        ids.set(await register(each.path, policy), [each])
      }
      const verified = [...ids].filter(([, [each]]) => each !== silent)
      for (const [id] of verified) await vi.waitFor(async () => expect(await stateOf(id)).toBe('verified'), DRAINED)

      const harming = harm()
      let n = 0
      const write = async (): Promise<void> => {
        while (n < EVENTS) {
          await post(`comment ${++n}`)
          await sleep(between(0, 250))
        }
      }
      await Promise.all(Array.from({ length: WRITERS }, write))
      isOver = true
      await harming

      const log = () => database.db.query<LoggedDelivery>(LOG)
      await vi.waitFor(async () => {
        const open = (await log()).filter(({ status }) => status !== 'delivered' && status !== 'failed')
        expect(open).toEqual([])
      }, DRAINED)

      const keys = (await database.db.query<{ key: string }>(EVENT_KEYS)).map(({ key }) => key)
      expect(new Set(keys).size).toBe(EVENTS)
      const deliveries = await log()
      expect(receiver.deliveries(silent.path)).toEqual([])
      for (const [id, [each]] of verified) {
        if (each === undefined) continue
        const own = deliveries.filter(({ endpointId }) => endpointId === id)
        expect(own.map(({ key }) => key).toSorted()).toEqual(keys.toSorted())
        expect(new Set(each.seen.map(({ key }) => key))).toEqual(new Set(keys))
        const known = new Set(own.map((delivery) => delivery.id))
        expect(each.seen.filter(({ deliveryId }) => !known.has(deliveryId))).toEqual([])
        for (const delivery of own) expectTruth(delivery, each.seen, each.limit)
      }
    },
    180_000 + EVENTS * 1000,
  )
})

function seenOf({ headers, raw }: Received): Seen {
  return {
    deliveryId: headers['x-service-delivery-id'] ?? '',
    key: headers['x-service-idempotency-key'] ?? '',
    raw: raw.toString(),
    status: null,
    began: performance.now(),
    ended: Infinity,
  }
}

/** Compares the delivery log with what the receiver saw. */
function expectTruth({ id, key, status, attemptCount, attempts }: LoggedDelivery, all: Seen[], limit: number): void {
  const seen = all.filter(({ deliveryId }) => deliveryId === id)
  expect(new Set(seen.map((each) => `${each.key} ${each.raw}`)).size).toBe(1)
  expect(seen[0]?.key).toBe(key)
  for (const [n, each] of seen.entries()) expect(each.began).toBeGreaterThanOrEqual(seen[n - 1]?.ended ?? 0)

  expect(attempts.map(({ n }) => n)).toEqual(Array.from({ length: attemptCount }, (_, n) => n + 1))
  expect(attemptCount).toBeLessThanOrEqual(limit)
  expect(attempts.slice(0, -1).every(({ error }) => error !== null)).toBe(true)
  const last = attempts.at(-1)
  if (status === 'delivered') expect(last).toMatchObject({ error: null })
  else expect([last?.error, attemptCount]).toEqual([expect.any(String), limit])

  // Not the other way round: an attempt of a dead worker has no record.
  const answers = seen.map((each) => each.status)
  for (const { statusCode } of attempts) {
    if (statusCode === null) continue
    const at = answers.indexOf(statusCode)
    expect(at, `attempts ${JSON.stringify(attempts)}, answers ${JSON.stringify(answers)}`).toBeGreaterThanOrEqual(0)
    answers.splice(at, 1)
  }
}
