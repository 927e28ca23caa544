import { createClient, type Client } from 'graphql-sse'
import { afterEach, describe, expect, test, vi } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'
import { subscriptionsOf } from '../../src/api/graphql-sse/subscriptions.ts'
import { callsTo } from '../harness/calls.ts'
import { effort } from '../harness/effort.ts'
import { randomOf } from '../harness/random.ts'
import { useKey, useService } from '../harness/service.ts'

// An event brings its comment as the subscriber may read it now, so that a client that keeps
// comments by their ids is right after each event.

const service = useService()
const plain = useKey(service)
const clients: Client<boolean>[] = []

afterEach(async () => {
  clients.splice(0).forEach((client) => client.dispose())
  await vi.waitFor(() => expect(subscriptionsOf(service.app).size).toBe(0))
})

const FIELDS = `id status body bodyHtml author { externalId } revision editedAt pinnedAt deletedAt replyCount
  reactionCounts viewerReaction reactionGroups { type count viewerHasReacted }`
const EVENTS = `subscription ($discussionId: ID!, $lastEventId: String) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
    seq type data {
      ... on CommentEventData { comment { ${FIELDS} } tombstones { ${FIELDS} } }
      ... on ReactionEventData { comment { ${FIELDS} } }
      ... on ReplyNotificationData { comment { ${FIELDS} } }
      ... on DiscussionEventData { discussion { id state commentCount } }
    }
  }
}`

interface Shown {
  id: string
  status: string
  [name: string]: unknown
}

interface Event {
  seq: number
  type: string
  data: { comment?: Shown | null; tombstones?: Shown[]; discussion?: { state: string; commentCount: number } }
}

/** The events that a subscriber gets, from a position on. */
function follow(
  discussionId: string,
  headers: Record<string, string> = {},
  lastEventId = '0',
  query = EVENTS,
  singleConnection = false,
): Event[] {
  const client = createClient<boolean>({
    singleConnection,
    url: `${service.url}/graphql/stream`,
    headers: { 'x-api-key': service.apiKey, ...headers },
    retryAttempts: 0,
  })
  clients.push(client)
  const events: Event[] = []
  client.subscribe(
    { query, variables: { discussionId, lastEventId } },
    {
      next: ({ data, errors }) => {
        expect(errors).toBeUndefined()
        events.push((data as { discussionEvents: Event }).discussionEvents)
      },
      error: () => undefined,
      complete: () => undefined,
    },
  )
  return events
}

const upTo = (events: readonly Event[], seq: number): Promise<void> =>
  vi.waitFor(() => expect(events.at(-1)?.seq).toBe(seq))

const { ok } = callsTo(() => service)
const send = async (method: string, path: string, body?: object, reader?: string): Promise<{ id: string }> =>
  ok(method, path, body, reader === undefined ? {} : await service.as(reader))

const post = (discussionId: string, reader: string, more: object = {}): Promise<{ id: string }> =>
  send('POST', `/discussions/${discussionId}/comments`, { body: 'Hello', ...more }, reader)

test('a replay brings the comment as it is now, at once after the event that changed it', async () => {
  const discussionId = await service.newDiscussion()
  const first = follow(discussionId)
  const { id } = await post(discussionId, 'ann')
  await upTo(first, 1)
  expect(first[0]?.data.comment).toMatchObject({ body: 'Hello', revision: 1, author: { externalId: 'ann' } })
  await send('PATCH', `/comments/${id}`, { body: 'Later' }, 'ann')
  await upTo(first, 2)
  const second = follow(discussionId)
  await upTo(second, 2)
  for (const { data } of [first[1], ...second].flatMap((event) => event ?? [])) {
    expect(data.comment).toMatchObject({ id, body: 'Later', revision: 2 })
  }
})

test('reaction_toggled brings the comment with its groups, as its viewer has them', async () => {
  const discussionId = await service.newDiscussion()
  const { id } = await post(discussionId, 'ann')
  const bob = await service.as('bob')
  const [anybody, bobs] = [follow(discussionId, plain, '1'), follow(discussionId, { ...plain, ...bob }, '1')]
  await send('PUT', `/comments/${id}/reaction`, { type: 'love' }, 'bob')
  await Promise.all([upTo(anybody, 2), upTo(bobs, 2)])
  const held = (events: readonly Event[]) =>
    ((events[0]?.data.comment?.reactionGroups ?? []) as { type: string; count: number }[]).filter(
      ({ count }) => count > 0,
    )
  expect(held(anybody)).toEqual([{ type: 'love', count: 1, viewerHasReacted: false }])
  expect(held(bobs)).toEqual([{ type: 'love', count: 1, viewerHasReacted: true }])
  expect(bobs[0]?.data.comment?.viewerReaction).toBe('love')
})

