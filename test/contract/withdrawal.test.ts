import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { statement } from '../../src/core/sql.ts'
import { type Hub, hubOf } from '../../src/domains/stream/hub.ts'
import { startService, type TestResponse, type TestService } from '../harness/service.ts'
import { openStream, type Received, type StreamClient } from '../harness/stream-client.ts'

const READERS = ['ann', 'bob', 'cem'] as const
type ReaderName = (typeof READERS)[number]
/** A ticket names a reader, or nobody. */
const VIEWERS = [null, ...READERS]
type Viewer = (typeof VIEWERS)[number]

interface Reader {
  id: string
  headers: Record<string, string>
}

let service: TestService
let hub: Hub
const readers = new Map<Viewer, Reader>()

beforeAll(async () => {
  service = await startService({ worker: false })
  hub = hubOf(service.app)
  await setting({ reportThreshold: 2, stream: { maxStreamsPerReader: 1000 } })
  for (const name of READERS) {
    const headers = await service.as(name)
    const { json } = await post('/discussions/by-external/greetings/comments', { body: 'Hello' }, headers)
    readers.set(name, { id: json.author.id as string, headers })
  }
})
afterAll(() => service.close())

const post = (path: string, body?: object, headers = {}): Promise<TestResponse> =>
  service.call('POST', path, { headers, ...(body === undefined ? {} : { body }) })
const setting = (body: object) => service.call('PATCH', '/settings', { body })

interface Logged {
  seq: number
  audience: string
  recipientId: string | null
}
const EVENTS = statement(
  'test_withdrawal_events',
  'SELECT seq, audience, recipient_id AS "recipientId" FROM events WHERE discussion_id = $1 ORDER BY seq',
)
const IN_VIEW = statement(
  'test_withdrawal_in_view',
  `SELECT id, shown_revision AS "shownRevision" FROM comments WHERE discussion_id = $1 AND status = 'approved'`,
)

// In a hush no news goes out and nothing is repaired: what happens in it reaches the streams by one repair at its end.
const KINDS = [
  ...(['create', 'create', 'reply', 'reply', 'reply', 'edit', 'edit', 'delete', 'remove'] as const),
  ...(['approve', 'approve', 'reject', 'reject', 'pin', 'report', 'report'] as const),
  ...(['shadow-ban', 'unban', 'mode', 'hush', 'speak'] as const),
] as const

interface Command {
  kind: (typeof KINDS)[number]
  reader: ReaderName
  target: number
  /** Who joins after it, and from where, in per cent of what there is; null for nobody. */
  joins: { viewer: Viewer; from: number } | null
}

/** A text is known by its mark, in whatever form it stands. */
const MARK = /mark\d+end/g
let marks = 0

/** A discussion, with a stream of everybody attached from the beginning. */
class Run {
  readonly #id: string
  readonly #tickets = new Map<Viewer, string>()
  readonly #live = new Map<Viewer, StreamClient>()
  /** With a key: it sees everything, and so tells how far the process is. */
  #backend: StreamClient | undefined
  readonly #comments: string[] = []
  /** Of which comment a mark is a text, and which one. */
  readonly #texts = new Map<string, { id: string; revision: number }>()
  #mode = 0
  #hush: { mockRestore(): void }[] = []
  /** Up to where the attached streams have been looked at. */
  #seen = 0
  /** Events that have been replayed without their text. */
  withdrawn = 0

  constructor(id: string) {
    this.#id = id
  }

