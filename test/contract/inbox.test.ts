import { beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { type Inbox, trimNextInbox } from '../../src/domains/notifications/trim.ts'
import { callsTo } from '../harness/calls.ts'
import { type KnownReader as Reader, newReader } from '../harness/people.ts'
import { type Headers, type Json, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let ann: Reader
let bob: Reader
let page: string
/** A comment of ann's. */
let root: Json

beforeEach(async () => {
  page = newId()
  ann = await reader('ann')
  bob = await reader('bob')
  root = await post(ann)
})

const { call, ok } = callsTo(() => service)

const reader = (name: string): Promise<Reader> => newReader(service, 'r', { name })

const post = ({ headers }: Reader, parentId?: string): Promise<Json> =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body: `text ${newId()}`, parentId }, headers)
const inbox = async ({ headers }: Reader, query = ''): Promise<Json[]> =>
  (await ok('GET', `/readers/me/notifications${query}`, undefined, headers)).data
const told = async (who: Reader): Promise<string[]> => (await inbox(who)).map((each) => each.comment.id)
const unread = ({ headers }: Reader): Promise<Json> => ok('GET', '/readers/me/notifications/count', undefined, headers)
const read = ({ headers }: Reader, body: object): Promise<Json> =>
  ok('POST', '/readers/me/notifications/read', body, headers)
const prefer = ({ headers }: Reader, body: object): Promise<Json> =>
  ok('PATCH', '/readers/me/preferences', body, headers)
const moderate = (id: string, verb: string, body: object = {}): Promise<Json> =>
  ok('POST', `/comments/${id}/${verb}`, body)
const settings = (body: object) => ok('PATCH', '/settings', body)

/** A reply that waits for a moderator. */
async function held(who: Reader): Promise<Json> {
  await settings({ moderationMode: 'pre' })
  const reply = await post(who, root.id)
  await settings({ moderationMode: 'none' })
  return reply
}

/** Makes as many replies of bob's to ann's comment, of which she is told. */
const fill = (count: number): Promise<void> => fillFor(service.tenant.id, root, bob.id, count)

/** Makes as many replies to the comment, of which its author is told. */
async function fillFor(tenantId: string, { id, discussionId, author }: Json, by: string, count: number): Promise<void> {
  const FILL = unnamed(
    `WITH made AS (
       INSERT INTO comments (tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status, first_approved_at)
       SELECT $1, new_id(), $2, $3, 1, $4, 'text', '<p>text</p>', 'approved', now() FROM generate_series(1, $6::int) RETURNING id
     )
     INSERT INTO notifications (tenant_id, id, reader_id, kind, comment_id, created_at)
     SELECT $1, new_id(), $5, 'reply', id, now() FROM made`,
  )
  await service.app.db.query(FILL, [tenantId, discussionId, id, by, author.id, count])
}