test('a subscriber reads no text in an event that it may not read now', async () => {
  const discussionId = await service.newDiscussion()
  const rejected = await post(discussionId, 'ann')
  await post(discussionId, 'bob', { parentId: rejected.id })
  const deleted = await post(discussionId, 'ann')
  await send('POST', `/comments/${rejected.id}/reject`)
  await send('DELETE', `/comments/${deleted.id}`, undefined, 'ann')
  const [seen, moderators] = [follow(discussionId, plain), follow(discussionId)]
  const { json } = await service.call('GET', `/discussions/${discussionId}`)
  const last = Number(json.lastEventId)
  await Promise.all([upTo(seen, last), upTo(moderators, last)])
  const of = (events: readonly Event[], id: string) =>
    events.flatMap(({ data }) => (data.comment?.id === id ? [data.comment] : []))
  const hidden = { body: null, bodyHtml: null, author: null }
  for (const comment of of(seen, rejected.id)) expect(comment).toMatchObject({ status: 'withheld', ...hidden })
  for (const comment of of(moderators, rejected.id))
    expect(comment).toMatchObject({ status: 'rejected', body: 'Hello' })
  for (const comment of [...of(seen, deleted.id), ...of(moderators, deleted.id)]) {
    expect(comment).toMatchObject({ status: 'deleted', ...hidden })
  }
  expect(of(seen, rejected.id).length + of(seen, deleted.id).length).toBeGreaterThanOrEqual(4)
})

test('events of an erased comment bring a tombstone', async () => {
  const tenantSettings = { erasureMode: 'delete' }
  await service.call('PATCH', '/settings', { body: tenantSettings })
  const discussionId = await service.newDiscussion()
  const { id } = await post(discussionId, 'gone')
  await send('PUT', `/comments/${id}/reaction`, { type: 'like' }, 'ann')
  const { json } = await service.call('GET', '/readers?externalId=gone')
  await send('DELETE', `/readers/${json.data[0].id}`)
  const events = follow(discussionId)
  const { json: page } = await service.call('GET', `/discussions/${discussionId}`)
  await upTo(events, Number(page.lastEventId))
  expect(events.map(({ type }) => type)).toContain('reaction_toggled')
  for (const { data } of events) expect(data.comment).toMatchObject({ status: 'deleted', body: null, author: null })
  await service.call('PATCH', '/settings', { body: { erasureMode: 'anonymise' } })
})

test.each([false, true])('each event of a replay has whole lists, on a shared connection: %s', async (single) => {
  const discussionId = await service.newDiscussion()
  const count = 12
  // Other texts each time: those that come again are held.
  const bodyOf = (n: number): string => `word${n}${single} `.repeat(700)
  const posted = await Promise.all(
    Array.from({ length: count }, (_, n) => post(discussionId, `reader-${n}`, { body: bodyOf(n) })),
  )
  for (const { id } of posted) {
    for (const reader of ['ann', 'bob']) await send('PUT', `/comments/${id}/reaction`, { type: 'like' }, reader)
  }
  const lists = 'id discussion { comments(first: 50) { nodes { body bodyHtml } } }'
  const events = follow(discussionId, plain, String(count), EVENTS.replaceAll(FIELDS, lists), single)
  await upTo(events, 3 * count)
  const shown = events.map(({ data }) => (data.comment as unknown as WithList).discussion.comments.nodes.length)
  expect(shown).toEqual(Array.from({ length: 2 * count }, () => count))
})

interface WithList {
  discussion: { comments: { nodes: object[] } }
}