  async begin(): Promise<void> {
    this.#backend = await openStream(`${service.url}/api/v1/stream/${this.#id}`, { 'x-api-key': service.apiKey })
    for (const viewer of VIEWERS) {
      const { json } = await post('/stream/ticket', { discussionId: this.#id }, readers.get(viewer)?.headers)
      this.#tickets.set(viewer, json.ticket as string)
      this.#live.set(viewer, await this.#open(viewer, 0))
    }
  }

  async do(command: Command): Promise<void> {
    const text = `mark${++marks}end`
    const { status, json } = await this.#send(command, text)
    expect(status).toBeLessThan(500)
    if (json?.body !== text) return
    this.#texts.set(text, { id: json.id, revision: json.revision })
    if (status === 201) this.#comments.push(json.id as string)
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
    if (kind === 'create' || id === undefined) return post(comments, { body: text }, headers)
    if (kind === 'reply') return post(comments, { body: text, parentId: id }, headers)
    if (kind === 'edit') return service.call('PATCH', `/comments/${id}`, { body: { body: text }, headers })
    if (kind === 'delete') return service.call('DELETE', `/comments/${id}`, { headers })
    if (kind === 'remove') return service.call('DELETE', `/comments/${id}`)
    if (kind === 'report') return post(`/comments/${id}/report`, { reason: 'spam' }, headers)
    return post(`/comments/${id}/${kind}`)
  }

  #beQuiet(): Promise<TestResponse> {
    if (!this.isQuiet) {
      this.#hush = [
        vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined),
        vi.spyOn(hub, 'repair').mockResolvedValue(),
      ]
    }
    return service.call('GET', `/discussions/${this.#id}`)
  }

  async speak(): Promise<TestResponse> {
    for (const spy of this.#hush.splice(0)) spy.mockRestore()
    await hub.repair()
    return service.call('GET', `/discussions/${this.#id}`)
  }

  get isQuiet(): boolean {
    return this.#hush.length > 0
  }

  /** The attached streams come to have all of their audience, each once and in order. What is new in it. */
  async news(): Promise<Received[]> {
    const log = await service.app.db.query<Logged>(EVENTS, [this.#id])
    await vi.waitFor(() => expect(this.#backend?.seqs.at(-1) ?? 0).toBe(log.length), { interval: 2, timeout: 5000 })
    for (const [viewer, stream] of this.#live) await expectAll(stream, log, viewer, this.#seen)
    this.#seen = log.length
    return [...this.#live.values()].flatMap((stream) => stream.all.splice(0))
  }

  async expectInView(events: readonly Received[]): Promise<void> {
    const rows = await service.app.db.query<{ id: string; shownRevision: number }>(IN_VIEW, [this.#id])
    const inView = new Map(rows.map(({ id, shownRevision }) => [id, shownRevision]))
    const isInView = (mark: string): boolean => {
      const { id = '', revision = 0 } = this.#texts.get(mark) ?? {}
      return revision >= (inView.get(id) ?? Infinity)
    }
    const sent = events.flatMap(({ data }) => JSON.stringify(data).match(MARK) ?? [])
    expect(sent.filter((mark) => !isInView(mark))).toEqual([])
  }

  /** Joins after a position, and reads up to now. */
  async join(viewer: Viewer, after: number): Promise<void> {
    const log = await service.app.db.query<Logged>(EVENTS, [this.#id])
    const stream = await this.#open(viewer, after)
    try {
      await expectAll(stream, log, viewer, after)
      expect(stream.connected?.data).toMatchObject({ complete: true, replayed: stream.events.length })
      await this.expectInView(stream.events)
      const isWithdrawn = ({ event, data }: Received) =>
        event === 'comment_created' && data.data.comment.body === null && data.data.comment.bodyHtml === null
      this.withdrawn += stream.events.filter(isWithdrawn).length
    } finally {
      stream.close()
    }
  }

  joinAt({ viewer, from }: { viewer: Viewer; from: number }): Promise<void> {
    return this.join(viewer, Math.floor((this.#seen * from) / 100))
  }

  /** From every position that there is: first out of the memory of the process, then from the database. */
  async joinEverywhere(): Promise<void> {
    const all = Array.from({ length: this.#seen + 1 }, (_, after) => after)
    const query = vi.spyOn(service.app.db, 'query')
    await Promise.all(all.map((after) => this.join(VIEWERS[after % VIEWERS.length] ?? null, after)))
    for (const viewer of VIEWERS) await this.join(viewer, 0)
    expect(query.mock.calls.filter(([{ name }]) => name === 'stream_read_events')).toEqual([])
    query.mockRestore()
    hub.forgetEvents(service.tenant.id)
    await Promise.all(all.map((after) => this.join(VIEWERS[after % VIEWERS.length] ?? null, after)))
    for (const viewer of VIEWERS) await this.join(viewer, 0)
  }

  async end(): Promise<void> {
    await this.speak()
    for (const stream of [this.#backend, ...this.#live.values()]) stream?.close()
  }

  async #open(viewer: Viewer, after: number): Promise<StreamClient> {
    const query = `ticket=${this.#tickets.get(viewer)}&lastEventId=${after}`
    const stream = await openStream(`${service.url}/api/v1/stream/${this.#id}?${query}`)
    expect(stream.status).toBe(200)
    return stream
  }
}

async function expectAll(stream: StreamClient, log: readonly Logged[], viewer: Viewer, after: number): Promise<void> {
  const readerId = readers.get(viewer)?.id
  const wanted = log.filter(
    ({ seq, audience, recipientId }) =>
      seq > after && (audience === 'public' || (audience === 'recipient' && recipientId === readerId)),
  )
  const seqs = wanted.map(({ seq }) => seq)
  await vi.waitFor(() => expect(stream.seqs).toEqual(seqs), { interval: 2, timeout: 5000 })
}

const command: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom(...KINDS),
  reader: fc.constantFrom(...READERS),
  target: fc.nat(8),
  joins: fc.option(fc.record({ viewer: fc.constantFrom(...VIEWERS), from: fc.nat(100) }), { freq: 3 }),
})
const commands = fc.array(command, { minLength: 15, maxLength: 40, size: 'max' })

/** With all readers in good standing. */
async function newDiscussion(): Promise<string> {
  await setting({ moderationMode: 'none' })
  for (const name of READERS) await post(`/readers/${readers.get(name)?.id}/unban`)
  return (await post('/discussions', { externalId: `discussion-${++marks}` })).json.id as string
}

/** In a discussion of its own. What was replayed without its text. */
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
  'no public stream is sent the text of a comment that has left the view by then, however it joins',
  { timeout: 120_000 },
  async () => {
    let withdrawn = 0
    // So many, however slow the machine: else nothing was tried.
    const enough = 20
    const until = Date.now() + 12_000
    const property = fc.asyncProperty(commands, async (history) => {
      if (Date.now() > until && withdrawn > enough) return
      withdrawn += await inNewDiscussion(async (run) => {
        for (const each of history) {
          await run.do(each)
          if (run.isQuiet) continue
          await run.expectInView(await run.news())
          if (each.joins !== null) await run.joinAt(each.joins)
        }
        await run.speak()
        await run.expectInView(await run.news())
        await run.joinEverywhere()
      })
    })
    await fc.assert(property, { numRuns: 25 })
    expect(withdrawn).toBeGreaterThan(enough)
  },
)

test('nor afterwards, where everybody has written and moderated at once', { timeout: 120_000 }, async () => {
  let withdrawn = 0
  const enough = 10
  const until = Date.now() + 6000
  const property = fc.asyncProperty(fc.array(commands, { minLength: 3, maxLength: 3 }), async (histories) => {
    if (Date.now() > until && withdrawn > enough) return
    withdrawn += await inNewDiscussion(async (run) => {
      const write = async (history: readonly Command[]): Promise<void> => {
        for (const each of history) if (each.kind !== 'hush') await run.do(each)
      }
      await Promise.all(histories.map(write))
      await run.news()
      await run.joinEverywhere()
    })
  })
  await fc.assert(property, { numRuns: 5 })
  expect(withdrawn).toBeGreaterThan(enough)
})

test('a long repair and a long replay hold no text of what was rejected or deleted at their end; with a key they do', async () => {
  const discussionId = await newDiscussion()
  const path = `${service.url}/api/v1/stream/${discussionId}`
  const { headers, id: readerId } = readers.get('ann')!
  const { ticket } = (await post('/stream/ticket', { discussionId }, headers)).json
  const byTicket = () => openStream(`${path}?ticket=${ticket}&lastEventId=0`)
  const live = await byTicket()
  const quiet = [
    vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined),
    vi.spyOn(hub, 'repair').mockResolvedValue(),
  ]
  const write = async (reader: ReaderName, parentId?: string): Promise<string> => {
    // Sent in pieces of 64 KiB: the texts and their end are in several.
    const body = { body: `${++marks} ${'long '.repeat(1998)}`, parentId }
    return (await post(`/discussions/${discussionId}/comments`, body, readers.get(reader)?.headers)).json.id as string
  }
  const root = await write('ann')
  const replies = [await write('bob', root), await write('bob', root), await write('bob', root)]
  const [rejected, deleted] = replies
  const back = await write('cem')
  await post(`/comments/${rejected}/reject`)
  await service.call('DELETE', `/comments/${deleted}`)
  await post(`/comments/${back}/reject`)
  await post(`/comments/${back}/approve`)
  for (const spy of quiet) spy.mockRestore()
  await hub.repair()
  const late = await byTicket()
  const backend = await openStream(`${path}?lastEventId=0`, { 'x-api-key': service.apiKey })
  for (const stream of [live, late, backend]) {
    await vi.waitFor(() => expect(stream.seqs).toEqual(Array.from({ length: 12 }, (_, index) => index + 1)))
    const written = stream.events.filter(({ event }) => /^(comment_created|notification_reply)$/.test(event ?? ''))
    const isPublic = stream !== backend
    for (const { data } of written) {
      const { id, body, bodyHtml, author, status } = data.data.comment
      const isHidden = isPublic && [rejected, deleted].includes(id)
      expect([body, bodyHtml].map((text) => text === null)).toEqual([isHidden, isHidden])
      expect(author === null).toBe(isPublic && id === deleted)
      expect(status).toBe('approved')
    }
    expect(written.map(({ data }) => data.data.comment.id)).toEqual([root, ...replies.flatMap((id) => [id, id]), back])
    expect(written.filter(({ event }) => event === 'notification_reply').map(({ data }) => data.data)).toMatchObject(
      replies.map(() => ({ parentCommentId: root, recipient: { readerId } })),
    )
    stream.close()
  }
})

test('a text that was reported out of view stays away where its author has written another one, which was approved', async () => {
  const discussionId = await newDiscussion()
  const [author, ...others] = READERS
  const { headers } = readers.get(author)!
  const { json } = await post(`/discussions/${discussionId}/comments`, { body: 'An insult' }, headers)
  const id = json.id as string
  for (const each of others) await post(`/comments/${id}/report`, { reason: 'abuse' }, readers.get(each)?.headers)
  await service.call('PATCH', `/comments/${id}`, { body: { body: 'An apology' }, headers })
  expect((await post(`/comments/${id}/approve`, { revision: 2 })).json).toMatchObject({
    status: 'approved',
    revision: 2,
  })
  await service.call('PATCH', `/comments/${id}`, { body: { body: 'A better apology' }, headers })
  const { ticket } = (await post('/stream/ticket', { discussionId })).json
  const told = async (): Promise<unknown[]> => {
    const stream = await openStream(`${service.url}/api/v1/stream/${discussionId}?ticket=${ticket}&lastEventId=0`)
    await vi.waitFor(() => expect(stream.seqs).toEqual([1, 2, 4, 5]))
    stream.close()
    return stream.events.map(({ data }) => data.data.comment.body)
  }
  const texts = [null, null, 'An apology', 'A better apology']
  expect(await told()).toEqual(texts)
  hub.forgetEvents(service.tenant.id)
  expect(await told()).toEqual(texts)
})
