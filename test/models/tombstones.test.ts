import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'

import type { Comment, StreamEvent } from '../../src/clients/browser/stream.ts'
import { applyEvent } from '../../src/clients/widget/events.ts'
import { ThreadState, TOP } from '../../src/clients/widget/state.ts'
import { effort } from '../harness/effort.ts'
import { byGraphql, byRest, reachableBy, type ReadPage } from '../harness/reachable.ts'
import { useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

// A comment that is not approved stands for its replies in view as a tombstone.

const service = useService()
const plain = useKey(service)

beforeAll(async () => {
  await service.ok('PATCH', '/settings', {
    suspectWords: ['suspect'],
    reportThreshold: 1,
    rateLimit: { perSecond: 100_000, burst: 100_000 },
  })
})

const READERS = ['ann', 'bob', 'cay'] as const
type Reader = (typeof READERS)[number]

const GROWTH = ['reply', 'reply', 'reply', 'hold', 'hold', 'create'] as const
const JUDGEMENTS = [
  'approve',
  'approve',
  'approve',
  'reject',
  'reject',
  'suspect',
  'report',
  'delete',
  'remove',
] as const
const RARE = ['edit', 'ban', 'shadow', 'unban', 'erase', 'erase_rows', 'pin', 'react'] as const

interface Step {
  kind: (typeof GROWTH | typeof JUDGEMENTS | typeof RARE)[number]
  reader: Reader
  target: number
}

const stepOf = (...kinds: { weight: number; arbitrary: fc.Arbitrary<Step['kind']> }[]): fc.Arbitrary<Step> =>
  fc.record({ kind: fc.oneof(...kinds), reader: fc.constantFrom(...READERS), target: fc.nat(30) })

const growth = { weight: 3, arbitrary: fc.constantFrom(...GROWTH) }
/** A thread of some comments below each other, and then what happens to them. */
const threadGrows = fc.array(stepOf(growth), { minLength: 4, maxLength: 8, size: 'max' })
const happens = (minLength: number, maxLength: number): fc.Arbitrary<Step[]> => {
  const kinds = [
    growth,
    { weight: 12, arbitrary: fc.constantFrom(...JUDGEMENTS) },
    { weight: 1, arbitrary: fc.constantFrom(...RARE) },
  ]
  return fc.array(stepOf(...kinds), { minLength, maxLength, size: 'max' })
}

let pages = 0

/** One discussion with the comments that were made in it, in any state. */
class Thread {
  readonly ids: string[] = []
  id = ''
  readonly #name = `thread-${pages++}`

  async begin(): Promise<void> {
    this.id = (await service.call('POST', '/discussions', { body: { externalId: this.#name } })).json.id as string
  }

  async run({ kind, reader, target }: Step): Promise<void> {
    const id = this.ids[target % Math.max(1, this.ids.length)] ?? ''
    const headers = { ...plain, ...(await service.as(`${reader}-${this.#name}`)) }
    const post = (path: string, body?: object, as?: Record<string, string>) =>
      service.call('POST', path, { ...(body && { body }), ...(as && { headers: as }) })
    if (kind === 'create' || kind === 'reply' || kind === 'hold') {
      // Replies that are held can be approved below a comment that is withheld by then.
      const body = `${kind === 'hold' ? 'suspect' : 'text'} ${this.ids.length}`
      const above = this.ids.at(-1 - (target % 3))
      const parent = kind === 'create' || above === undefined ? {} : { parentId: above }
      const { status, json } = await post(`/discussions/${this.id}/comments`, { body, ...parent }, headers)
      if (status === 201) this.ids.push(json.id as string)
      return
    }
    if (id === '') return
    if (kind === 'edit' || kind === 'suspect') {
      const body = `${kind === 'suspect' ? 'suspect' : 'other'} ${Math.random()}`
      const own = await this.#asAuthor(id)
      await service.call('PATCH', `/comments/${id}`, { body: { body }, headers: own })
    } else if (kind === 'delete') await service.call('DELETE', `/comments/${id}`, { headers: await this.#asAuthor(id) })
    else if (kind === 'remove') await service.call('DELETE', `/comments/${id}`)
    else if (kind === 'report') await post(`/comments/${id}/report`, { reason: 'spam' }, headers)
    else if (kind === 'react') await post(`/comments/${id}/reactions`, { type: 'like' }, headers)
    else if (kind === 'approve' || kind === 'reject' || kind === 'pin') await post(`/comments/${id}/${kind}`)
    else await this.#treat(kind, (await this.#authorOf(id))?.id ?? '')
  }

  async #treat(kind: 'ban' | 'shadow' | 'unban' | 'erase' | 'erase_rows', readerId: string): Promise<void> {
    if (kind === 'unban') await service.call('POST', `/readers/${readerId}/unban`)
    else if (kind === 'ban' || kind === 'shadow') {
      await service.call('POST', `/readers/${readerId}/ban`, { body: { shadow: kind === 'shadow' } })
    } else {
      const erasureMode = kind === 'erase' ? 'anonymise' : 'delete'
      await service.call('PATCH', '/settings', { body: { erasureMode } })
      await service.call('DELETE', `/readers/${readerId}`)
    }
  }

  async #authorOf(id: string): Promise<Comment['author']> {
    return ((await service.call('GET', `/comments/${id}`)).json.author ?? null) as Comment['author']
  }

  async #asAuthor(id: string): Promise<Record<string, string>> {
    const author = await this.#authorOf(id)
    return { ...plain, ...(await service.as(author?.externalId ?? 'nobody')) }
  }

  read = async (path: string) => (await service.call('GET', path, { headers: plain })).json

  async check(): Promise<Map<string, Comment>> {
    const everything = await reachableBy(byRest(service, this.id, 'limit=100', plain))
    const others: ReadPage[] = [
      ...['newest', 'oldest', 'top'].map((sort) => byRest(service, this.id, `limit=2&sort=${sort}`, plain)),
      byRest(service, this.id, 'limit=3&replies=2', plain),
      // Keys that may moderate fill public pages, too.
      byRest(service, this.id, 'limit=100', {}),
      ...['newest', 'top'].map((sort) => byGraphql(service, this.id, sort, plain)),
    ]
    for (const read of others) expect(sorted(await reachableBy(read))).toEqual(sorted(everything))
    await this.#checkCounts(everything)
    await this.#checkEach(everything)
    await this.#checkOwn()
    return everything
  }

  /** An author finds their own comment in each list as by its id, not as a tombstone. */
  async #checkOwn(): Promise<void> {
    const headers = { ...plain, ...(await service.as(`ann-${this.#name}`)) }
    const everything = await reachableBy(byRest(service, this.id, 'limit=100', headers))
    for (const read of [
      byRest(service, this.id, 'limit=2&sort=top', headers),
      byGraphql(service, this.id, 'oldest', headers),
    ]) {
      expect(sorted(await reachableBy(read))).toEqual(sorted(everything))
    }
    const { json } = await service.call('GET', '/readers/me/comments?limit=100', { headers })
    const own = new Map((json.data as Comment[]).map((comment) => [comment.id, comment]))
    for (const [id, listed] of everything) {
      expect((await service.call('GET', `/comments/${id}`, { headers })).json).toEqual(listed)
      // A list over several pages also says which.
      if (own.has(id)) expect(own.get(id)).toMatchObject(listed)
    }
  }

  async #checkCounts(everything: ReadonlyMap<string, Comment>): Promise<void> {
    const all = [...everything.values()]
    const { commentCount } = await this.read(`/discussions/${this.id}`)
    expect(commentCount).toBe(all.filter(({ status }) => status === 'approved').length)
    const counts = await service.call('POST', '/discussions/counts', { body: { externalIds: [this.#name] } })
    expect(counts.json.data).toMatchObject([{ commentCount }])
    for (const { id, replyCount, status } of all) {
      expect(replyCount).toBe(all.filter(({ parentId }) => parentId === id).length)
      if (status !== 'approved') expect(replyCount).toBeGreaterThan(0)
    }
  }

  /** By its id a comment is what the list shows, or not found. A tombstone takes no reply. */
  async #checkEach(everything: ReadonlyMap<string, Comment>): Promise<void> {
    for (const id of this.ids) {
      const seen = await this.read(`/comments/${id}`)
      const listed = everything.get(id)
      if (listed === undefined) expect(seen.code).toBe('not_found')
      else expect(seen).toEqual(listed)
      if (listed === undefined || listed.status === 'approved') continue
      expect(listed.status).toMatch(/^(withheld|deleted)$/)
      const nothing = { author: null, body: null, bodyHtml: null, pinnedAt: null, editedAt: null, revision: 1 }
      expect(listed).toMatchObject(nothing)
      const headers = { ...plain, ...(await service.as('a visitor')) }
      const reply = { body: { body: 'text', parentId: id }, headers }
      expect((await service.call('POST', `/discussions/${this.id}/comments`, reply)).status).toBe(404)
    }
  }
}

const sorted = (found: ReadonlyMap<string, Comment>): Comment[] =>
  [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))

const PUBLIC_EVENTS = unnamed(
  `SELECT seq, type, actor, data FROM events WHERE discussion_id = $1 AND seq > $2 AND audience = 'public' ORDER BY seq`,
)

/** What the widget shows: it reads one page, hears of events, and then opens what is left. */
class Page {
  readonly state: ThreadState
  readonly #read: (parentId: string, cursor: string | null) => ReturnType<ReadPage>
  #seq = 0

  constructor(thread: Thread, sort: 'newest' | 'oldest') {
    this.state = new ThreadState(sort)
    const [top, below] = [`limit=2&replies=3&sort=${sort}`, 'limit=2&sort=oldest'].map((query) =>
      byRest(service, thread.id, query, plain),
    ) as [ReadPage, ReadPage]
    this.#read = (parentId, cursor) =>
      parentId === TOP ? top({ parentId: null, cursor }) : below({ parentId, cursor })
  }

  async open({ commentCount, lastEventId }: { commentCount: number; lastEventId: string }): Promise<void> {
    this.#seq = Number(lastEventId)
    this.state.exactCount = commentCount
    await this.#more(TOP)
  }

  async #more(parentId: string): Promise<void> {
    this.state.addPage(parentId, await this.#read(parentId, this.state.list(parentId).cursor))
  }

  async hear(thread: Thread): Promise<void> {
    const events = await service.app.db.query<StreamEvent>(PUBLIC_EVENTS, [thread.id, this.#seq])
    for (const event of events) applyEvent(this.state, event, '')
    this.#seq = events.at(-1)?.seq ?? this.#seq
  }

  /** All that it shows in the end, by id. Comments that left the view may leave their mark. */
  async shown(parentId = TOP): Promise<Map<string, object>> {
    const { state } = this
    const list = state.list(parentId)
    while (!list.isLoaded || list.hasMore) await this.#more(parentId)
    state.showWaiting(list, Infinity)
    const found = new Map<string, object>()
    for (const id of list.ids) {
      const comment = state.comments.get(id)
      if (comment === undefined || (comment.status !== 'approved' && comment.replyCount === 0)) continue
      expect(found.has(id)).toBe(false)
      found.set(id, { ...comment, viewerReaction: null, decision: null })
      if (comment.replyCount > 0) for (const [below, each] of await this.shown(id)) found.set(below, each)
    }
    return found
  }
}

// Events are the same for all readers.
const told = (everything: ReadonlyMap<string, Comment>): object[] =>
  sorted(everything).map((comment) => ({ ...comment, viewerReaction: null, decision: null }))

test(
  'a reader reaches by paging exactly what the counts count, whatever happens to the comments',
  { timeout: 600_000 },
  async () => {
    const hold = async (steps: Step[]): Promise<void> => {
      const thread = new Thread()
      await thread.begin()
      for (const [n, each] of steps.entries()) {
        await thread.run(each)
        if (n % 6 === 5) await thread.check()
      }
      await thread.check()
    }
    const history = fc.tuple(threadGrows, happens(10, 30)).map((parts) => parts.flat())
    await fc.assert(fc.asyncProperty(history, hold), { numRuns: effort(60, 1) })
  },
)

test('what the widget makes of the events is what a new page shows', { timeout: 600_000 }, async () => {
  const hold = async ([first, then, sort]: [Step[], Step[][], 'newest' | 'oldest']): Promise<void> => {
    const thread = new Thread()
    await thread.begin()
    for (const each of first) await thread.run(each)
    const live = new Page(thread, sort)
    await live.open(await thread.read(`/discussions/${thread.id}`))
    for (const steps of then) {
      for (const each of steps) await thread.run(each)
      await live.hear(thread)
      const { commentCount } = await thread.read(`/discussions/${thread.id}`)
      expect(live.state.count).toBe(commentCount)
    }
    const everything = await reachableBy(byRest(service, thread.id, 'limit=100', plain))
    const shown = [...(await live.shown())].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, comment]) => comment)
    expect(shown).toEqual(told(everything))
  }
  const history = fc.tuple(
    fc.tuple(threadGrows, happens(0, 10)).map((parts) => parts.flat()),
    fc.array(happens(1, 12), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('newest' as const, 'oldest' as const),
  )
  await fc.assert(fc.asyncProperty(history, hold), { numRuns: effort(160, 4) })
})
