import { setTimeout } from 'node:timers/promises'

import pg from 'pg'

import { fillDiscussions } from './fill.ts'
import { print } from './figures.ts'
import { type Listeners, startListeners } from './listening.ts'
import { identitiesOf, readersOf } from './requests.ts'
import { allCpuMsOf, backendsMs, childrenCpuMs, childrenOf, cpuMsOf, parentOf, unlessGone } from './proc.ts'
import { closing, startScript } from './scripts.ts'
import { ask, type BenchService, call, redisEnv, startBenchService, startWorkerProcess } from './service.ts'
import { sized } from './size.ts'
import { followed, postsTo, ssePeer } from './stream-peers.ts'

const SECONDS = sized(15, 0.4)
const WARM_SECONDS = sized(4, 0.1)

/** The load on a deployment each second. */
interface Demand {
  /** Comments, each with one reader for whom its page is made again. */
  posts: number
  /** Pages from the cache. */
  reads: number
  /** Streams, of one discussion to which `events` comments of `posts` go. */
  streams: number
  events: number
  /** Endpoints to which each comment is delivered. */
  endpoints: number
}

/** Milliseconds of CPU a second. */
interface Use {
  api: number
  worker: number
  postgres: number
}

/** Equal texts of one reader would be held. */
let written = 0

const NOTHING: Demand = { posts: 0, reads: 0, streams: 0, events: 0, endpoints: 0 }

const POINTS: readonly Demand[] = [
  { posts: 30, reads: 200, streams: sized(1000, 10), events: 5, endpoints: 1 },
  { posts: 100, reads: 100, streams: 0, events: 0, endpoints: 2 },
  { posts: 20, reads: 500, streams: sized(3000, 30), events: 5, endpoints: 0 },
]
/** Of which the cost of one is measured. */
const STREAMS = sized(4000, 40)
const CONNECTS = sized(2000, 20)

/**
 * The cost of each thing by itself, the prediction for three mixes, and their real cost: the model
 * of docs/operations/sizing.md.
 */
