import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import { newId } from '../../src/core/ids.ts'
import { statement } from '../../src/core/database/statements.ts'
import { leaseDeliveries } from '../../src/worker/statements/lease-sql.ts'
import { unnamed } from '../harness/sql.ts'
import { type Figures, figure, inTurns, median, print, printTurns, run, times } from './figures.ts'
import { ACTOR, DATA, openOutbox, type Outbox } from './outbox.ts'
import type { SendOrder } from './sender.ts'
import { closing, type Script, startScript } from './scripts.ts'
import {
  type BenchService,
  call,
  redisEnv,
  startBenchService,
  startWorkerProcess,
  type WorkerProcess,
} from './service.ts'
import type { SinkAnswer, SinkQuestion } from './sink.ts'
import { isSmallest, sized } from './size.ts'

const TENANTS = 4
const ENDPOINTS = sized(32, 8)
/** A worker makes 8 attempts at once at an endpoint (docs/reference/choices/webhooks.md). */
const CONCURRENCY = ENDPOINTS * 8
const EVENTS_A_ROUND = sized(300, 5)
const DELIVERIES = EVENTS_A_ROUND * ENDPOINTS

interface World {
  service: BenchService
  sink: Sink
  redis: ReturnType<typeof redisEnv>
  env: Record<string, string>
}

interface Sink extends Script {
  http: string
  https: string
  ca: string
  look(question?: SinkQuestion): Promise<SinkAnswer>
}

/**
 * What workers deliver, beside the bare loop; what hanging endpoints cost the others; what a
 * backlog costs.
 */
export const benchWebhooks = (): Promise<void> =>
  closing(async (opened) => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-webhooks-'))
    opened({ close: () => rmSync(folder, { recursive: true }) })
    const sink = opened(await startSink())
    writeFileSync(join(folder, 'ca.pem'), sink.ca)
    const redis = redisEnv()
    const env = {
      ...redis,
      WEBHOOK_CA_FILE: join(folder, 'ca.pem'),
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      WEBHOOK_ALLOW_HTTP: 'true',
    }
    const sender = opened(await startScript('sender.ts'))
    const parts = [benchRate('http', sender), benchRate('https', sender), benchIsolation, benchReplay, benchBacklog]
    // A database each, for a table of deliveries that has no earlier ones.
    const shared = isSmallest ? opened(await startBenchService(env)) : null
    for (const part of parts) {
      await closing(async (open) => part({ service: shared ?? open(await startBenchService(env)), sink, redis, env }))
    }
  })

async function startSink(): Promise<Sink> {
  const script = await startScript('sink.ts')
  const { http, https, ca } = script.hello as { http: AddressInfo; https: AddressInfo; ca: string }
  return {
    ...script,
    http: `http://127.0.0.1:${http.port}`,
    https: `https://127.0.0.1:${https.port}`,
    ca,
    look: async (question = {}) => (await script.ask(question)) as SinkAnswer,
  }
}

const urlsOf = (origin: string, count: number, hanging = 0): string[] =>
  Array.from({ length: count }, (_, n) => `${origin}/${n < hanging ? 'hang' : 'hook'}/${n}`)

/**
 * Deliveries of a backlog, beside the bare loop that signs and sends the same bytes, turn by turn.
 */
const benchRate =
  (scheme: 'http' | 'https', sender: Script) =>
  (world: World): Promise<void> =>
    closing(async (opened) => {
      const { service, sink, redis, env } = world
      const urls = urlsOf(sink[scheme], ENDPOINTS)
      const outbox = opened(await openOutbox(service, { tenants: TENANTS, urls, redis }))
      const worker = opened(await startWorkerProcess(service, env))
      const sides = {
        [`bare got loop, ${CONCURRENCY} at once`]: () => bareRound(world, sender, urls),
        worker: () => workerRound(world, worker, outbox),
      }
      const rounds = await inTurns(sides, run, { rounds: 5 })
      const title = `webhooks: ${scheme}, ${ENDPOINTS} endpoints of ${TENANTS} tenants, ${DELIVERIES} deliveries a round`
      printTurns(title, rounds, { worker: [Object.keys(sides)[0] ?? '', 'rate at least 0.6'] })
      print(`the worker has ${worker.residentMb()} MB`)
    })

