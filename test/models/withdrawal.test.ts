import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { type Hub, hubOf } from '../../src/live/hub.ts'
import { bodyOf } from '../../src/core/delivery/request.ts'
import { type Lease, leaseDeliveries } from '../../src/worker/statements/lease-sql.ts'
import { recordAttempts } from '../../src/worker/statements/record-sql.ts'
import { effort } from '../harness/effort.ts'
import { type Json, type TestResponse, useKey, useService } from '../harness/service.ts'
import { type GraphQLListener, subscribe } from '../harness/sse.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'

const READERS = ['ann', 'bob', 'cem'] as const
/** Dan is erased now and then, and begins again with his next comment. */
const WRITERS = [...READERS, 'dan'] as const
type Writer = (typeof WRITERS)[number]
/**
 * A ticket names a reader, or nobody. A key lacks moderate_content, in REST and in GraphQL, or has
 * it.
 */
const VIEWERS = [null, ...READERS, 'key', 'graphql', 'moderator'] as const
type Viewer = (typeof VIEWERS)[number]

const service = useService()
let hub: Hub
/** Compares with the database, which does not happen automatically here. */
let repair: () => Promise<void>
const readers = new Map<string | null, { id: string; headers: Record<string, string> }>()
const plainKey = useKey(service)
let endpointId: string

beforeAll(async () => {
  hub = hubOf(service.app)
  repair = hub.repair.bind(hub)
  vi.spyOn(hub, 'repair').mockResolvedValue()
  const rateLimit = { perSecond: 100_000, burst: 100_000 }
  await setting({ reportThreshold: 2, rateLimit, stream: { maxStreamsPerReader: 1000 } })
  const policy = { maxAttempts: 10, breakerThreshold: 100, disableThreshold: 1000 }
  endpointId = (await post('/webhooks', { url: 'https://127.0.0.1:9/', policy })).json.id as string
  await service.app.db.query(VERIFY, [endpointId])
  for (const name of WRITERS) {
    const headers = await service.as(name)
    const { json } = await post('/discussions/by-external/greetings/comments', { body: 'Hello' }, headers)
    readers.set(name, { id: json.author.id as string, headers })
  }
})
afterAll(() => vi.restoreAllMocks())

const post = (path: string, body?: object, headers = {}): Promise<TestResponse> =>
  service.call('POST', path, { headers, ...(body === undefined ? {} : { body }) })
const setting = (body: object) => service.call('PATCH', '/settings', { body })

const VERIFY = unnamed(
  `UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL WHERE id = $1`,
)

interface Logged {
  seq: number
  id: string
  audience: string
  recipientId: string | null
  data: Json
}
const EVENTS = unnamed(
  'SELECT seq, id, audience, recipient_id AS "recipientId", data FROM events WHERE discussion_id = $1 ORDER BY seq',
)
const COMMENTS = unnamed(
  `SELECT id, status::text, revision, body, body_html AS "bodyHtml", author_id AS author FROM comments
   WHERE discussion_id = $1`,
)
interface Present {
  id: string
  status: string
  revision: number
  body: string | null
  bodyHtml: string | null
  author: string | null
}
type Comments = ReadonlyMap<string, Present>

/**
 * The model: an event as callers without moderate_content must see it, given the present comments.
 */
function toldNow({ data }: Logged, comments: Comments): Json {
  const then = data.comment
  if (then === undefined) return data
  const now = comments.get(then.id as string) ?? { status: 'deleted', revision: 0 }
  const isWaiting = now.status === 'pending' && then.status === 'pending'
  if (now.revision === then.revision && (now.status === 'approved' || isWaiting)) return data
  const isGone = now.status === 'deleted' || (then.status === 'approved' && now.status !== 'approved')
  const author = isGone ? null : then.author
  return { ...data, comment: { ...then, body: null, bodyHtml: null, author } }
}

/** The same for a viewer, to whom their own comment in shadow is approved. */
function toldTo(viewer: Viewer, event: Logged, comments: Comments): Json {
  const data = toldNow(event, comments)
  const isTheirs = event.recipientId !== null && event.recipientId === readers.get(viewer)?.id
  if (!isTheirs || data.comment?.status !== 'pending') return data
  return { ...data, comment: { ...data.comment, status: 'approved' } }
}

