import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

import pg from 'pg'

import { signIdentity } from '../harness/identity.ts'
import { fillDiscussions } from './fill.ts'
import { type Listeners, startListeners } from './listening.ts'
import { type BenchService, cpuMsOf, startBenchService, startScript, startWorkerProcess } from './service.ts'
import { call, headOf } from './stream-peers.ts'

const SECONDS = 15
const WARM_SECONDS = 4

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
  { posts: 30, reads: 200, streams: 1000, events: 5, endpoints: 1 },
  { posts: 100, reads: 100, streams: 0, events: 0, endpoints: 2 },
  { posts: 20, reads: 500, streams: 3000, events: 5, endpoints: 0 },
]

/**
 * The cost of each thing by itself, the prediction for three mixes, and their real cost: the model
 * of docs/operations/sizing.md.
 */
export async function benchSizing(): Promise<void> {
  const open: { close(): Promise<void> }[] = []
  const opened = <T extends { close(): Promise<void> }>(process: T): T => (open.unshift(process), process)
  const listeners = await startListeners()
  open.unshift({ close: () => listeners.end() })
  try {
    const sink = opened(await startScript('sink.ts'))
    const { http } = sink.hello as { http: { port: number } }
    const hooks = { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', WEBHOOK_ALLOW_HTTP: 'true' }
    const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env
    const env = { ...hooks, REDIS_URL, REDIS_PREFIX: `bench-${process.pid}:` }
    const service = opened(await startBenchService(env))
    const worker = opened(await startWorkerProcess(service, env))
    const stage = await prepare({
      service,
      workerPid: worker.pid,
      listeners,
      receiver: `http://127.0.0.1:${http.port}`,
    })
    const costs = await findCosts(stage)
    print(costs)
    for (const demand of POINTS) compare(demand, foretold(costs, demand), await measure(stage, demand))
  } finally {
    for (const process of open) await process.close()
  }
}

interface Stage {
  service: BenchService
  workerPid: number
  listeners: Listeners
  receiver: string
  serverPid: number
  discussionIds: readonly string[]
  /** The discussion with the streams, and the request that opens one. */
  followedId: string
  head: string
  identities: readonly string[]
}

async function prepare(given: Pick<Stage, 'service' | 'workerPid' | 'listeners' | 'receiver'>): Promise<Stage> {
  const { service } = given
  const { discussionIds } = await fillDiscussions(service.databaseUrl, { discussions: 100, comments: 40, readers: 100 })
  await call(service, 'PATCH', '/settings', {
    stream: { maxStreams: 1_000_000, maxStreamsPerTicket: 1_000_000, maxStreamsPerAddress: 1_000_000 },
    ticket: { connectSeconds: 3600 },
  })
  const { id: followedId } = await call(service, 'POST', '/discussions', { externalId: 'followed' })
  const { ticket } = await call(service, 'POST', '/stream/ticket', { discussionId: followedId })
  const readers = Array.from({ length: 100 }, (_, n) => ({ sub: `reader-${n}`, name: `Reader ${n}` }))
  const identities = await Promise.all(readers.map((reader) => signIdentity(service.signer, reader)))
  const head = headOf(`/api/v1/stream/${followedId}?ticket=${ticket}`)
  return { ...given, serverPid: await serverPid(service.databaseUrl), discussionIds, followedId, head, identities }
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
  await measure(stage, { posts: 100, reads: 300, streams: 500, events: 5, endpoints: 1 })
  const idle = await measure(stage, NOTHING)
  const posts = await measure(stage, { ...NOTHING, posts: 100 })
  const reads = await measure(stage, { ...NOTHING, reads: 400 })
  const post = scaled(minus(posts, idle), 1 / 100)
  const streams = await measure(stage, { ...NOTHING, posts: 8, streams: 4000, events: 8 })
  const hooks = await measure(stage, { ...NOTHING, posts: 60, endpoints: 3 })
  const before = used(stage)
  await stage.listeners.open(stage.service.port, stage.head, 2000)
  const connect = scaled(minus(used(stage), before), 1 / 2000)
  await stage.listeners.close()
  return {
    connect,
    idle,
    post,
    read: scaled(minus(reads, idle), 1 / 400),
    streamEvent: scaled(minus(minus(streams, idle), scaled(post, 8)), 1 / (8 * 4000)),
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
  await listeners.close()
  for (const id of endpointIds) await remove(service, `/webhooks/${id}`)
  return scaled(minus(after, before), 1 / SECONDS)
}

const used = (stage: Stage): Use => ({
  api: cpuMsOf(stage.service.pid),
  worker: cpuMsOf(stage.workerPid),
  postgres: serverCpuMs(stage.serverPid),
})

async function endpoint({ service }: Stage, n: number, receiver: string): Promise<string> {
  const { id } = await call(service, 'POST', '/webhooks', { url: `${receiver}/${n}` })
  // The sink knows nothing of handshakes.
  const client = new pg.Client({ connectionString: service.databaseUrl })
  await client.connect()
  await client.query(`UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1`, [id])
  await client.end()
  return id
}

const ask = ({ port, apiKey }: BenchService, method: string, path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/api/v1${path}`, { method, headers: { 'x-api-key': apiKey } })

async function remove(service: BenchService, path: string): Promise<void> {
  const { status } = await ask(service, 'DELETE', path)
  if (status !== 204) throw new Error(`DELETE ${path}: ${status}`)
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
    const answer = await ask(service, 'GET', `/discussions/${id}/comments`)
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`a page: ${answer.status}`)
  }
  const post = async (id: string | undefined): Promise<void> => {
    const identity = { 'x-service-identity': identities[written % identities.length] ?? '' }
    await call(
      service,
      'POST',
      `/discussions/${id}/comments`,
      { body: `I have a point to make: ${written++}` },
      identity,
    )
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
function serverCpuMs(pid: number): number {
  const fields = statOf(pid)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  const ended = (Number(fields[13]) + Number(fields[14])) * 10
  return children.reduce(
    (sum, child) => sum + (existsSync(`/proc/${child}`) ? cpuMsOf(child) : 0),
    ended + cpuMsOf(pid),
  )
}

/** The fields of the kernel's table after the name. */
const statOf = (pid: number): string[] => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []

/** The process that starts those of PostgreSQL. */
async function serverPid(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const parent = Number(statOf(rows[0]?.pid ?? 0)[1])
  await client.end()
  return parent
}

const each = (one: Use, other: Use, join: (a: number, b: number) => number): Use => ({
  api: join(one.api, other.api),
  worker: join(one.worker, other.worker),
  postgres: join(one.postgres, other.postgres),
})
const plus = (one: Use, other: Use): Use => each(one, other, (a, b) => a + b)
const minus = (one: Use, other: Use): Use => each(one, other, (a, b) => a - b)
const scaled = (use: Use, by: number): Use => each(use, use, (a) => a * by)

function print({ idle, post, read, streamEvent, delivery, connect }: Costs): void {
  const row = (name: string, { api, worker, postgres }: Use, by = 1000): void =>
    console.log(`| ${name} | ${(api * by).toFixed(1)} | ${(worker * by).toFixed(1)} | ${(postgres * by).toFixed(1)} |`)
  console.log(`
sizing: microseconds of CPU

| One | api | worker | PostgreSQL |
| --- | --- | ------ | ---------- |`)
  row('comment, and its page made again', post)
  row('page that is kept', read)
  row('event at a stream', streamEvent)
  row('stream that opens', connect)
  row('delivery', delivery)
  row('second without work', idle)
  console.log(`
| Demand a second | api, foretold / measured | worker | PostgreSQL |
| --------------- | ------------------------ | ------ | ---------- |`)
}

function compare({ posts, reads, streams, events, endpoints }: Demand, expected: Use, actual: Use): void {
  const what = `${posts} comments, ${reads} pages, ${streams} streams × ${events} events, ${endpoints} endpoints`
  const figure = (name: keyof Use): string =>
    `${Math.round(expected[name])} / ${Math.round(actual[name])} ms, ${(expected[name] / actual[name]).toFixed(2)}`
  console.log(`| ${what} | ${figure('api')} | ${figure('worker')} | ${figure('postgres')} |`)
}
