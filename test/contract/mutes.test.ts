import { createClient } from 'graphql-sse'
import { beforeEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import type { KnownReader as Reader } from '../harness/people.ts'
import { type Headers, type Json, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let ann: Reader
let bob: Reader
let page: string

beforeEach(async () => {
  page = newId()
  ann = await reader('ann')
  bob = await reader('bob')
})

const { call, ok } = callsTo(() => service)

const post = (headers: Headers, more: object = {}): Promise<Json> =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body: 'text', ...more }, headers)

/** A new reader with a comment on the page. */
async function reader(name: string): Promise<Reader> {
  const externalId = `${name}-${newId()}`
  const headers = await service.as(externalId, { name })
  return { id: (await post(headers)).author.id, externalId, headers }
}

const mute = (who: Reader, whom: Reader) => ok('PUT', `/readers/${whom.id}/mute`, undefined, who.headers)
const unmute = (who: Reader, whom: Reader) => ok('DELETE', `/readers/${whom.id}/mute`, undefined, who.headers)
const mutedBy = async (who: Reader, query = '') => {
  const { data } = await ok('GET', `/readers/me/mutes${query}`, undefined, who.headers)
  return data.map((each: Json) => each.reader.id)
}

/** `authorMuted` by author, over a page and its replies. */
async function marks(headers: Headers): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  const walk = (list: Json): void => {
    for (const { author, authorMuted, replies } of list.data) {
      found[author.id] = authorMuted
      if (replies !== undefined) walk(replies)
    }
  }
  walk(await ok('GET', `/discussions/by-external/${page}/comments?replies=3`, undefined, headers))
  return found
}

test('a muted author is marked for the one who muted them, and for nobody else', async () => {
  const carl = await reader('carl')
  const muted = await mute(ann, bob)
  expect(muted).toEqual({
    reader: { id: bob.id, externalId: bob.externalId, name: 'bob', avatarUrl: null, profileUrl: null, badges: [] },
    createdAt: expect.any(String),
  })
  const reply = await post(bob.headers, { parentId: (await post(carl.headers)).id })
  const none = { [ann.id]: null, [bob.id]: null, [carl.id]: null }
  for (const _ of ['made', 'kept']) {
    expect(await marks(ann.headers)).toEqual({ ...none, [bob.id]: true })
    for (const headers of [bob.headers, carl.headers, {}]) expect(await marks(headers)).toEqual(none)
  }
  expect((await ok('GET', `/comments/${reply.id}`, undefined, ann.headers)).authorMuted).toBe(true)
  expect((await ok('GET', `/comments/${reply.id}`, undefined, bob.headers)).authorMuted).toBeNull()
  // It marks the viewer's reaction beside it.
  await ok('PUT', `/comments/${reply.id}/reaction`, { type: 'like' }, ann.headers)
  const list = await ok(
    'GET',
    `/discussions/by-external/${page}/comments?parentId=${reply.parentId}`,
    undefined,
    ann.headers,
  )
  expect(list.data[0]).toMatchObject({ id: reply.id, authorMuted: true, viewerReaction: 'like' })
  await unmute(ann, bob)
  expect(await marks(ann.headers)).toEqual(none)
})

test('a tag of a page from before a mute or its end is answered with the page, for the one who muted alone', async () => {
  const path = `/discussions/by-external/${page}/comments`
  const carl = await reader('carl')
  const statusOf = async ({ headers }: Reader, etag = '') => {
    const answer = await call('GET', path, undefined, { ...headers, 'if-none-match': etag })
    return { status: answer.status, etag: answer.headers.get('etag') ?? '' }
  }
  const [before, others] = [await statusOf(carl), await statusOf(bob)]
  await mute(carl, bob)
  const muted = await statusOf(carl, before.etag)
  expect(muted.status).toBe(200)
  expect(await statusOf(carl, muted.etag)).toEqual({ status: 304, etag: muted.etag })
  expect(await statusOf(bob, others.etag)).toEqual({ status: 304, etag: others.etag })
  await unmute(carl, bob)
  expect(await statusOf(carl, muted.etag)).toEqual({ status: 200, etag: before.etag })
})