/** The same for a subscriber of GraphQL, who gets the comment as it is now. */
function toldByGraphql({ data }: Logged, comments: Comments): Json {
  if (data.comment === undefined) return null
  const id = data.comment.id as string
  const now = comments.get(id)
  if (now?.status === 'approved') return now
  const status = now === undefined || now.status === 'deleted' ? 'deleted' : 'withheld'
  return { id, status, revision: 1, body: null, bodyHtml: null, author: null }
}

/** What of the log is for a viewer, after a position. */
function audienceOf(viewer: Viewer, log: readonly Logged[], after: number): Logged[] {
  const readerId = readers.get(viewer)?.id
  const isOfKey = viewer === 'key' || viewer === 'graphql' || viewer === 'moderator'
  return log.filter(({ seq, audience, recipientId }) => {
    if (seq <= after) return false
    if (isOfKey) return audience !== 'own'
    const isTheirs = recipientId !== null && recipientId === readerId
    return audience === 'public' ? !isTheirs : audience !== 'tenant' && isTheirs
  })
}

/** A stream of some kind, as a test reads it: what its events carry, in the stream's own form. */
interface Reading {
  seqs(): number[]
  take(): Json[]
  close(): void
}

const bySse = (stream: StreamClient): Reading => ({
  seqs: () => stream.seqs,
  take: () => {
    const data = stream.events.map((event) => event.data.data)
    stream.all.length = 0
    return data
  },
  close: () => stream.close(),
})

/** Of a comment, what can be withdrawn and what cannot. */
function ofComment({ comment }: Json): Json {
  if (comment === undefined) return null
  const { id, status, revision, body, bodyHtml, author } = comment
  return { id, status, revision, body, bodyHtml, author: author?.id ?? null }
}

const byGraphql = (listener: GraphQLListener): Reading => ({
  seqs: () => {
    expect(listener.failure).toBeNull()
    return listener.received.map(({ seq }) => seq)
  },
  take: () => listener.received.splice(0).map(({ data }) => ofComment(data)),
  close: () => listener.close(),
})

const expectSeqs = (stream: Reading, wanted: readonly Logged[]): Promise<void> =>
  vi.waitFor(() => expect(stream.seqs()).toEqual(wanted.map(({ seq }) => seq)), { interval: 2, timeout: 30_000 })

// In a hush no messages are sent: its changes reach the streams by one comparison with the
// database at its end.
const KINDS = [
  ...(['create', 'create', 'reply', 'reply', 'reply', 'edit', 'edit', 'edit', 'delete', 'remove'] as const),
  ...(['approve', 'approve', 'reject', 'reject', 'pin', 'report', 'report'] as const),
  ...(['shadow-ban', 'unban', 'mode', 'hush', 'speak', 'erase'] as const),
] as const

interface Command {
  kind: (typeof KINDS)[number]
  reader: Writer
  target: number
  /** Who joins after it, and from which position, in per cent of the events; null for no one. */
  joins: { viewer: Viewer; from: number } | null
}

let texts = 0

/** A discussion, with a stream of each viewer from the beginning. */
class Run {
  readonly #id: string
  readonly #tickets = new Map<Viewer, string>()
  readonly #live = new Map<Viewer, Reading>()
  readonly #comments: string[] = []
  #mode = 0
  #hush: { mockRestore(): void } | undefined
  #hasErased = false
  /** The position up to which the attached streams were checked. */
  #seen = 0
  /** Events that have been replayed without their text. */
  withdrawn = 0

  constructor(id: string) {
    this.#id = id
  }

