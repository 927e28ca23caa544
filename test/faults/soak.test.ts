import { setTimeout as pause } from 'node:timers/promises'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { isVisible, type StreamViewer } from '../../src/live/viewer.ts'
import { onServer } from '../harness/database.ts'
import { byEventStream, byGraphQL, Follower, type Read, Tally, Violation } from '../harness/followers.ts'
import { first, type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { randomOf } from '../harness/random.ts'
import { hasRedisServer, type OwnRedis, startRedis } from '../harness/redis.ts'

const size = (name: string, short: number): number => Number(process.env[`SOAK_${name}`] ?? short)
const STREAMS = size('STREAMS', 40)
const WRITERS = size('WRITERS', 10)
const RESUMES = size('RESUMES', 500)
/** How often each of the faults comes. */
const ROUNDS = size('ROUNDS', 1)
const SEED = size('SEED', Math.floor(Math.random() * 2 ** 31))
const DISCUSSIONS = 6
const READERS = 5
const MAX_STAY_MS = 600
/** Each writer's, so that all of them make about 100 events a second. */
const MAX_PAUSE_MS = WRITERS * 20

const canRun = onServer && hasRedisServer
const why = canRun ? '' : ' (skipped: needs DATABASE_URL and redis-server)'

interface Logged extends Read {
  audience: 'public' | 'tenant' | 'recipient'
  recipientId: string | null
}

describe.skipIf(!canRun)(`a long run of drops and faults${why}`, () => {
  const chance = randomOf(SEED)
  const tally = new Tally()
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] ?? first(list)
  let redis: OwnRedis
  let service: Processes
  let database: pg.Client
  const discussions: { id: string; rootId: string }[] = []
  const readers: { id: string; name: string }[] = []

  beforeAll(async () => {
    console.log(`SOAK_SEED=${SEED}`)
    redis = await startRedis()
    service = await startProcesses({ api: 3, worker: 0, env: { REDIS_URL: redis.url } })
    database = new pg.Client({ connectionString: service.databaseUrl ?? '' })
    await database.connect()
    const rateLimit = { perSecond: 100_000, burst: 100_000 }
    await service.ok('PATCH', '/settings', { rateLimit, stream: { maxStreamsPerReader: 1000 } })
    for (let n = 0; n < READERS; n++) await addReader(n)
    for (let n = 0; n < DISCUSSIONS; n++) await addDiscussion(n)
  })
  afterAll(async () => {
    await database?.end()
    try {
      await service?.close()
    } finally {
      await redis?.stop()
    }
  })

  const key = () => ({ 'x-api-key': service.apiKey })

  async function addReader(n: number): Promise<void> {
    const name = `reader-${n}`
    const headers = await service.as(name)
    const body = { body: `Hello from ${n}` }
    const { json } = await service.call('POST', '/discussions/by-external/greetings/comments', { body, headers })
    readers.push({ id: json.author.id as string, name })
  }

  async function addDiscussion(n: number): Promise<void> {
    const path = `/discussions/by-external/page-${n}/comments`
    // Replies to it notify this reader.
    const headers = await service.as((readers[n % READERS] ?? first(readers)).name)
    const { json } = await service.call('POST', path, { body: { body: `Page ${n}` }, headers })
    discussions.push({ id: json.discussionId as string, rootId: json.id as string })
  }

  async function follower(n: number): Promise<Follower> {
    const { id: discussionId } = discussions[n % DISCUSSIONS] ?? first(discussions)
    const path = `/api/v1/stream/${discussionId}`
    const tenant: StreamViewer = { kind: 'tenant' }
    // Of each discussion's: two by ticket, one by key, one by GraphQL.
    const kind = Math.floor(n / DISCUSSIONS) % 4
    if (kind === 0) return new Follower({ discussionId, viewer: tenant, visit: byGraphQL(discussionId, key(), tally) })
    if (kind === 1) {
      return new Follower({ discussionId, viewer: tenant, visit: byEventStream(path, key(), tally, chance) })
    }
    const reader = kind === 2 ? null : (readers[n % READERS] ?? first(readers))
    const headers = reader === null ? {} : await service.as(reader.name)
    const json = await service.ok('POST', '/stream/ticket', { discussionId }, headers)
    const visit = byEventStream(`${path}?ticket=${json.ticket}`, {}, tally, chance)
    return new Follower({ discussionId, viewer: { kind: 'public', readerId: reader?.id ?? null }, visit })
  }

  /** Comes and goes. Where an api is away, it goes to another one a little later. */
  async function wander(each: Follower, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      try {
        await each.visit(pick(service.apis).url, chance() < 0.2 ? 0 : chance() * MAX_STAY_MS)
      } catch (error) {
        if (error instanceof Violation) throw error
        await pause(chance() * 100)
      }
    }
  }

  async function write(n: number, isOver: () => boolean): Promise<void> {
    let own: string | null = null
    for (let count = 0; !isOver(); count++) {
      const headers = await service.as(`writer-${n}`)
      const { id, rootId } = pick(discussions)
      const dice = chance()
      const body = { body: `comment ${count} of ${n}`, ...(dice < 0.3 ? { parentId: rootId } : {}) }
      const api = pick(service.apis)
      // Some moderators' actions, so that audiences differ.
      const request =
        dice < 0.7 || own === null
          ? service.call('POST', `/discussions/${id}/comments`, { api, body, headers })
          : dice < 0.85
            ? service.call('POST', `/comments/${rootId}/reactions`, { api, body: { type: 'like' }, headers })
            : service.call('POST', `/comments/${own}/${dice < 0.95 ? 'reject' : 'approve'}`, { api })
      const answer = await request.catch(() => null)
      tally.add(`writes: ${answer?.status ?? 'no answer'}`)
      if (answer?.status === 201) own = answer.json.id as string
      if (answer?.status === 500) throw new Violation(`a write was answered by 500: ${answer.text}`)
      await pause(chance() * MAX_PAUSE_MS)
    }
  }

  const FAULTS: Readonly<Record<string, () => Promise<unknown>>> = {
    'Redis restarted': async () => {
      await redis.stop()
      await pause(chance() * 1000)
      await redis.start()
    },
    'subscriber connections killed': () => redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub'),
    'database connections terminated': () =>
      database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      ),
    'api killed and restarted': async () => {
      const api: ServiceProcess = pick(service.apis)
      await api.kill()
      await pause(chance() * 500)
      await api.start()
    },
  }

  const resumes = (): number => tally.get('resumed by SSE') + tally.get('resumed by GraphQL')

  /** Causes each fault ROUNDS times, in random order, spread over all resumes. */
  async function harm(isOver: () => boolean): Promise<void> {
    const upTo = async (share: number): Promise<void> => {
      while (resumes() < RESUMES * share && !isOver()) await pause(20)
    }
    const order = Array.from({ length: ROUNDS }, () => Object.keys(FAULTS))
      .flat()
      .map((name) => ({ name, place: chance() }))
      .toSorted((a, b) => a.place - b.place)
    for (const [index, { name }] of order.entries()) {
      await upTo((index + 1) / (order.length + 1))
      if (isOver()) return
      await FAULTS[name]?.()
      tally.add(name)
    }
    await upTo(1)
  }

  async function logOf(discussionId: string): Promise<Logged[]> {
    const { rows } = await database.query<Logged>(
      `SELECT seq::int, id, audience, recipient_id AS "recipientId" FROM events WHERE discussion_id = $1 ORDER BY seq`,
      [discussionId],
    )
    return rows
  }

  /** Has it read to the end, and tells what it has lost, doubled and read out of order. */
  async function settle(each: Follower, log: readonly Logged[]) {
    const wanted = log.filter((event) => isVisible({ ...event }, each.viewer))
    const end = wanted.at(-1)?.seq ?? 0
    for (let attempt = 0; attempt < 100 && (each.read.at(-1)?.seq ?? 0) < end; attempt++) {
      await each.visit(pick(service.apis).url, 200).catch((error: unknown) => {
        if (error instanceof Violation) throw error
      })
    }
    const seen = new Set(each.read.map(({ seq, id }) => `${seq} ${id}`))
    const truth = new Set(wanted.map(({ seq, id }) => `${seq} ${id}`))
    return {
      lost: truth.size - [...truth].filter((event) => seen.has(event)).length,
      doubled: each.read.length - seen.size,
      disordered: each.read.filter(({ seq }, index) => seq < (each.read[index - 1]?.seq ?? 0)).length,
      foreign: [...seen].filter((event) => !truth.has(event)).length,
    }
  }

  test(
    `${RESUMES} resumes of ${STREAMS} streams while ${WRITERS} write: nothing lost, doubled, reordered or from others`,
    { timeout: 1_200_000 },
    async () => {
      const followers = await Promise.all(Array.from({ length: STREAMS }, (_, n) => follower(n)))
      let over = false
      const isOver = (): boolean => over
      const work = [
        ...followers.map((each) => wander(each, isOver)),
        ...Array.from({ length: WRITERS }, (_, n) => write(n, isOver)),
      ]
      try {
        await Promise.race([harm(isOver), Promise.all(work)])
      } finally {
        over = true
        await Promise.allSettled(work)
      }
      await Promise.all(work)
      // Clients that were never there before.
      followers.push(...(await Promise.all(Array.from({ length: DISCUSSIONS * 4 }, (_, n) => follower(n)))))

      const none = { lost: 0, doubled: 0, disordered: 0, foreign: 0 }
      for (const { id } of discussions) {
        const log = await logOf(id)
        expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: log.length }, (_, index) => index + 1))
        tally.add('events', log.length)
        const there = followers.filter(({ discussionId }) => discussionId === id)
        const outcomes = await Promise.all(there.map((each) => settle(each, log)))
        expect(outcomes).toEqual(there.map(() => none))
        for (const { read } of there) tally.add('events read', read.length)
      }
      expect(resumes()).toBeGreaterThanOrEqual(RESUMES)
      console.log(String(tally))
    },
  )
})