describe('a reply', () => {
  test('is told to the author of the comment, and to nobody else', async () => {
    const reply = await post(bob, root.id)
    expect(await inbox(ann)).toEqual([
      {
        id: expect.any(String),
        kind: 'reply',
        comment: { ...reply, decision: null },
        actor: reply.author,
        discussion: expect.objectContaining({ id: reply.discussionId, externalId: page }),
        createdAt: expect.any(String),
        readAt: null,
      },
    ])
    expect(await unread(ann)).toEqual({ count: 1, hasMore: false })
    expect([await inbox(bob), await unread(bob)]).toEqual([[], { count: 0, hasMore: false }])
  })

  test('to oneself is not told', async () => {
    await post(ann, root.id)
    expect(await told(ann)).toEqual([])
  })

  test('that waits for a moderator is told once it is approved, and only once', async () => {
    const reply = await held(bob)
    expect(await told(ann)).toEqual([])
    await moderate(reply.id, 'approve')
    const [first] = await inbox(ann)
    expect(first).toMatchObject({ kind: 'reply', comment: { id: reply.id } })
    await read(ann, { ids: [first.id] })
    await moderate(reply.id, 'reject')
    expect(await told(ann)).toEqual([])
    await moderate(reply.id, 'approve')
    const again = await inbox(ann)
    expect(again.map(({ id }) => id)).toEqual([first.id])
    expect(again[0].readAt).not.toBeNull()
  })

  test('that was rejected at first is told with its first approval', async () => {
    const reply = await held(bob)
    await moderate(reply.id, 'reject')
    await moderate(reply.id, 'approve')
    expect(await told(ann)).toEqual([reply.id])
  })

  test('is told once where many moderators approve and reject it at once', async () => {
    const reply = await held(bob)
    const verbs = ['approve', 'reject', 'approve', 'approve', 'reject', 'approve']
    await Promise.all(verbs.map((verb) => call('POST', `/comments/${reply.id}/${verb}`, {})))
    await call('POST', `/comments/${reply.id}/approve`, {})
    expect(await told(ann)).toEqual([reply.id])
  })

  test.each(['reject', 'delete', 'withhold'])('is hidden after: %s', async (what) => {
    const reply = await post(bob, root.id)
    await post(bob, root.id)
    if (what === 'delete') await ok('DELETE', `/comments/${reply.id}`, undefined, bob.headers)
    if (what === 'reject') await moderate(reply.id, 'reject')
    if (what === 'withhold') {
      await settings({ reportThreshold: 1 })
      await ok('POST', `/comments/${reply.id}/report`, { reason: 'spam' }, (await reader('carl')).headers)
      await settings({ reportThreshold: 5 })
    }
    expect(await told(ann)).not.toContain(reply.id)
    expect(await unread(ann)).toEqual({ count: 1, hasMore: false })
    if (what === 'delete') return
    await moderate(reply.id, 'approve')
    expect(await told(ann)).toContain(reply.id)
    expect(await unread(ann)).toEqual({ count: 2, hasMore: false })
  })

  test('of a reader who is banned in shadow is not told', async () => {
    await ok('POST', `/readers/${bob.id}/ban`, { shadow: true })
    const reply = await post(bob, root.id)
    expect(reply.status).toBe('approved')
    expect(await told(ann)).toEqual([])
  })

  test('of a muted reader is not told, and an earlier one is hidden while they are muted', async () => {
    const before = await post(bob, root.id)
    await ok('PUT', `/readers/${bob.id}/mute`, undefined, ann.headers)
    await post(bob, root.id)
    const late = await held(bob)
    await moderate(late.id, 'approve')
    expect([await told(ann), await unread(ann)]).toEqual([[], { count: 0, hasMore: false }])
    await ok('DELETE', `/readers/${bob.id}/mute`, undefined, ann.headers)
    expect(await told(ann)).toEqual([before.id])
  })

  test('a page is filled with those behind the hidden ones', async () => {
    const [first, second] = [await post(bob, root.id), await post(bob, root.id)]
    for (const hidden of [await post(bob, root.id), await post(bob, root.id), await post(bob, root.id)])
      await moderate(hidden.id, 'reject')
    const newest = await ok('GET', '/readers/me/notifications?limit=1', undefined, ann.headers)
    expect(newest).toMatchObject({ data: [{ comment: { id: second.id } }], hasMore: true })
    const rest = await ok('GET', `/readers/me/notifications?cursor=${newest.nextCursor}`, undefined, ann.headers)
    expect(rest).toMatchObject({ data: [{ comment: { id: first.id } }], hasMore: false })
  })

  test('in a deleted discussion is hidden at once', async () => {
    await post(bob, root.id)
    await ok('DELETE', `/discussions/${root.discussionId}`)
    expect([await told(ann), await unread(ann)]).toEqual([[], { count: 0, hasMore: false }])
  })

  test('to a deleted comment is not told', async () => {
    const reply = await held(bob)
    await ok('DELETE', `/comments/${root.id}`, undefined, ann.headers)
    await moderate(reply.id, 'approve')
    expect(await told(ann)).toEqual([])
  })
})

