import { beforeEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { SEARCHED_LATEST } from '../../src/domains/front-pages/latest.ts'
import { callsTo } from '../harness/calls.ts'
import { type Json, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService({ worker: true })
let tenant: TestTenant
let ann: Record<string, string>

// The lists of a tenant are kept for seconds: each test has its own.
beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
  ann = { ...key(), ...(await tenant.as('ann')) }
})

const key = (): Record<string, string> => ({ 'x-api-key': tenant.apiKey })
const { ok } = callsTo(() => service, key)
const post = (page: string, body = newId()): Promise<Json> =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body }, ann)
const latest = async (query = ''): Promise<Json[]> => (await ok('GET', `/latest-comments${query}`)).data
const idsOf = (list: Json[]): string[] => list.map(({ comment }) => comment.id)
const most = async (query = ''): Promise<[string, number][]> =>
  (await ok('GET', `/most-discussed${query}`)).data.map(({ discussion, comments }: Json) => [
    discussion.externalId,
    comments,
  ])

test('the latest comments come newest first, with their discussions', async () => {
  await ok('POST', '/discussions', { externalId: 'one', title: 'A title', url: 'https://site.example/one' })
  const posted = [await post('one'), await post('two'), await post('one')]
  const list = await latest()
  expect(idsOf(list)).toEqual(posted.map(({ id }) => id).toReversed())
  expect(list[0]).toEqual({
    comment: posted[2],
    discussion: await ok('GET', '/discussions/by-external/one'),
  })
  expect(list[0].discussion).toMatchObject({ title: 'A title', url: 'https://site.example/one', commentCount: 2 })
  expect(idsOf(await latest('?limit=2'))).toEqual([posted[2].id, posted[1].id])
})

test('a list ends where the answer would take more than 2 MB', async () => {
  const posted = [await post('long'), await post('long'), await post('long', '&'.repeat(10_000))]
  const ask = async (names: number): Promise<string[][]> => {
    const texts = Array.from({ length: names }, (_, n) => `a${n}: bodyHtml`).join(' ')
    const list = `latestComments(limit: 3) { comment { id ${texts} } }`
    const { json, text } = await service.graphql(`{ one: ${list} other: ${list} }`, {}, key())
    expect(text.length).toBeLessThan(2_000_000)
    return [idsOf(json.data.one), idsOf(json.data.other)]
  }
  const ids = posted.map(({ id }) => id).toReversed()
  expect(await ask(1)).toEqual([ids, ids])
  await post('long', '&'.repeat(9999))
  await vi.waitFor(async () => expect(await latest()).toHaveLength(4))
  const [one = [], other = []] = await ask(14)
  expect([one.length, other.length]).toEqual([3, 0])
})

test('only comments are listed that anyone may read now', async () => {
  const [gone, rejected, ofDeleted, shown] = [await post('a'), await post('a'), await post('b'), await post('a')]
  expect(await latest()).toHaveLength(4)
  await ok('DELETE', `/comments/${gone.id}`, undefined, ann)
  await ok('POST', `/comments/${rejected.id}/reject`)
  await ok('DELETE', `/discussions/${ofDeleted.discussionId}`)
  // At once, although the ids are kept for a while.
  expect(idsOf(await latest())).toEqual([shown.id])
  await ok('PATCH', '/settings', { moderationMode: 'pre' })
  const waiting = await post('a')
  expect(waiting.status).toBe('pending')
  // Nor to its author, for whom the page is not made.
  expect(idsOf((await ok('GET', '/latest-comments', undefined, ann)).data)).toEqual([shown.id])
  await ok('POST', `/comments/${waiting.id}/approve`)
  await vi.waitFor(async () => expect(idsOf(await latest())).toEqual([waiting.id, shown.id]))
})

test('a list with gaps is filled from older comments', async () => {
  const posted: Json[] = []
  for (let n = 0; n < 6; n++) posted.push(await post('page'))
  expect(await latest('?limit=1')).toHaveLength(1)
  for (const { id } of posted.slice(2)) await ok('DELETE', `/comments/${id}`, undefined, ann)
  expect(idsOf(await latest('?limit=2'))).toEqual([posted[1].id, posted[0].id])
})

test('behind a flood that waits, the list is short rather than slow', async () => {
  const { discussionId, author } = await post('page')
  const FLOOD = unnamed(
    `INSERT INTO comments (tenant_id, id, discussion_id, depth, author_id, body, body_html, status)
     SELECT $1, new_id(), $2, 0, $3, 'text', '<p>text</p>', 'pending' FROM generate_series(1, $4::int)`,
  )
  await service.app.db.query(FLOOD, [tenant.tenant.id, discussionId, author.id, SEARCHED_LATEST])
  expect(await latest()).toEqual([])
})

test('the most discussed pages come first, with the comments of the window', async () => {
  for (const page of ['one', 'two', 'two', 'three', 'three', 'three']) await post(page)
  const old = await post('two')
  const AGE = unnamed(
    "UPDATE analytics_deltas SET hour = hour - interval '3 days' WHERE discussion_id = $1 AND tenant_id = $2",
  )
  await service.app.db.query(AGE, [old.discussionId, tenant.tenant.id])
  const FOLDED = unnamed(
    "UPDATE analytics_discussions SET at = at - interval '3 days' WHERE discussion_id = $1 AND tenant_id = $2",
  )
  await service.app.db.query(FOLDED, [old.discussionId, tenant.tenant.id])
  expect(await most()).toEqual([
    ['three', 3],
    ['one', 1],
  ])
  expect(await most('?window=week')).toEqual([
    ['two', 3],
    ['three', 3],
    ['one', 1],
  ])
  expect(await most('?window=month&limit=1')).toEqual([['two', 3]])
  await ok('DELETE', `/discussions/${old.discussionId}`)
  expect(await most('?window=week')).toEqual([
    ['three', 3],
    ['one', 1],
  ])
})

test('another tenant has lists of its own', async () => {
  await post('page')
  const other = await service.addTenant(`t-${newId()}`)
  for (const path of ['/latest-comments', '/most-discussed']) {
    expect(await ok('GET', path, undefined, { 'x-api-key': other.apiKey })).toEqual({ data: [] })
  }
})

test.each([
  '/latest-comments?limit=0',
  '/latest-comments?limit=51',
  '/most-discussed?limit=0',
  '/most-discussed?window=hour',
])('GET %s is refused', async (path) => {
  const { status, json } = await service.call('GET', path, { headers: key() })
  expect([status, json.code]).toEqual([422, 'validation_failed'])
})
