import { readdirSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { holdingsOf, PROBED } from '../harness/probe.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'
import { randomOf } from '../harness/random.ts'
import { hasRedisServer, type OwnRedis, startRedis } from '../harness/redis.ts'
import { METRICS_TOKEN } from '../harness/service.ts'

const CONNECTS = Number(process.env.SOAK_CONNECTS ?? 2000)
const SEED = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** By then, caches, pools and compiled code have grown. */
const WARM_UP = 1000
const AT_ONCE = 20
const DISCUSSIONS = 10
const EVENTS = 30
const WAIT = { timeout: 30_000, interval: 250 }
/**
 * A leaked connection would hold its request, response and socket: more than 10 KB. The heap's
 * variation between collections is far below this for each of so many.
 */
const KEPT_BYTES = 2000

const chance = randomOf(SEED)
let redis: OwnRedis | null
let service: Processes
const discussions: { id: string; ticket: string }[] = []

beforeAll(async () => {
  console.log(`SOAK_SEED=${SEED}`)
  redis = onServer && hasRedisServer ? await startRedis() : null
  // A small pool: its open connections vary, and would look like a leak.
  const env = { ...PROBED, METRICS_TOKEN, DATABASE_POOL_SIZE: '2', STREAM_REPAIR_SECONDS: '0.5' }
  service = await startProcesses({ worker: 0, env: redis === null ? env : { ...env, REDIS_URL: redis.url } })
  await service.ok('PATCH', '/settings', {
    rateLimit: { perSecond: 100_000, burst: 100_000 },
    stream: { maxStreamsPerTicket: AT_ONCE },
  })
  for (let n = 0; n < DISCUSSIONS; n++) await addDiscussion(n)
})
afterAll(async () => {
  try {
    await service?.close()
  } finally {
    await redis?.stop()
  }
})

async function addDiscussion(n: number): Promise<void> {
  const headers = await service.as('writer')
  const path = `/discussions/by-external/page-${n}/comments`
  for (let count = 0; count < EVENTS; count++)
    await service.call('POST', path, { body: { body: `${n} ${count}` }, headers })
  const { json } = await service.call('POST', '/stream/ticket', { body: { externalId: `page-${n}` } })
  discussions.push({ id: json.discussionId as string, ticket: json.ticket as string })
}

const key = () => ({ 'x-api-key': service.apiKey })
const JSON_TYPE = { 'content-type': 'application/json' }
const STREAM_TYPE = { accept: 'text/event-stream' }

interface Asked {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: object
}

/** Sends a request on a connection of its own. */
function send({ method = 'GET', path, headers = {}, body }: Asked): ClientRequest {
  const sent = request(first(service.apis).url + path, { method, headers, agent: false })
  sent.on('error', () => undefined)
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  return sent
}

const answerTo = (sent: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => sent.once('response', resolve).once('error', reject))

async function textOf(sent: ClientRequest): Promise<string> {
  let text = ''
  for await (const chunk of await answerTo(sent)) text += String(chunk)
  return text
}

const operation = (discussionId: string) => ({
  query: `subscription { discussionEvents(discussionId: "${discussionId}", lastEventId: "0") { seq type } }`,
})

/** Every way to listen; each sends the request of its stream. */
const WAYS: readonly (() => Promise<ClientRequest>)[] = [
  async () => {
    const { id, ticket } = pick(discussions)
    return send({ path: `/api/v1/stream/${id}?ticket=${ticket}`, headers: { 'last-event-id': '0' } })
  },
  async () => send({ path: `/api/v1/stream/${pick(discussions).id}?lastEventId=0`, headers: key() }),
  async () => {
    const headers = { ...key(), 'accept-encoding': 'gzip' }
    return send({ path: `/api/v1/stream/${pick(discussions).id}?lastEventId=0`, headers })
  },
  async () => {
    const headers = { ...key(), ...JSON_TYPE, ...STREAM_TYPE }
    return send({ method: 'POST', path: '/graphql/stream', headers, body: operation(pick(discussions).id) })
  },
  async () => {
    const headers = { ...key(), ...JSON_TYPE, ...STREAM_TYPE }
    return send({ method: 'POST', path: '/graphql', headers, body: operation(pick(discussions).id) })
  },
  async () => {
    const token = await textOf(send({ method: 'PUT', path: '/graphql/stream', headers: key() }))
    const own = { ...key(), 'x-graphql-event-stream-token': token }
    const stream = send({ path: '/graphql/stream', headers: { ...own, ...STREAM_TYPE } })
    // Without its stream the operation would be refused. Its answer is 202, the events come on the
    // stream.
    stream.once('response', () => {
      const body = { ...operation(pick(discussions).id), extensions: { operationId: 'one' } }
      const posted = send({ method: 'POST', path: '/graphql/stream', headers: { ...own, ...JSON_TYPE }, body })
      posted.once('response', (answer) => answer.resume())
    })
    return stream
  },
]

const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] ?? first(list)