describe('a decision', () => {
  const decisions = async (who: Reader) =>
    (await inbox(who)).map(({ comment }) => [comment.id, comment.decision?.action])

  test('is told to the author, with what the moderator tells them; a later one takes its place', async () => {
    await moderate(root.id, 'reject', { reason: 'spam', message: 'No advertising.' })
    const [first] = await inbox(ann)
    expect(first).toMatchObject({
      kind: 'decision',
      actor: null,
      readAt: null,
      comment: { id: root.id, status: 'rejected', decision: { action: 'reject', message: 'No advertising.' } },
    })
    expect(await inbox(bob)).toEqual([])
    await read(ann, { ids: [first.id] })
    await moderate(root.id, 'approve')
    expect(await inbox(ann)).toMatchObject([{ readAt: null, comment: { decision: { action: 'approve' } } }])
    expect((await inbox(ann))[0].id).not.toBe(first.id)
    await ok('DELETE', `/comments/${root.id}`)
    expect(await inbox(ann)).toMatchObject([
      { comment: { status: 'deleted', body: null, decision: { action: 'delete' } } },
    ])
  })

  test('is none where only reports were answered, or where the author deletes their own', async () => {
    await ok('POST', `/comments/${root.id}/report`, { reason: 'spam' }, bob.headers)
    await moderate(root.id, 'approve')
    await ok('DELETE', `/comments/${root.id}`, undefined, ann.headers)
    expect(await decisions(ann)).toEqual([])
  })

  test('is not told to an author who is banned in shadow, nor one of before', async () => {
    await moderate(root.id, 'reject')
    await ok('POST', `/readers/${ann.id}/ban`, { shadow: true })
    expect([await decisions(ann), await unread(ann)]).toEqual([[], { count: 0, hasMore: false }])
    const second = await post(ann)
    await moderate(second.id, 'reject')
    await ok('POST', `/readers/${ann.id}/unban`)
    expect(await decisions(ann)).toEqual([[root.id, 'reject']])
  })

  test('on an earlier text is hidden after an edit', async () => {
    await moderate(root.id, 'reject')
    await moderate(root.id, 'approve')
    await ok('PATCH', `/comments/${root.id}`, { body: 'another text' }, ann.headers)
    expect(await decisions(ann)).toEqual([])
  })
})

describe('preferences', () => {
  test('are all at first, and change one by one', async () => {
    const all = { reply: 'all', mention: 'all', decision: 'all' }
    expect(await ok('GET', '/readers/me/preferences', undefined, ann.headers)).toEqual(all)
    expect(await prefer(ann, { reply: 'none' })).toEqual({ ...all, reply: 'none' })
    expect(await prefer(ann, { decision: 'none' })).toEqual({ reply: 'none', mention: 'all', decision: 'none' })
    expect(await prefer(ann, {})).toEqual({ reply: 'none', mention: 'all', decision: 'none' })
    await Promise.all([1, 2, 3].flatMap(() => [prefer(ann, { reply: 'all' }), prefer(ann, { reply: 'none' })]))
    expect(await prefer(ann, { reply: 'all' })).toEqual({ ...all, decision: 'none' })
    expect(await ok('GET', '/readers/me/preferences', undefined, bob.headers)).toEqual(all)
  })

  test('decide at the time of the cause', async () => {
    await prefer(ann, { reply: 'none', decision: 'none' })
    await post(bob, root.id)
    const late = await held(bob)
    await moderate(late.id, 'approve')
    await moderate(root.id, 'reject')
    await prefer(ann, { reply: 'all', decision: 'all' })
    expect(await told(ann)).toEqual([])
    await moderate(root.id, 'approve')
    const reply = await post(bob, root.id)
    expect(await told(ann)).toEqual([reply.id, root.id])
  })

  test.each([{ reply: 'some' }, { reply: null }, { other: 'all' }, { reply: ['all'] }])('refuse %j', async (body) => {
    const { status, json } = await call('PATCH', '/readers/me/preferences', body, ann.headers)
    expect([status, json.code]).toEqual([422, 'validation_failed'])
  })
})