async function bareRound({ sink }: World, sender: Script, urls: string[]) {
  await sink.look({ reset: { hang: false } })
  const body = `{"id":"${newId()}","type":"comment_created","discussionId":"${newId()}","seq":1,"occurredAt":"2026-01-01T00:00:00.000Z","actor":${ACTOR},"data":${DATA}}`
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'engagement-service-webhooks/1',
    'X-Service-Event': 'comment_created',
    'X-Service-Delivery-Id': newId(),
    'X-Service-Idempotency-Key': `comment_created:${newId()}`,
  }
  const order: SendOrder = {
    urls,
    ca: sink.ca,
    body,
    headers,
    secret: 'whs_'.padEnd(68, '0'),
    concurrency: CONCURRENCY,
    count: DELIVERIES,
  }
  const [startedAt, cpu] = [now(), sender.cpuMs()]
  await sender.ask(order)
  const { lastAt } = await sink.look()
  return ratesOf(lastAt - startedAt, sender.cpuMs() - cpu)
}

async function workerRound({ sink }: World, worker: WorkerProcess, outbox: Outbox) {
  await sink.look({ reset: { hang: false } })
  const cpu = worker.cpuMs()
  await outbox.queue(EVENTS_A_ROUND)
  const committedAt = now()
  await outbox.drained()
  const { count, lastAt } = await sink.look()
  if (count !== DELIVERIES) throw new Error(`${count} arrived where ${DELIVERIES} were expected`)
  return ratesOf(lastAt - committedAt, worker.cpuMs() - cpu)
}

const ratesOf = (ms: number, cpuMs: number): Figures => ({
  perSecond: (DELIVERIES / ms) * 1000,
  cpuMicros: (cpuMs * 1000) / DELIVERIES,
})

const now = (): number => performance.timeOrigin + performance.now()

const SPAN_MS = sized(10_000, 1000)
const ISOLATION_ENDPOINTS = sized(40, 20)
const EVENTS_A_SECOND = 20

/**
 * Healthy endpoints' time from commit to arrival, with a fifth of the endpoints hanging and with
 * all of them healthy.
 */
const benchIsolation = (world: World): Promise<void> =>
  closing(async (opened) => {
    const { service, sink, redis } = world
    const urls = urlsOf(sink.http, ISOLATION_ENDPOINTS, ISOLATION_ENDPOINTS / 5)
    // A circuit that opened would take the hanging ones out of the way.
    const policy = { breakerThreshold: 100, disableThreshold: 1000 }
    const outbox = opened(await openOutbox(service, { tenants: TENANTS, urls, policy, redis }))
    const sides = { 'all healthy': false, 'a fifth of them hanging': true }
    const rounds = await inTurns(sides, (hang) => latencies(world, outbox, hang), { rounds: 3 })
    const each = ISOLATION_ENDPOINTS / TENANTS
    const title = `webhooks: from commit to arrival, ${EVENTS_A_SECOND} events/s to ${each} endpoints each`
    printTurns(title, rounds, { 'a fifth of them hanging': ['all healthy', 'p99 at most 1.2'] })
  })

const latencies = ({ service, sink, env }: World, outbox: Outbox, hang: boolean): Promise<Figures> =>
  closing(async (opened) => {
    opened({ close: () => outbox.db.query(FORGET) })
    opened(await startWorkerProcess(service, env))
    await sink.look({ reset: { hang } })
    const committed = new Map<string, number>()
    const emitting: Promise<unknown>[] = []
    const endsAt = performance.now() + SPAN_MS
    while (performance.now() < endsAt) {
      emitting.push(outbox.emit().then(([id, committedAt]) => committed.set(id, committedAt)))
      await setTimeout(1000 / EVENTS_A_SECOND)
    }
    await Promise.all(emitting)
    const expected = (committed.size * ISOLATION_ENDPOINTS * 4) / 5 / TENANTS
    let { arrivals } = await sink.look()
    for (let n = 0; n < 200 && arrivals.length < expected; n++) {
      await setTimeout(100)
      ;({ arrivals } = await sink.look())
    }
    if (arrivals.length !== expected) throw new Error(`${arrivals.length} arrived where ${expected} were expected`)
    return times(arrivals.map(([id, when]) => when - (committed.get(id) ?? NaN)))
  })