  async begin(): Promise<void> {
    for (const viewer of VIEWERS) {
      const { json } = await post('/stream/ticket', { discussionId: this.#id }, readers.get(viewer)?.headers)
      this.#tickets.set(viewer, json.ticket as string)
      // A subscription has no first frame that would show that it is open.
      if (viewer !== 'graphql') this.#live.set(viewer, await this.#open(viewer, 0))
    }
  }

  async do(command: Command): Promise<void> {
    const text = `text ${++texts}`
    this.#hasErased ||= command.kind === 'erase'
    const { status, json } = await this.#send(command, text)
    expect(status).toBeLessThan(500)
    if (status !== 201 || json?.body !== text) return
    this.#comments.push(json.id as string)
    readers.get(command.reader)!.id = json.author.id as string
  }

  #send({ kind, reader, target }: Command, text: string): Promise<TestResponse> {
    const { id: readerId, headers } = readers.get(reader)!
    const id = this.#comments[target % Math.max(this.#comments.length, 1)]
    const comments = `/discussions/${this.#id}/comments`
    if (kind === 'hush') return this.#beQuiet()
    if (kind === 'speak') return this.speak()
    if (kind === 'mode') return setting({ moderationMode: ['none', 'pre', 'post'][++this.#mode % 3] })
    if (kind === 'shadow-ban') return post(`/readers/${readerId}/ban`, { shadow: true })
    if (kind === 'unban') return post(`/readers/${readerId}/unban`)
    if (kind === 'erase') return service.call('DELETE', `/readers/${readers.get('dan')?.id}`)
    if (kind === 'create' || id === undefined) return post(comments, { body: text }, headers)
    if (kind === 'reply') return post(comments, { body: text, parentId: id }, headers)
    if (kind === 'edit') return service.call('PATCH', `/comments/${id}`, { body: { body: text }, headers })
    if (kind === 'delete') return service.call('DELETE', `/comments/${id}`, { headers })
    if (kind === 'remove') return service.call('DELETE', `/comments/${id}`)
    if (kind === 'report') return post(`/comments/${id}/report`, { reason: 'spam' }, headers)
    return post(`/comments/${id}/${kind}`)
  }

  #beQuiet(): Promise<TestResponse> {
    this.#hush ??= vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
    return service.call('GET', `/discussions/${this.#id}`)
  }

  async speak(): Promise<TestResponse> {
    this.#hush?.mockRestore()
    this.#hush = undefined
    await repair()
    return service.call('GET', `/discussions/${this.#id}`)
  }

  get isQuiet(): boolean {
    return this.#hush !== undefined
  }

  /**
   * Waits until the attached streams have all events of their audience, each once and in order,
   * without texts withdrawn by then. Live, keys get events as they were written.
   */
  async news({ isLive = false } = {}): Promise<void> {
    const [log, comments] = await this.#read()
    for (const [viewer, stream] of this.#live) {
      const wanted = audienceOf(viewer, log, this.#seen)
      await expectSeqs(stream, wanted)
      const told = stream.take()
      const isOfKey = viewer === 'key' || viewer === 'moderator'
      if (!isOfKey) expect(told).toEqual(wanted.map((event) => toldTo(viewer, event, comments)))
      else if (isLive) expect(told).toEqual(wanted.map(({ data }) => data))
    }
    this.#seen = log.length
  }

  /**
   * Waits until the attached streams have all events of their audience. When events arrive, and so
   * with which texts, is random.
   */
  async settle(): Promise<void> {
    const [log] = await this.#read()
    for (const [viewer, stream] of this.#live) {
      await expectSeqs(stream, audienceOf(viewer, log, this.#seen))
      stream.take()
    }
    this.#seen = log.length
  }

  /** Joins after a position, and reads up to now: exactly the model's events. */
  async join(viewer: Viewer, after: number): Promise<void> {
    const [log, comments] = await this.#read()
    const wanted = audienceOf(viewer, log, after)
    const stream = await this.#open(viewer, after)
    try {
      await expectSeqs(stream, wanted)
      const told = (event: Logged): Json => {
        if (viewer === 'graphql') return toldByGraphql(event, comments)
        return viewer === 'moderator' ? event.data : toldTo(viewer, event, comments)
      }
      expect(stream.take()).toEqual(wanted.map(told))
      this.withdrawn += wanted.filter((event) => toldNow(event, comments) !== event.data).length
    } finally {
      stream.close()
    }
  }

  joinAt({ viewer, from }: { viewer: Viewer; from: number }): Promise<void> {
    return this.join(viewer, Math.floor((this.#seen * from) / 100))
  }

  /** From every position: first from the memory of the process, then from the database. */
  async joinEverywhere(): Promise<void> {
    const all = Array.from({ length: this.#seen + 1 }, (_, after) => after)
    const query = vi.spyOn(service.app.db, 'query')
    await Promise.all(all.map((after) => this.join(VIEWERS[after % VIEWERS.length] ?? null, after)))
    for (const viewer of VIEWERS) await this.join(viewer, 0)
    // After an erasure, memory is dropped.
    if (!this.#hasErased) expect(query.mock.calls.map(([{ name }]) => name)).not.toContain('stream_read_events')
    query.mockRestore()
    hub.forgetEvents(service.tenant.id)
    await Promise.all(all.map((after) => this.join(VIEWERS[after % VIEWERS.length] ?? null, after)))
    for (const viewer of VIEWERS) await this.join(viewer, 0)
  }

  /**
   * Attempts what is due at the webhook endpoint; every other first attempt fails, and a second one
   * follows.
   */
  async attempt({ isRepeated = false } = {}): Promise<void> {
    const { query } = service.app.db
    const [log, comments] = await this.#read()
    const events = new Map(log.map((event) => [event.id, event]))
    const options = { leaseMs: 60_000, busy: [], perEndpoint: 1000, limit: 1000 }
    for (let { leases } = await leaseDeliveries(query, options); leases.length > 0;) {
      for (const lease of leases) {
        const event = events.get(lease.eventId)
        if (event !== undefined) this.#expectBody(lease, event, comments, isRepeated)
      }
      const rest = {
        at: new Date(),
        durationMs: 1,
        statusCode: null,
        responseSnippet: null,
        headers: null,
        wasSent: false,
        pauseMs: null,
      }
      const outcomes = leases.map((lease, n) => {
        const fails = lease.attemptCount === 0 && n % 2 === 0
        return { ...rest, lease, error: fails ? 'status 500' : null, retryInMs: fails ? 0 : null }
      })
      await recordAttempts(query, outcomes)
      leases = (await leaseDeliveries(query, options)).leases
    }
  }

  #expectBody(lease: Lease, event: Logged, comments: Comments, isRepeated: boolean): void {
    const { id, seq, data } = JSON.parse(bodyOf(lease) ?? '') as Logged
    expect([id, seq]).toEqual([event.id, event.seq])
    expect(event.audience).not.toBe('own')
    const isFirst = lease.attemptCount === 0 && !isRepeated
    // On a slow machine a first attempt may be late.
    const told = toldNow(event, comments)
    if (isFirst && JSON.stringify(data) === JSON.stringify(event.data)) return
    expect(data).toEqual(told)
    if (told !== event.data) this.withdrawn++
  }

  /** Has past deliveries delivered again, and lost events replayed, to the webhook endpoint. */
  async deliverAgain(): Promise<void> {
    await this.attempt()
    const [log, comments] = await this.#read()
    const events = new Map(log.map((event) => [event.id, event]))
    const at = `/webhooks/${endpointId}`
    const { data } = (await service.call('GET', `${at}/deliveries?limit=8`)).json
    for (const { id, eventId } of data as { id: string; eventId: string }[]) {
      const event = events.get(eventId)
      if (event === undefined) continue
      expect((await post(`${at}/deliveries/${id}/redeliver`)).status).toBe(202)
      const { body } = (await service.call('GET', `${at}/deliveries/${id}`)).json
      expect(JSON.parse(body as string).data).toEqual(toldNow(event, comments))
    }
    await this.attempt({ isRepeated: true })
    const LOSE = `DELETE FROM deliveries WHERE discussion_id = $1 AND seq % 2 = 0`
    await service.app.db.query(unnamed(LOSE), [this.#id])
    expect((await post(`${at}/replay`, { from: new Date(Date.now() - 600_000).toISOString() })).status).toBe(202)
    const HURRY = `UPDATE deliveries SET next_attempt_at = now() - make_interval(secs => 1) WHERE is_replay AND status = 'pending'`
    await service.app.db.query(unnamed(HURRY))
    await this.attempt({ isRepeated: true })
  }

  async end(): Promise<void> {
    await this.speak()
    for (const stream of this.#live.values()) stream.close()
  }

  async #read(): Promise<[Logged[], Comments]> {
    const log = await service.app.db.query<Logged>(EVENTS, [this.#id])
    const rows = await service.app.db.query<Present>(COMMENTS, [this.#id])
    return [log, new Map(rows.map((row) => [row.id, row]))]
  }

  async #open(viewer: Viewer, after: number): Promise<Reading> {
    if (viewer === 'graphql') {
      const variables = { discussionId: this.#id, lastEventId: String(after) }
      return byGraphql(subscribe({ url: service.url, headers: plainKey, variables }))
    }
    const isKey = viewer === 'key' || viewer === 'moderator'
    const headers = viewer === 'key' ? plainKey : viewer === 'moderator' ? { 'x-api-key': service.apiKey } : {}
    const ticket = isKey ? '' : `&ticket=${this.#tickets.get(viewer)}`
    const stream = await openStream(`${service.url}/api/v1/stream/${this.#id}?lastEventId=${after}${ticket}`, headers)
    expect(stream.status).toBe(200)
    return bySse(stream)
  }
}

const command: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom(...KINDS),
  reader: fc.constantFrom(...WRITERS),
  target: fc.nat(8),
  joins: fc.option(fc.record({ viewer: fc.constantFrom(...VIEWERS), from: fc.nat(100) }), { freq: 3 }),
})
const commands = fc.array(command, { minLength: 15, maxLength: 40, size: 'max' })

/** With all readers unbanned. */
async function newDiscussion(): Promise<string> {
  await setting({ moderationMode: 'none' })
  for (const name of WRITERS) await post(`/readers/${readers.get(name)?.id}/unban`)
  return (await post('/discussions', { externalId: newId() })).json.id as string
}

/** In a new discussion. Returns how often something was sent without its text. */
async function inNewDiscussion(work: (run: Run) => Promise<void>): Promise<number> {
  const run = new Run(await newDiscussion())
  try {
    await run.begin()
    await work(run)
  } finally {
    await run.end()
  }
  return run.withdrawn
}

test(
  'without moderate_content, no stream, GraphQL or webhook shows again what was edited away, rejected or deleted',
  { timeout: 600_000 },
  async () => {
    let withdrawn = 0
    // With fewer, nothing was tested.
    const enough = 20
    const property = fc.asyncProperty(commands, async (history) => {
      withdrawn += await inNewDiscussion(async (run) => {
        for (const each of history) {
          const wasQuiet = run.isQuiet
          await run.do(each)
          if (each.target % 3 === 0) await run.attempt()
          if (run.isQuiet) continue
          // An erasure rewrites the log itself.
          await run.news({ isLive: !wasQuiet && each.kind !== 'erase' })
          if (each.joins !== null) await run.joinAt(each.joins)
        }
        await run.speak()
        await run.news()
        await run.joinEverywhere()
        await run.deliverAgain()
      })
    })
    // A history of the seed alone may withdraw nothing.
    const examples = fc.sample(commands, { seed: 2, numRuns: 1 }).map((history): [Command[]] => [history])
    await fc.assert(property, { examples, numRuns: effort(26, 2) })
    expect(withdrawn).toBeGreaterThan(enough)
  },
)

test('the same after everyone has written and moderated at once', { timeout: 600_000 }, async () => {
  let withdrawn = 0
  const enough = 10
  const property = fc.asyncProperty(fc.array(commands, { minLength: 3, maxLength: 3 }), async (histories) => {
    withdrawn += await inNewDiscussion(async (run) => {
      const write = async (history: readonly Command[]): Promise<void> => {
        // A hush affects everyone, and an erasure under way may be refused while its reader
        // writes.
        for (const each of history) if (each.kind !== 'hush' && each.kind !== 'erase') await run.do(each)
      }
      await Promise.all(histories.map(write))
      await run.settle()
      await run.joinEverywhere()
      await run.deliverAgain()
    })
  })
  await fc.assert(property, { numRuns: effort(5, 1) })
  expect(withdrawn).toBeGreaterThan(enough)
})