describe('reading', () => {
  test('is by id, safe to repeat and at once, and keeps the first time', async () => {
    await post(bob, root.id)
    await post(bob, root.id)
    const [second, first] = await inbox(ann)
    const answers = await Promise.all([1, 2, 3, 4].map(() => read(ann, { ids: [first.id, second.id, first.id] })))
    expect(answers.at(-1)).toEqual({ count: 0, hasMore: false })
    const after = await inbox(ann)
    expect(after.every(({ readAt }) => readAt !== null)).toBe(true)
    await read(ann, { ids: [first.id] })
    expect(await inbox(ann)).toEqual(after)
    expect(await inbox(ann, '?unread=true')).toEqual([])
    expect(await inbox(ann, '?unread=false')).toEqual(after)
  })

  test('of all before a time leaves later ones, and those that are hidden meanwhile', async () => {
    const hidden = await post(bob, root.id)
    await post(bob, root.id)
    const { id } = (await inbox(ann)).find(({ comment }: Json) => comment.id === hidden.id)
    await moderate(hidden.id, 'reject')
    await read(ann, { ids: [id] })
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Date.parse(hidden.createdAt) + 5))
    const before = new Date().toISOString()
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Date.parse(before) + 2))
    const last = await post(bob, root.id)
    expect(await read(ann, { before })).toEqual({ count: 1, hasMore: false })
    await moderate(hidden.id, 'approve')
    expect((await inbox(ann, '?unread=true')).map((each) => each.comment.id)).toEqual([last.id, hidden.id])
  })

  test("leaves another reader's and another tenant's alone, and takes hostile ids", async () => {
    await post(bob, root.id)
    const [mine] = await inbox(ann)
    const other = await service.addTenant(`t-${newId()}`)
    const theirs = { 'x-api-key': other.apiKey, ...(await other.as(ann.externalId)) }
    for (const headers of [bob.headers, theirs]) await read({ ...bob, headers }, { ids: [mine.id] })
    await read(ann, { ids: [newId(), 'nonsense', "' OR 1=1 --", '\u0000'] })
    expect(await unread(ann)).toEqual({ count: 1, hasMore: false })
    expect(await ok('GET', '/readers/me/notifications', undefined, theirs)).toMatchObject({ data: [] })
  })

  test.each([
    {},
    { ids: [] },
    { ids: Array.from({ length: 101 }, () => newId()) },
    { ids: [1] },
    { before: 'yesterday' },
    { ids: [newId()], before: '2026-01-01T00:00:00.000Z' },
    { all: true },
  ])('refuses %#', async (body) => {
    const { status, json } = await call('POST', '/readers/me/notifications/read', body, ann.headers)
    expect([status, json.code], JSON.stringify(json)).toEqual([422, 'validation_failed'])
  })

  test('needs an identity', async () => {
    for (const [method, path] of [
      ['GET', '/readers/me/notifications'],
      ['GET', '/readers/me/notifications/count'],
      ['POST', '/readers/me/notifications/read'],
      ['GET', '/readers/me/preferences'],
      ['PATCH', '/readers/me/preferences'],
    ] as const) {
      const body = { GET: undefined, POST: { ids: [newId()] }, PATCH: {} }[method]
      const { status, json } = await call(method, path, body)
      expect([status, json.code]).toEqual([403, 'identity_required'])
    }
  })
})