describe('the work of an event', () => {
  /** The statements that read comments meanwhile, and the executions of events. */
  async function costOf(work: () => Promise<void>): Promise<{ reads: number; executions: number }> {
    const field = schema.getSubscriptionType()?.getFields().discussionEvents
    if (field?.resolve === undefined) throw new Error('discussionEvents has no resolver')
    const resolving = vi.spyOn(field as { resolve: NonNullable<typeof field.resolve> }, 'resolve')
    const querying = vi.spyOn(service.app.db, 'query')
    await work()
    const reads = querying.mock.calls.filter(([{ name }]) => name === 'comments_by_ids').length
    const executions = resolving.mock.calls.length
    vi.restoreAllMocks()
    return { reads, executions }
  }

  const ids = EVENTS.replaceAll(FIELDS, 'id parentId')
  test.each([
    ['of subscribers with the same operation is one execution, and one statement', EVENTS, { reads: 1, executions: 1 }],
    ['is no statement if nothing is selected that can change', ids, { reads: 0, executions: 1 }],
  ])('%s', async (_name, query, cost) => {
    const discussionId = await service.newDiscussion()
    const all = Array.from({ length: 30 }, () => follow(discussionId, plain, '0', query))
    await vi.waitFor(() => expect(subscriptionsOf(service.app).subscribers).toBe(30))
    const work = async (): Promise<void> => {
      await post(discussionId, 'ann')
      await Promise.all(all.map((events) => upTo(events, 1)))
    }
    expect(await costOf(work)).toEqual(cost)
  })

  // One by one they were as many statements.
  test.each([false, true])(
    'of a replay of hundreds of events is some statements, on a shared connection: %s',
    async (single) => {
      const discussionId = await service.newDiscussion()
      const count = effort(500, 100)
      for (let posted = 0; posted < count; posted += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, n) => post(discussionId, `reader-${n % 5}`)))
      }
      const { reads, executions } = await costOf(async () => {
        const events = follow(discussionId, plain, '0', EVENTS, single)
        await upTo(events, count)
        expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, n) => n + 1))
        expect(events.every(({ data }) => data.comment?.body === 'Hello')).toBe(true)
      })
      expect(executions).toBe(count)
      expect(reads).toBeLessThanOrEqual(16)
    },
  )

  test('of 30 different readers is a handful of statements at most', async () => {
    const discussionId = await service.newDiscussion()
    const readers = await Promise.all(Array.from({ length: 30 }, (_, n) => service.as(`reader-${n}`)))
    const query = EVENTS.replaceAll(/viewerReaction reactionGroups \{[^}]*\}/g, '')
    const all = readers.map((reader) => follow(discussionId, { ...plain, ...reader }, '0', query))
    await vi.waitFor(() => expect(subscriptionsOf(service.app).subscribers).toBe(30))
    const { reads } = await costOf(async () => {
      await post(discussionId, 'ann')
      await Promise.all(all.map((events) => upTo(events, 1)))
    })
    expect(reads).toBeLessThanOrEqual(4)
  })
})

test('a cache by id is right after each event, live and replayed from anywhere', async () => {
  const random = randomOf(26)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const discussionId = await service.newDiscussion()
  const ann = await service.as('ann')
  const ONE = `query ($id: ID!) { comment(id: $id) { ${FIELDS} } }`
  for (const headers of [plain, { ...plain, ...ann }, {}]) {
    const events = follow(discussionId, headers)
    const cache = new Map<string, Shown>()
    let read = 0
    const take = (from: readonly Event[], start: number): void => {
      for (const { data } of from.slice(start)) {
        for (const comment of [data.comment, ...(data.tombstones ?? [])]) if (comment) cache.set(comment.id, comment)
      }
    }
    const check = async (): Promise<void> => {
      for (const [id, cached] of cache) {
        const { json } = await service.graphql(ONE, { id }, headers)
        // One that is not in view is a tombstone without replies.
        if (json.data.comment === null) expect(['deleted', 'withheld']).toContain(cached.status)
        else expect({ ...cached, replyCount: 0 }).toEqual({ ...json.data.comment, replyCount: 0 })
      }
    }
    for (let step = 0; step < effort(25, 10); step++) {
      const known = [...cache.keys()]
      const id = known.length === 0 ? null : pick(known)
      const act = async (): Promise<unknown> => {
        const as = await service.as(pick(['ann', 'bob']))
        const call = (method: string, path: string, body?: object, who: Record<string, string> = {}) =>
          service.call(method, path, { ...(body === undefined ? {} : { body }), headers: who })
        if (id === null || random() < 0.3) {
          const parent = id === null || random() < 0.5 ? {} : { parentId: id }
          return call('POST', `/discussions/${discussionId}/comments`, { body: `Post ${step}`, ...parent }, as)
        }
        return pick([
          () => call('PUT', `/comments/${id}/reaction`, { type: pick(['like', 'love']) }, as),
          () => call('PATCH', `/comments/${id}`, { body: `Edit ${step}` }, as),
          () => call('POST', `/comments/${id}/${pick(['approve', 'reject', 'pin', 'unpin'])}`),
          () => call('DELETE', `/comments/${id}`, undefined, as),
        ])()
      }
      await act()
      const { json } = await service.call('GET', `/discussions/${discussionId}`)
      await upTo(events, Number(json.lastEventId))
      take(events, read)
      read = events.length
      if (step % 5 === 4) {
        const from = String(Math.floor(random() * Number(json.lastEventId)))
        const replayed = follow(discussionId, headers, from)
        await upTo(replayed, Number(json.lastEventId))
        take(replayed, 0)
      }
      await check()
    }
  }
})