test('is safe to repeat, and listed newest first, page by page', async () => {
  const [carl, dora] = [await reader('carl'), await reader('dora')]
  const first = await mute(ann, carl)
  await mute(ann, bob)
  await mute(ann, dora)
  expect(await mute(ann, carl)).toEqual(first)
  await Promise.all([1, 2, 3, 4].map(() => mute(ann, bob)))
  expect(await mutedBy(ann)).toEqual([dora.id, bob.id, carl.id])
  const page1 = await ok('GET', '/readers/me/mutes?limit=2', undefined, ann.headers)
  expect(page1).toMatchObject({ hasMore: true, data: [{ reader: { id: dora.id } }, { reader: { id: bob.id } }] })
  expect(await mutedBy(ann, `?cursor=${page1.nextCursor}`)).toEqual([carl.id])
  for (const _ of [1, 2]) await unmute(ann, bob)
  expect(await mutedBy(ann)).toEqual([dora.id, carl.id])
  expect(await mutedBy(bob)).toEqual([])
})

test('two who mute each other at once both do', async () => {
  await Promise.all([1, 2, 3].flatMap(() => [mute(ann, bob), mute(bob, ann)]))
  expect([await mutedBy(ann), await mutedBy(bob)]).toEqual([[bob.id], [ann.id]])
})

test('refuses oneself, who is not there or not in view, and a caller without an identity', async () => {
  const refused = async (method: string, path: string, headers: Headers) => {
    const { status, json } = await call(method, path, undefined, headers)
    return [status, json.code]
  }
  expect(await refused('PUT', `/readers/${ann.id}/mute`, ann.headers)).toEqual([422, 'validation_failed'])
  for (const id of [newId(), 'nonsense']) {
    expect(await refused('PUT', `/readers/${id}/mute`, ann.headers)).toEqual([404, 'not_found'])
    expect(await refused('DELETE', `/readers/${id}/mute`, ann.headers)).toEqual([404, 'not_found'])
  }
  for (const [method, path] of [
    ['PUT', `/readers/${bob.id}/mute`],
    ['DELETE', `/readers/${bob.id}/mute`],
    ['GET', '/readers/me/mutes'],
  ] as const) {
    expect(await refused(method, path, {})).toEqual([403, 'identity_required'])
  }
  const other = await service.addTenant(`t-${newId()}`)
  const theirs = { 'x-api-key': other.apiKey, ...(await other.as('ann')) }
  expect(await refused('PUT', `/readers/${bob.id}/mute`, theirs)).toEqual([404, 'not_found'])
  // In view of a key that does not moderate: who has written something that is in view.
  const { key } = await service.newKey()
  const plain = { 'x-api-key': key, ...ann.headers }
  const silent = await ok('GET', '/readers/me', undefined, await service.as(`silent-${newId()}`))
  expect(await refused('PUT', `/readers/${silent.id}/mute`, plain)).toEqual([404, 'not_found'])
  expect((await call('PUT', `/readers/${bob.id}/mute`, undefined, plain)).status).toBe(200)
})

test('a reader mutes at most 1000 others', async () => {
  const FILL = unnamed(
    `WITH others AS (
       INSERT INTO readers (tenant_id, id, external_id, profile_issued_at)
       SELECT $1, gen_random_uuid(), 'muted-' || $2::uuid || n, now() FROM generate_series(1, 1000) n RETURNING id
     )
     INSERT INTO reader_mutes (tenant_id, id, reader_id, muted_id) SELECT $1, id, $2::uuid, id FROM others`,
  )
  await service.app.db.query(FILL, [service.tenant.id, ann.id])
  const { status, json } = await call('PUT', `/readers/${bob.id}/mute`, undefined, ann.headers)
  expect([status, json.errors[0].code]).toEqual([422, 'too_many'])
})