describe('over GraphQL', () => {
  async function ask(headers: Headers, query: string, variables: object = {}): Promise<Json> {
    const sent = { ...headers, 'content-type': 'application/json' }
    const body = JSON.stringify({ query, variables })
    return (await fetch(`${service.url}/graphql`, { method: 'POST', headers: sent, body })).json()
  }

  test('a client token reads the inbox of its reader, of the discussions that it names', async () => {
    const reply = await post(bob, root.id)
    const elsewhere = newId()
    const there = await ok('POST', `/discussions/by-external/${elsewhere}/comments`, { body: 'there' }, ann.headers)
    await ok(
      'POST',
      `/discussions/by-external/${elsewhere}/comments`,
      { body: 'reply', parentId: there.id },
      bob.headers,
    )
    expect(await unread(ann)).toEqual({ count: 2, hasMore: false })
    const { token } = await ok('POST', '/client-tokens', { externalIds: [page] }, ann.headers)
    const headers = { authorization: `Bearer ${token}` }
    const query = `{ viewer { unreadNotifications { count } notificationPreferences { reply }
      notifications(first: 5, unread: true) { nodes { id comment { id author { notifications(first: 1) { nodes { id } } } } } } } }`
    const { data } = await ask(headers, query)
    expect(data.viewer).toEqual({
      unreadNotifications: { count: 1 },
      notificationPreferences: { reply: 'all' },
      notifications: {
        nodes: [{ id: expect.any(String), comment: { id: reply.id, author: { notifications: null } } }],
      },
    })
    const [{ id }] = data.viewer.notifications.nodes
    const node = 'query ($id: ID!) { node(id: $id) { __typename ... on Notification { kind } } }'
    expect((await ask(headers, node, { id })).data.node).toEqual({ __typename: 'Notification', kind: 'reply' })
    const key = { 'x-api-key': service.apiKey }
    for (const other of [key, { ...key, ...bob.headers }]) {
      expect((await ask(other, node, { id })).data.node).toBeNull()
    }
    const mark = `mutation ($ids: [ID!]!) { markNotificationsRead(input: { which: { ids: $ids } }) {
      viewer { unreadNotifications { count hasMore } } } }`
    expect((await ask(headers, mark, { ids: [id] })).data).toEqual({
      markNotificationsRead: { viewer: { unreadNotifications: { count: 0, hasMore: false } } },
    })
    expect(await unread(ann)).toEqual({ count: 1, hasMore: false })
  })

  test('of another reader everything is null, also to moderators', async () => {
    await post(bob, root.id)
    const query = `query ($id: ID!) { reader(id: $id) { unreadNotifications { count } notificationPreferences { reply } notifications(first: 1) { nodes { id } } } }`
    const { data } = await ask({ 'x-api-key': service.apiKey }, query, { id: ann.id })
    expect(data.reader).toEqual({ unreadNotifications: null, notificationPreferences: null, notifications: null })
  })
})

describe('an erasure', () => {
  const ROWS = unnamed(
    'SELECT count(*)::int AS n FROM notifications WHERE tenant_id = $1 AND $2 IN (reader_id, comment_id)',
  )
  const rowsOf = async (id: string) => (await service.app.db.query(ROWS, [service.tenant.id, id]))[0]

  test('takes what the reader was told, and what others were told of them', async () => {
    const reply = await post(bob, root.id)
    await post(ann, reply.id)
    await prefer(bob, { decision: 'none' })
    expect([await told(ann), (await told(bob)).length]).toEqual([[reply.id], 1])
    await ok('DELETE', `/readers/${bob.id}`)
    expect([await told(ann), await unread(ann)]).toEqual([[], { count: 0, hasMore: false }])
    await vi.waitFor(async () => expect(await rowsOf(reply.id)).toEqual({ n: 0 }))
    expect(await rowsOf(bob.id)).toEqual({ n: 0 })
  })
})

describe('a merge', () => {
  test('moves what the reader was told, but not what they told each other', async () => {
    const carl = await reader('carl')
    const reply = await post(carl, root.id)
    await post(bob, root.id)
    await prefer(ann, { mention: 'none' })
    await ok('POST', `/readers/${ann.id}/merge`, { into: bob.id })
    expect(await told(bob)).toEqual([reply.id])
    expect(await told(ann)).toEqual([reply.id])
    expect(await unread(bob)).toEqual({ count: 1, hasMore: false })
    const after = await post(carl, root.id)
    expect(await told(bob)).toEqual([after.id, reply.id])
  })
})

test("a reader's export has their inbox and preferences", async () => {
  const reply = await post(bob, root.id)
  await prefer(ann, { mention: 'none' })
  expect(await ok('GET', `/readers/${ann.id}/export`)).toMatchObject({
    inbox: [{ kind: 'reply', commentId: reply.id, readAt: null, handedOutAt: null }],
    notificationPreferences: { reply: 'all', mention: 'none', decision: 'all' },
  })
})