export const benchSizing = (): Promise<void> =>
  closing(async (opened) => {
    const listeners = opened(await startListeners())
    const sink = opened(await startScript('sink.ts'))
    const { http } = sink.hello as { http: { port: number } }
    const env = { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', WEBHOOK_ALLOW_HTTP: 'true', ...redisEnv() }
    const service = opened(await startBenchService(env))
    const database = new pg.Client({ connectionString: service.databaseUrl })
    await database.connect()
    opened({ close: () => database.end() })
    const [backend = 0] = (await backendsMs(database)).keys()
    const worker = opened(await startWorkerProcess(service, env))
    const size = { discussions: sized(100, 10), comments: 40, readers: 100 }
    const { discussionIds } = await fillDiscussions(service, size)
    const followedId = await followed(service)
    const { head } = await ssePeer({ service, discussionId: followedId, post: await postsTo(service) })
    const stage: Stage = {
      service,
      database,
      workerPid: worker.pid,
      listeners,
      receiver: `http://127.0.0.1:${http.port}`,
      serverPid: parentOf(backend),
      discussionIds,
      followedId,
      head,
      identities: await identitiesOf(service.signer, readersOf(100)),
    }
    const costs = await findCosts(stage)
    report(costs)
    for (const demand of POINTS) compare(demand, foretold(costs, demand), await measure(stage, demand))
  })

interface Stage {
  service: BenchService
  database: pg.Client
  workerPid: number
  listeners: Listeners
  receiver: string
  /** The process that starts those of PostgreSQL. */
  serverPid: number
  discussionIds: readonly string[]
  /** The discussion with the streams, and the request that opens one. */
  followedId: string
  head: string
  identities: readonly string[]
}

/** What one of each costs, in milliseconds of CPU. */
interface Costs {
  idle: Use
  post: Use
  read: Use
  delivery: Use
  /** An event at a stream. */
  streamEvent: Use
  /** A stream that opens. */
  connect: Use
}

async function findCosts(stage: Stage): Promise<Costs> {
  // Not measured: first compilations.
  await measure(stage, { posts: 100, reads: 300, streams: sized(500, 5), events: 5, endpoints: 1 })
  const idle = await measure(stage, NOTHING)
  const posts = await measure(stage, { ...NOTHING, posts: 100 })
  const reads = await measure(stage, { ...NOTHING, reads: 400 })
  const post = scaled(minus(posts, idle), 1 / 100)
  const streams = await measure(stage, { ...NOTHING, posts: 8, streams: STREAMS, events: 8 })
  const hooks = await measure(stage, { ...NOTHING, posts: 60, endpoints: 3 })
  const before = used(stage)
  await stage.listeners.open(stage.service.port, stage.head, CONNECTS)
  const connect = scaled(minus(used(stage), before), 1 / CONNECTS)
  await stage.listeners.drop()
  return {
    connect,
    idle,
    post,
    read: scaled(minus(reads, idle), 1 / 400),
    streamEvent: scaled(minus(minus(streams, idle), scaled(post, 8)), 1 / (8 * STREAMS)),
    delivery: scaled(minus(minus(hooks, idle), scaled(post, 60)), 1 / (60 * 3)),
  }
}

function foretold({ idle, post, read, streamEvent, delivery }: Costs, demand: Demand): Use {
  const parts = [
    scaled(post, demand.posts),
    scaled(read, demand.reads),
    scaled(streamEvent, demand.events * demand.streams),
    scaled(delivery, demand.posts * demand.endpoints),
  ]
  return parts.reduce(plus, idle)
}

async function measure(stage: Stage, demand: Demand): Promise<Use> {
  const { service, listeners, receiver } = stage
  const endpointIds = await Promise.all(
    Array.from({ length: demand.endpoints }, (_, n) => endpoint(stage, n, receiver)),
  )
  if (demand.streams > 0) await listeners.open(service.port, stage.head, demand.streams)
  const load = startLoad(stage, demand)
  await setTimeout(WARM_SECONDS * 1000)
  const before = used(stage)
  await setTimeout(SECONDS * 1000)
  const after = used(stage)
  await load.stop()
  await listeners.drop()
  for (const id of endpointIds) await ask(service, 'DELETE', `/webhooks/${id}`)
  return scaled(minus(after, before), 1 / SECONDS)
}

const used = (stage: Stage): Use => ({
  api: cpuMsOf(stage.service.pid),
  worker: cpuMsOf(stage.workerPid),
  postgres: serverCpuMs(stage.serverPid),
})

async function endpoint({ service, database }: Stage, n: number, receiver: string): Promise<string> {
  const { id } = await call(service, 'POST', '/webhooks', { url: `${receiver}/${n}` })
  // The sink knows nothing of handshakes.
  await database.query(`UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1`, [id])
  return id
}

/** Requests at even intervals, whether or not earlier ones are answered. */
function startLoad({ service, discussionIds, followedId, identities }: Stage, demand: Demand) {
  const under = new Set<Promise<unknown>>()
  let failure: unknown
  const timers: NodeJS.Timeout[] = []
  const every = (perSecond: number, one: () => Promise<unknown>): void => {
    if (perSecond === 0) return
    const begun = performance.now()
    let done = 0
    const tick = (): void => {
      for (const due = ((performance.now() - begun) / 1000) * perSecond; done < due; done++) {
        const asked = one()
          .catch((error: unknown) => (failure = error))
          .finally(() => under.delete(asked))
        under.add(asked)
      }
    }
    timers.push(setInterval(tick, 5))
  }
  const page = async (id: string | undefined): Promise<void> => {
    await (await ask(service, 'GET', `/discussions/${id}/comments`)).arrayBuffer()
  }
  const post = async (id: string | undefined): Promise<void> => {
    const identity = { 'x-service-identity': identities[written % identities.length] ?? '' }
    const body = { body: `I have a point to make: ${written++}` }
    await call(service, 'POST', `/discussions/${id}/comments`, body, identity)
    await page(id)
  }
  // One half of the discussions gets comments, and the other is only read.
  const half = discussionIds.length / 2
  every(demand.posts - demand.events, () => post(discussionIds[written % half]))
  every(demand.events, () => post(followedId))
  every(demand.reads, () => page(discussionIds[half + Math.floor(Math.random() * half)]))
  return {
    async stop(): Promise<void> {
      timers.forEach(clearInterval)
      await Promise.all(under)
      if (failure !== undefined) throw new Error('a request failed', { cause: failure })
    },
  }
}

/** CPU of a server of PostgreSQL on this machine, with that of its processes that ended. */
const serverCpuMs = (pid: number): number =>
  childrenOf(pid).reduce(
    (sum, child) => sum + (unlessGone(() => cpuMsOf(child)) ?? 0),
    childrenCpuMs(pid) + allCpuMsOf(pid),
  )

const each = (one: Use, other: Use, join: (a: number, b: number) => number): Use => ({
  api: join(one.api, other.api),
  worker: join(one.worker, other.worker),
  postgres: join(one.postgres, other.postgres),
})
const plus = (one: Use, other: Use): Use => each(one, other, (a, b) => a + b)
const minus = (one: Use, other: Use): Use => each(one, other, (a, b) => a - b)
const scaled = (use: Use, by: number): Use => each(use, use, (a) => a * by)

function report({ idle, post, read, streamEvent, delivery, connect }: Costs): void {
  const row = (name: string, { api, worker, postgres }: Use, by = 1000): void =>
    print(`| ${name} | ${(api * by).toFixed(1)} | ${(worker * by).toFixed(1)} | ${(postgres * by).toFixed(1)} |`)
  print(`
sizing: microseconds of CPU

| One | api | worker | PostgreSQL |
| --- | --- | ------ | ---------- |`)
  row('comment, and its page made again', post)
  row('page that is kept', read)
  row('event at a stream', streamEvent)
  row('stream that opens', connect)
  row('delivery', delivery)
  row('second without work', idle)
  print(`
| Demand a second | api, foretold / measured | worker | PostgreSQL |
| --------------- | ------------------------ | ------ | ---------- |`)
}

function compare({ posts, reads, streams, events, endpoints }: Demand, expected: Use, actual: Use): void {
  const what = `${posts} comments, ${reads} pages, ${streams} streams × ${events} events, ${endpoints} endpoints`
  // A process without work may have used nothing.
  const figure = (name: keyof Use): string =>
    `${Math.round(expected[name])} / ${Math.round(actual[name])} ms, ${(expected[name] / Math.max(actual[name], 0.01)).toFixed(2)}`
  print(`| ${what} | ${figure('api')} | ${figure('worker')} | ${figure('postgres')} |`)
}