test('a browser mutes by its client token, and gets the marks over GraphQL, also of events', async () => {
  const { json } = await call('POST', '/client-tokens', { externalIds: [page] }, ann.headers)
  const headers = { authorization: `Bearer ${json.token}` }
  const ask = async (query: string, variables: object): Promise<Json> => {
    const sent = { ...headers, 'content-type': 'application/json' }
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: sent,
      body: JSON.stringify({ query, variables }),
    })
    return response.json()
  }
  const muted = await ask('mutation ($id: ID!) { muteReader(input: { readerId: $id }) { mute { reader { name } } } }', {
    id: bob.id,
  })
  expect(muted).toMatchObject({ data: { muteReader: { mute: { reader: { name: 'bob' } } } } })
  const query = `query ($page: String!) {
    viewer { mutes(first: 5) { nodes { reader { id } } } }
    discussion(by: { externalId: $page }) { id comments(first: 5) { nodes { authorMuted author { id mutes { nodes { createdAt } } } } } }
  }`
  const { data } = await ask(query, { page })
  expect(data.viewer.mutes.nodes).toEqual([{ reader: { id: bob.id } }])
  expect(data.discussion.comments.nodes).toEqual([
    { authorMuted: true, author: { id: bob.id, mutes: null } },
    { authorMuted: null, author: { id: ann.id, mutes: null } },
  ])
  const seen: Record<string, unknown[]> = { ann: [], key: [] }
  const clients = Object.entries({ ann: headers, key: { 'x-api-key': service.apiKey } }).map(([name, sent]) => {
    const client = createClient({ url: `${service.url}/graphql/stream`, headers: sent })
    const subscription = `subscription ($id: ID!) { discussionEvents(discussionId: $id) {
      seq data { ... on CommentEventData { comment { authorMuted } } } } }`
    client.subscribe(
      { query: subscription, variables: { id: data.discussion.id } },
      {
        next: (event: Json) => void seen[name]?.push(event.data?.discussionEvents?.data?.comment?.authorMuted),
        error: () => undefined,
        complete: () => undefined,
      },
    )
    return client
  })
  await vi.waitFor(async () => {
    await post(bob.headers)
    expect(seen.ann?.length).toBeGreaterThan(1)
    expect(seen.key?.length).toBeGreaterThan(1)
  })
  expect(seen.ann).toEqual(seen.ann?.map(() => true))
  expect(seen.key).toEqual(seen.key?.map(() => null))
  for (const client of clients) client.dispose()
  await ask('mutation ($id: ID!) { unmuteReader(input: { readerId: $id }) { unmutedReaderId } }', { id: bob.id })
  expect((await ask(query, { page })).data.viewer.mutes.nodes).toEqual([])
})

test('no event has it', async () => {
  await mute(ann, bob)
  await post(bob.headers)
  const EVENTS = unnamed('SELECT DISTINCT data->$2->>$3 AS mark FROM events WHERE tenant_id = $1 AND type = $4')
  const params = [service.tenant.id, 'comment', 'authorMuted', 'comment_created']
  expect(await service.app.db.query(EVENTS, params)).toEqual([{ mark: null }])
})

test('a merge moves it on both sides', async () => {
  const [carl, dora] = [await reader('carl'), await reader('dora')]
  await mute(ann, carl)
  await mute(ann, dora)
  await mute(carl, ann)
  await mute(carl, dora)
  await mute(dora, carl)
  await ok('POST', `/readers/${carl.id}/merge`, { into: dora.id })
  await expect.poll(() => mutedBy(ann)).toEqual([dora.id])
  // Nobody mutes themselves.
  await expect.poll(() => mutedBy(dora)).toEqual([ann.id])
})

test('an erasure ends it on both sides, and an export has it', async () => {
  await mute(ann, bob)
  await mute(bob, ann)
  const exported = await ok('GET', `/readers/${ann.id}/export`)
  expect(exported.mutes).toEqual([{ readerId: bob.id, createdAt: expect.any(String) }])
  await ok('DELETE', `/readers/${ann.id}`)
  expect(await mutedBy(bob)).toEqual([])
  const ROWS = unnamed(
    'SELECT count(*)::int AS n FROM reader_mutes WHERE tenant_id = $1 AND $2 IN (reader_id, muted_id)',
  )
  expect(await service.app.db.query(ROWS, [service.tenant.id, ann.id])).toEqual([{ n: 0 }])
})