test('an Idempotency-Key replays a reading', async () => {
  await post(bob, root.id)
  const [{ id }] = await inbox(ann)
  const headers = { ...ann.headers, 'idempotency-key': newId() }
  const first = await call('POST', '/readers/me/notifications/read', { ids: [id] }, headers)
  const again = await call('POST', '/readers/me/notifications/read', { ids: [id] }, headers)
  expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true'])
})

test('the newest 1000 stay for a year, and what was read for 90 days', async () => {
  await post(bob, root.id)
  await post(bob, root.id)
  await read(ann, { ids: [(await inbox(ann))[0].id] })
  const AGE = unnamed(
    "UPDATE notifications SET read_at = read_at - $2 * interval '1 day' WHERE reader_id = $1 AND read_at IS NOT NULL",
  )
  const trim = async () => {
    let at: Inbox | null = null
    do at = await trimNextInbox(service.app.prisma, at)
    while (at !== null)
  }
  await service.app.db.query(AGE, [ann.id, 89])
  await trim()
  expect(await inbox(ann)).toHaveLength(2)
  await service.app.db.query(AGE, [ann.id, 2])
  await trim()
  expect(await inbox(ann)).toHaveLength(1)
  const [{ id: kept }] = await inbox(ann)
  await fill(1000)
  await trim()
  const ROWS = unnamed('SELECT count(*)::int AS n, bool_or(id = $2) AS kept FROM notifications WHERE reader_id = $1')
  expect(await service.app.db.query(ROWS, [ann.id, kept])).toEqual([{ n: 1000, kept: false }])
  const yearLater = new Date(Date.now() + 366 * 86_400_000)
  for (let at = await trimNextInbox(service.app.prisma, null, yearLater); at !== null;) {
    at = await trimNextInbox(service.app.prisma, at, yearLater)
  }
  expect(await service.app.db.query(ROWS, [ann.id, kept])).toEqual([{ n: 0, kept: null }])
})