/**
 * Listens in some way, and leaves at some moment: before an answer, within the replay, or at its
 * end.
 */
async function comeAndGo(): Promise<void> {
  const way = pick(WAYS)
  const leaves = pick(['before the head', 'in mid-replay', 'idle'])
  const stream = await way()
  const closed = new Promise((resolve) => stream.once('close', resolve))
  if (leaves === 'before the head' && way !== WAYS.at(-1)) await pause(chance() * 4)
  else {
    const answer = await answerTo(stream)
    expect(answer.statusCode).toBe(200)
    await new Promise((resolve) => answer.once('data', resolve))
    if (leaves === 'idle') {
      answer.resume()
      await pause(chance() * 50)
    }
  }
  stream.destroy()
  await closed
}

async function connect(times: number): Promise<void> {
  let left = times
  const one = async (): Promise<void> => {
    while (left-- > 0) await comeAndGo()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

interface Counts {
  files: number
  timers: number
  listeners: number
  resources: number
  streams: number
  topics: number
  channels: number
}

async function counts(): Promise<Counts & { heapBytes: number }> {
  const { run, url } = first(service.apis)
  const headers = { connection: 'close', authorization: `Bearer ${METRICS_TOKEN}` }
  const metrics = await (await fetch(`${url}/metrics`, { headers })).text()
  const figure = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)?.[1])
  const channels = redis === null ? [] : ((await redis.command('PUBSUB', 'CHANNELS', '*discussion:*')) as string[])
  const { heapBytes, timers, listeners, resources } = await holdingsOf(run)
  return {
    files: readdirSync(`/proc/${run.pid}/fd`).length,
    timers,
    listeners,
    resources: Object.values(resources).reduce((sum, count) => sum + count, 0),
    streams: figure('stream_connections'),
    topics: figure('stream_discussions'),
    channels: channels.length,
    heapBytes,
  }
}

test(`${CONNECTS} clients that come and go leave nothing behind`, { timeout: 600_000 }, async () => {
  await connect(WARM_UP)
  const start = await vi.waitFor(async () => {
    const now = await counts()
    expect(now).toMatchObject({ streams: 0, topics: 0, channels: 0 })
    return now
  }, WAIT)
  await connect(CONNECTS)
  const names = ['files', 'timers', 'listeners', 'resources', 'streams', 'topics', 'channels'] as const
  const { heapBytes } = await vi.waitFor(async () => {
    const now = await counts()
    for (const name of names) expect(now[name], name).toBeLessThanOrEqual(start[name])
    // What is not yet over on a busy machine is no leak: it is freed later.
    expect(now.heapBytes - start.heapBytes).toBeLessThan(CONNECTS * KEPT_BYTES)
    return now
  }, WAIT)
  console.log(`bytes of heap per connect: ${Math.round((heapBytes - start.heapBytes) / CONNECTS)}`, start)
})