const FORGET = statement('outbox_forget', 'DELETE FROM deliveries')

const REPLAYED = sized(100_000, 500)

const PAST = statement(
  'bench_past_events',
  `WITH d AS (
     INSERT INTO discussions (tenant_id, id, external_id)
     SELECT t.id, new_id(), 'past' FROM tenants t WHERE slug = 'demo' RETURNING tenant_id, id)
   INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
   SELECT d.tenant_id, d.id, n, new_id(), 'comment_created', 'public', now(), $1::json, $2::json
   FROM d, generate_series(1, $3::int) n`,
)

/**
 * A replay over REST: how long until it is queued, and what its paced deliveries cost the worker.
 */
const benchReplay = ({ service, sink, env, redis }: World): Promise<void> =>
  closing(async (opened) => {
    const outbox = opened(await openOutbox(service, { tenants: 1, urls: [], redis }))
    await outbox.db.query(PAST, [ACTOR, DATA, REPLAYED])
    const { id } = await call(service, 'POST', '/webhooks', { url: `${sink.http}/hook/replayed` })
    await outbox.db.query(VERIFY, [id])
    const worker = opened(await startWorkerProcess(service, env))
    await sink.look({ reset: { hang: false } })
    const startedAt = performance.now()
    const { queued } = await call(service, 'POST', `/webhooks/${id}/replay`, { from: '2026-01-01T00:00:00Z' })
    const seconds = (performance.now() - startedAt) / 1000
    if (queued !== REPLAYED) throw new Error(`${queued} were queued`)
    // On a busy machine the first one takes a while.
    for (let n = 0; n < 500 && (await sink.look()).count === 0; n++) await setTimeout(20)
    const [before, cpu] = [(await sink.look()).count, worker.cpuMs()]
    await setTimeout(SPAN_MS)
    const delivered = (await sink.look()).count - before
    const [rate, micros] = [(delivered / SPAN_MS) * 1000, ((worker.cpuMs() - cpu) * 1000) / delivered]
    print(`\nwebhooks: a replay of ${REPLAYED} events to one endpoint
  queued within             ${seconds.toFixed(1)} s (target: at most 10)
  then, paced               ${figure(rate)}/s, CPU ${figure(micros)} µs a delivery, ${worker.residentMb()} MB`)
  })

const VERIFY = statement(
  'bench_verify',
  `UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL WHERE id = $1`,
)

const BACKLOGS = [sized(1000, 50), sized(1_000_000, 500)]

/** What taking deliveries costs, by how many wait. */
const benchBacklog = ({ service, sink, redis }: World): Promise<void> =>
  closing(async (opened) => {
    const urls = urlsOf(sink.http, ENDPOINTS)
    const outbox = opened(await openOutbox(service, { tenants: TENANTS, urls, redis }))
    const taken: Record<string, { ms: number }[]> = {}
    for (const backlog of BACKLOGS) {
      await outbox.queue(Math.ceil(backlog / ENDPOINTS))
      await outbox.db.query(statement('bench_vacuum', 'VACUUM ANALYZE deliveries'))
      const [waiting] = await outbox.db.query<{ n: number }>(unnamed('SELECT count(*)::int AS n FROM deliveries'))
      if ((waiting?.n ?? 0) < backlog) throw new Error(`only ${waiting?.n} wait`)
      const each: number[] = []
      for (let n = 0; n < sized(20, 2); n++) each.push(await timeOfLease(outbox))
      taken[`of ${backlog}`] = [{ ms: median(each) }]
    }
    printTurns(`webhooks: taking ${CONCURRENCY} deliveries of ${ENDPOINTS} endpoints`, taken)
  })

/** Milliseconds of a lease, which is undone. */
async function timeOfLease({ db }: Outbox): Promise<number> {
  const undone = new Error('undo')
  let ms = NaN
  const take = db.transaction(async (sql) => {
    const startedAt = performance.now()
    await leaseDeliveries(sql, { leaseMs: 15_000, busy: [], perEndpoint: 8, limit: CONCURRENCY })
    ms = performance.now() - startedAt
    throw undone
  })
  await take.catch((error: unknown) => {
    if (error !== undone) throw error
  })
  return ms
}