describe('the hand-out', () => {
  const pending = async (query = '', headers: Headers = {}): Promise<Json> =>
    ok('GET', `/notifications/pending?limit=100${query}`, undefined, headers)
  const handOut = async (ids: string[], headers: Headers = {}): Promise<string[]> =>
    (await ok('POST', '/notifications/handed-out', { ids }, headers)).handedOutIds

  /** A tenant of its own, whose list is short. */
  async function tenant() {
    const other = await service.addTenant(`t-${newId()}`)
    const key = { 'x-api-key': other.apiKey }
    const as = async (name: string) => ({ ...key, ...(await other.as(name)) })
    const write = async (name: string, parentId?: string): Promise<Json> =>
      ok('POST', '/discussions/by-external/page/comments', { body: newId(), parentId }, await as(name))
    return { id: other.tenant.id, key, as, write }
  }

  test('lists readers with what they have not read, and each notification once', async () => {
    const { key, as, write } = await tenant()
    const [a, b] = [await write('ann'), await write('ben')]
    const replies = [await write('cleo', a.id), await write('cleo', b.id), await write('cleo', a.id)]
    const ids = replies.map(({ id }) => id)
    const list = await pending('', key)
    const shown = list.data.map((each: Json) => [
      each.reader.externalId,
      each.notifications.map(({ comment }: Json) => comment.id),
    ])
    expect(shown).toEqual([
      ['ann', [ids[0], ids[2]]],
      ['ben', [ids[1]]],
    ])
    expect([list.hasMore, list.nextCursor]).toEqual([false, null])
    const [first, third] = list.data[0].notifications
    const [second] = list.data[1].notifications
    // One is read, one is taken by several at once.
    await ok('POST', '/readers/me/notifications/read', { ids: [third.id] }, await as('ann'))
    const taken = await Promise.all([1, 2, 3, 4].map(() => handOut([first.id, newId(), 'nonsense'], key)))
    expect(taken.flat()).toEqual([first.id])
    const left = await pending('', key)
    expect(left.data.map((each: Json) => each.notifications.map(({ id }: Json) => id))).toEqual([[second.id]])
    expect((await pending('&olderThanSeconds=3600', key)).data).toEqual([])
    // It is no reading.
    expect(await ok('GET', '/readers/me/notifications/count', undefined, await as('ann'))).toMatchObject({ count: 1 })
  })

  test('leaves out what a reader cannot see', async () => {
    const { key, as, write } = await tenant()
    const a = await write('ann')
    const [hidden, muted] = [await write('cleo', a.id), await write('dora', a.id)]
    await ok('POST', `/comments/${hidden.id}/reject`, {}, key)
    await ok('POST', `/readers/${a.author.id}/ban`, { shadow: true }, key)
    await ok('POST', `/comments/${a.id}/reject`, {}, key)
    await ok('PUT', `/readers/${muted.author.id}/mute`, undefined, await as('ann'))
    const waiting = async () => (await pending('', key)).data.map((each: Json) => each.reader.externalId)
    // The author of the rejected reply is told of the decision.
    expect(await waiting()).toEqual(['cleo'])
    await ok('DELETE', `/readers/${muted.author.id}/mute`, undefined, await as('ann'))
    expect(await waiting()).toEqual(['ann', 'cleo'])
    await ok('DELETE', `/discussions/${a.discussionId}`, undefined, key)
    expect(await waiting()).toEqual([])
  })

  test('goes page by page through more than a page looks through', async () => {
    const { id: tenantId, key, write } = await tenant()
    const authors = ['ann', 'ben', 'cleo']
    const roots = await Promise.all(authors.map((name) => write(name)))
    const dora = (await write('dora')).author.id
    for (let n = 0; n < 120; n += 4) await fillFor(tenantId, roots[n % 3], dora, 4)
    const seen: string[] = []
    let pages = 0
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`
      const list = await ok('GET', `/notifications/pending?limit=2${query}`, undefined, key)
      expect(list.data.length).toBeLessThanOrEqual(2)
      for (const { notifications } of list.data) seen.push(...notifications.map(({ id }: Json) => id))
      cursor = list.nextCursor
    }
    expect(pages).toBeGreaterThan(1)
    expect(seen.toSorted()).toEqual([...new Set(seen)].toSorted())
    expect(seen).toHaveLength(120)
  })

  test("does not show or take another tenant's, and needs a key", async () => {
    const { key, write } = await tenant()
    const a = await write('ann')
    await write('ben', a.id)
    const [{ notifications }] = (await pending('', key)).data
    expect(await handOut([notifications[0].id])).toEqual([])
    expect((await pending()).data.map((each: Json) => each.notifications[0].id)).not.toContain(notifications[0].id)
    expect(await handOut([notifications[0].id], key)).toEqual([notifications[0].id])
    expect((await call('GET', '/notifications/pending', undefined, { 'x-api-key': '' })).status).toBe(401)
  })

  test.each(['olderThanSeconds=-1', 'olderThanSeconds=x', 'olderThanSeconds=7776001', 'limit=0', 'cursor=x', 'page=2'])(
    'refuses ?%s',
    async (query) => {
      const { status, json } = await call('GET', `/notifications/pending?${query}`)
      expect([status, json.code]).toEqual([422, 'validation_failed'])
    },
  )
})

test('reading counts at most 99, and lists page by page', async () => {
  await fill(120)
  expect(await unread(ann)).toEqual({ count: 99, hasMore: true })
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const list = await ok('GET', `/readers/me/notifications?limit=50${query}`, undefined, ann.headers)
    seen.push(...list.data.map(({ id }: Json) => id))
    cursor = list.nextCursor
  }
  expect(seen).toEqual([...new Set(seen)].toSorted().toReversed())
  expect(seen).toHaveLength(120)
  expect(await read(ann, { before: new Date(Date.now() + 1000).toISOString() })).toEqual({ count: 0, hasMore: false })
})
