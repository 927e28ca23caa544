import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { newId } from '../../src/core/ids.ts'
import { statement } from '../../src/core/sql.ts'
import { leaseDeliveries } from '../../src/worker/lease-sql.ts'
import { unnamed } from '../harness/sql.ts'
import { ACTOR, DATA, openOutbox, type Outbox, sleep } from './outbox.ts'
import type { SendOrder } from './sender.ts'
import {
  type BenchService,
  median,
  type Script,
  startBenchService,
  startScript,
  startWorkerProcess,
  type WorkerProcess,
} from './service.ts'
import type { SinkAnswer, SinkQuestion } from './sink.ts'

const TENANTS = 4
const ENDPOINTS = 32
/** A worker has at most 8 attempts under way at an endpoint (docs/reference/choices.md). */
const CONCURRENCY = ENDPOINTS * 8
const ROUNDS = 5
const EVENTS_A_ROUND = 300
const DELIVERIES = EVENTS_A_ROUND * ENDPOINTS

interface World {
  service: BenchService
  sink: Sink
  redis: { REDIS_URL: string; REDIS_PREFIX: string }
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
export async function benchWebhooks(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-webhooks-'))
  const sink = await startSink()
  writeFileSync(join(folder, 'ca.pem'), sink.ca)
  const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env
  const redis = { REDIS_URL, REDIS_PREFIX: `engagement-bench-${randomBytes(4).toString('hex')}:` }
  const env = {
    ...redis,
    WEBHOOK_CA_FILE: join(folder, 'ca.pem'),
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
  }
  try {
    for (const scheme of ['http', 'https'] as const) {
      await withService(env, (service) => benchRate({ service, sink, redis, env }, scheme))
    }
    await withService(env, (service) => benchIsolation({ service, sink, redis, env }))
    await withService(env, (service) => benchReplay({ service, sink, redis, env }))
    await withService(env, (service) => benchBacklog({ service, sink, redis, env }))
  } finally {
    await sink.close()
    rmSync(folder, { recursive: true })
  }
}

async function withService(env: Record<string, string>, work: (service: BenchService) => Promise<void>): Promise<void> {
  const service = await startBenchService(env)
  try {
    await work(service)
  } finally {
    await service.close()
  }
}

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

interface Figures {
  perSecond: number
  cpuMicros: number
}

/**
 * Deliveries of a backlog, beside the bare loop that signs and sends the same bytes, turn by turn.
 */
async function benchRate(world: World, scheme: 'http' | 'https'): Promise<void> {
  const { service, sink, redis, env } = world
  const urls = urlsOf(sink[scheme], ENDPOINTS)
  const outbox = await openOutbox(service, { tenants: TENANTS, urls, redis })
  const sender = await startScript('sender.ts')
  const worker = await startWorkerProcess(service, env)
  const rounds: { bare: Figures; worker: Figures }[] = []
  let residentMb = 0
  try {
    for (let n = -1; n < ROUNDS; n++) {
      const round = { bare: await bareRound(world, sender, urls), worker: await workerRound(world, worker, outbox) }
      // The first round warms up.
      if (n >= 0) rounds.push(round)
    }
    residentMb = worker.residentMb()
  } finally {
    await worker.close()
    await sender.close()
    await outbox.close()
  }
  const of = (pick: (round: (typeof rounds)[number]) => number): number => median(rounds.map(pick))
  const ratio = of(({ bare, worker: each }) => each.perSecond / bare.perSecond)
  console.log(`webhooks: ${scheme}, ${ENDPOINTS} endpoints of ${TENANTS} tenants, median of ${ROUNDS} rounds of ${DELIVERIES}
  bare got loop, ${CONCURRENCY} at once   ${of(({ bare }) => bare.perSecond).toFixed(0)}/s, CPU ${of(({ bare }) => bare.cpuMicros).toFixed(0)} µs a request
  worker                    ${of(({ worker: each }) => each.perSecond).toFixed(0)}/s, CPU ${of(({ worker: each }) => each.cpuMicros).toFixed(0)} µs a delivery, ${residentMb} MB
  ratio                     ${ratio.toFixed(2)} (target: at least 0.6)`)
}

async function bareRound({ sink }: World, sender: Script, urls: string[]): Promise<Figures> {
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
  return figures(lastAt - startedAt, sender.cpuMs() - cpu)
}

async function workerRound({ sink }: World, worker: WorkerProcess, outbox: Outbox): Promise<Figures> {
  await sink.look({ reset: { hang: false } })
  const cpu = worker.cpuMs()
  await outbox.queue(EVENTS_A_ROUND)
  const committedAt = now()
  await outbox.drained()
  const { count, lastAt } = await sink.look()
  if (count !== DELIVERIES) throw new Error(`${count} arrived where ${DELIVERIES} were expected`)
  return figures(lastAt - committedAt, worker.cpuMs() - cpu)
}

const figures = (ms: number, cpuMs: number): Figures => ({
  perSecond: (DELIVERIES / ms) * 1000,
  cpuMicros: (cpuMs * 1000) / DELIVERIES,
})

const now = (): number => performance.timeOrigin + performance.now()

const SPAN_MS = 10_000
const ISOLATION_ENDPOINTS = 40
const EVENTS_A_SECOND = 20

/**
 * Healthy endpoints' time from commit to arrival, with a fifth of the endpoints hanging and with
 * all of them healthy.
 */
async function benchIsolation(world: World): Promise<void> {
  const { service, sink, redis, env } = world
  const urls = urlsOf(sink.http, ISOLATION_ENDPOINTS, ISOLATION_ENDPOINTS / 5)
  // A circuit that opened would take the hanging ones out of the way.
  const policy = { breakerThreshold: 100, disableThreshold: 1000 }
  const outbox = await openOutbox(service, { tenants: TENANTS, urls, policy, redis })
  const rounds: { healthy: Latency; hanging: Latency }[] = []
  for (let n = -1; n < 3; n++) {
    const round = { healthy: await latencies(world, outbox, false), hanging: await latencies(world, outbox, true) }
    if (n >= 0) rounds.push(round)
  }
  await outbox.close()
  const of = (pick: (round: (typeof rounds)[number]) => number): number => median(rounds.map(pick))
  console.log(`webhooks: from commit to arrival, ${EVENTS_A_SECOND} events/s to ${ISOLATION_ENDPOINTS / TENANTS} endpoints each, median of 3 rounds of 10 s
  all healthy               p50 ${of(({ healthy }) => healthy.p50).toFixed(1)} ms, p99 ${of(({ healthy }) => healthy.p99).toFixed(1)} ms
  a fifth of them hanging   p50 ${of(({ hanging }) => hanging.p50).toFixed(1)} ms, p99 ${of(({ hanging }) => hanging.p99).toFixed(1)} ms
  ratio of p99              ${of(({ healthy, hanging }) => hanging.p99 / healthy.p99).toFixed(2)} (target: at most 1.2)`)

  async function latencies({ sink: at }: World, box: Outbox, hang: boolean): Promise<Latency> {
    const worker = await startWorkerProcess(service, env)
    await at.look({ reset: { hang } })
    const committed = new Map<string, number>()
    const emitting: Promise<unknown>[] = []
    const endsAt = performance.now() + SPAN_MS
    while (performance.now() < endsAt) {
      emitting.push(box.emit().then(([id, committedAt]) => committed.set(id, committedAt)))
      await sleep(1000 / EVENTS_A_SECOND)
    }
    await Promise.all(emitting)
    const expected = (committed.size * ISOLATION_ENDPOINTS * 4) / 5 / TENANTS
    let { arrivals } = await at.look()
    for (let n = 0; n < 200 && arrivals.length < expected; n++) {
      await sleep(100)
      ;({ arrivals } = await at.look())
    }
    await worker.close()
    await box.db.query(FORGET)
    if (arrivals.length !== expected) throw new Error(`${arrivals.length} arrived where ${expected} were expected`)
    const times = arrivals.map(([id, when]) => when - (committed.get(id) ?? NaN)).toSorted((a, b) => a - b)
    return { p50: median(times), p99: times[Math.floor(times.length * 0.99)] ?? NaN }
  }
}

interface Latency {
  p50: number
  p99: number
}

const FORGET = statement('outbox_forget', 'DELETE FROM deliveries')

const REPLAYED = 100_000

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
async function benchReplay({ service, sink, env, redis }: World): Promise<void> {
  const outbox = await openOutbox(service, { tenants: 1, urls: [], redis })
  const call = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`http://127.0.0.1:${service.port}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return (await response.json()) as Record<string, unknown>
  }
  await outbox.db.query(PAST, [ACTOR, DATA, REPLAYED])
  const { id } = await call('POST', '/webhooks', { url: `${sink.http}/hook/replayed` })
  await outbox.db.query(VERIFY, [String(id)])
  const worker = await startWorkerProcess(service, env)
  await sink.look({ reset: { hang: false } })
  const startedAt = performance.now()
  const { queued } = await call('POST', `/webhooks/${String(id)}/replay`, { from: '2026-01-01T00:00:00Z' })
  const seconds = (performance.now() - startedAt) / 1000
  if (queued !== REPLAYED) throw new Error(`${String(queued)} were queued`)
  const [before, cpu] = [(await sink.look()).count, worker.cpuMs()]
  await sleep(SPAN_MS)
  const delivered = (await sink.look()).count - before
  console.log(`webhooks: a replay of ${REPLAYED} events to one endpoint
  queued within             ${seconds.toFixed(1)} s (target: at most 10)
  then, paced               ${((delivered / SPAN_MS) * 1000).toFixed(0)}/s, CPU ${(((worker.cpuMs() - cpu) * 1000) / delivered).toFixed(0)} µs a delivery, ${worker.residentMb()} MB`)
  await worker.close()
  await outbox.close()
}

const VERIFY = statement(
  'bench_verify',
  `UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL WHERE id = $1`,
)

const BACKLOGS = [1000, 1_000_000]

/** What taking deliveries costs, by how many wait. */
async function benchBacklog({ service, sink, redis }: World): Promise<void> {
  const outbox = await openOutbox(service, { tenants: TENANTS, urls: urlsOf(sink.http, ENDPOINTS), redis })
  const times: number[] = []
  for (const backlog of BACKLOGS) {
    await outbox.queue(Math.ceil((backlog * TENANTS) / ENDPOINTS / TENANTS))
    await outbox.db.query(statement('bench_vacuum', 'VACUUM ANALYZE deliveries'))
    const [waiting] = await outbox.db.query<{ n: number }>(unnamed('SELECT count(*) AS n FROM deliveries'))
    if ((waiting?.n ?? 0) < backlog) throw new Error(`only ${waiting?.n} wait`)
    const taken: number[] = []
    for (let n = 0; n < 20; n++) {
      await outbox.db
        .transaction(async (sql) => {
          const startedAt = performance.now()
          await leaseDeliveries(sql, { leaseMs: 15_000, busy: [], perEndpoint: 8, limit: CONCURRENCY })
          taken.push(performance.now() - startedAt)
          throw new Error('undo')
        })
        .catch(() => undefined)
    }
    times.push(median(taken))
  }
  await outbox.close()
  const [few = 0, many = 0] = times
  console.log(`webhooks: taking ${CONCURRENCY} deliveries of ${ENDPOINTS} endpoints
  at a backlog of 1 000     ${few.toFixed(1)} ms
  at one of 1 000 000       ${many.toFixed(1)} ms, ${(many / few).toFixed(2)} × that`)
}
