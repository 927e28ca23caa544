import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { applyVerdict } from '../../src/domains/classifier/verdicts.ts'
import type { DueRequest } from '../../src/domains/classifier/sql.ts'
import { exportText, importText } from '../harness/exports.ts'
import { unnamed } from '../harness/sql.ts'
import { statementsOf } from '../harness/statements.ts'
import { type Json, useTenants } from '../harness/tenants.ts'

const world = useTenants()
const { call, ok, post } = world

const queue = async (query = ''): Promise<Json> => ok('GET', `/moderation/queue?status=unreviewed${query}`)

const idsIn = (page: Json): string[] => page.data.map(({ comment }: Json) => comment.id)

/** All pages of the queue, `limit` entries each. */
const walk = async (limit: number, query = ''): Promise<string[]> =>
  idsIn({ data: await world.entriesOf(`/moderation/queue?status=unreviewed&limit=${limit}${query}`) })

const AUDITED = unnamed(
  `SELECT count(*)::int AS n FROM audit_log WHERE tenant_id = $1 AND action = 'comment.review' AND target_id = $2`,
)
const reviewsOf = async (id: string): Promise<number | undefined> =>
  (await world.service.app.db.query<{ n: number }>(AUDITED, [world.tenant.tenant.id, id]))[0]?.n

test('the queue has what the rules have approved and nobody has looked at, newest first', async () => {
  const [one, two, three] = [await post(), await post(), await post()]
  await ok('PATCH', '/settings', { moderationMode: 'pre' })
  await post('it waits')
  const page = await queue()
  expect(page).toMatchObject({ hasMore: false, nextCursor: null, partial: false })
  expect(idsIn(page)).toEqual([three.id, two.id, one.id])
  expect(page.data[0]).toMatchObject({ reportCount: 0, reason: null, holdDetails: [], reviewedAt: null })
  expect(await walk(1)).toEqual([three.id, two.id, one.id])
})

test('it can be of one discussion', async () => {
  const one = await post('text', { page: 'one' })
  const other = await post('text', { page: 'other' })
  expect(await walk(1, `&discussionId=${one.discussionId}`)).toEqual([one.id])
  expect(await walk(1, `&discussionId=${other.discussionId}`)).toEqual([other.id])
  expect((await call('GET', `/moderation/queue?status=unreviewed&discussionId=${newId()}`)).json.code).toBe('not_found')
})

test('a review takes a comment out once, and is audited once', async () => {
  const [one, two] = [await post(), await post()]
  const reviews = await Promise.all([1, 2, 3].map(() => ok('POST', `/comments/${one.id}/review`)))
  expect(reviews.map(({ id, status }) => ({ id, status }))).toEqual(
    Array.from({ length: 3 }, () => ({ id: one.id, status: 'approved' })),
  )
  expect(await walk(10)).toEqual([two.id])
  expect(await reviewsOf(one.id)).toBe(1)
})

test('pages stay right while comments leave', async () => {
  const ids: string[] = []
  for (let n = 0; n < 7; n++) ids.unshift((await post()).id)
  const first = await queue('&limit=3')
  for (const id of [ids[0], ids[2], ids[4]]) await ok('POST', `/comments/${id}/review`)
  const second = await queue(`&limit=10&cursor=${first.nextCursor}`)
  expect([...idsIn(first), ...idsIn(second)]).toEqual(ids.filter((id) => id !== ids[4]))
})

test.each([
  [
    'an approval',
    async (id: string) => {
      await ok('POST', `/comments/${id}/reject`)
      await ok('POST', `/comments/${id}/approve`)
    },
  ],
  [
    'an answer to reports',
    async (id: string) => {
      await ok('POST', `/comments/${id}/report`, { reason: 'spam' }, await world.tenant.as('bob'))
      await ok('POST', `/comments/${id}/approve`)
    },
  ],
  [
    'a pin',
    async (id: string) => {
      await ok('POST', `/comments/${id}/pin`)
      await ok('POST', `/comments/${id}/unpin`)
    },
  ],
  [
    'a bulk action',
    async (id: string) => {
      for (const action of ['reject', 'approve']) await ok('POST', '/comments/bulk', { ids: [id], action })
    },
  ],
  [
    'a bulk review',
    async (id: string) => {
      await ok('POST', '/comments/bulk', { ids: [id], action: 'review', revisions: [1] })
    },
  ],
])('%s marks it as well, and an edit takes the mark off', async (_name, act) => {
  const { id } = await post()
  const isListed = async () => (await walk(10)).includes(id)
  expect(await isListed()).toBe(true)
  await act(id)
  expect(await isListed()).toBe(false)
  await ok('PATCH', `/comments/${id}`, { body: 'another text' }, await world.tenant.as('ada'))
  expect(await isListed()).toBe(true)
})

test('a report or a verdict of the classifier is no look of a moderator', async () => {
  const { id } = await post()
  await ok('PATCH', '/settings', { reportThreshold: 1, moderationMode: 'none' })
  await ok('POST', `/comments/${id}/report`, { reason: 'spam' }, await world.tenant.as('bob'))
  const [item] = (await ok('GET', '/moderation/queue')).data
  expect(item).toMatchObject({ comment: { id, status: 'pending' }, reviewedAt: null })
  const ASK = unnamed('INSERT INTO classifier_requests VALUES ($1, $2, 1, now())')
  await world.service.app.db.query(ASK, [world.tenant.tenant.id, id])
  const due = { tenantId: world.tenant.tenant.id, id, revision: 1 } as DueRequest
  await applyVerdict(world.service.app, due, 'approve')
  expect(await walk(10)).toEqual([id])
})

test('moderators see when a judged comment was looked at', async () => {
  const { id } = await post()
  await ok('POST', `/comments/${id}/reject`)
  const [item] = (await ok('GET', '/moderation/queue?status=rejected')).data
  expect(item.reviewedAt).toMatch(/^\d{4}-.*Z$/)
})

test('only moderators get it', async () => {
  const { id, discussionId } = await post()
  await ok('POST', `/comments/${id}/review`)
  const { key } = await ok('POST', '/keys', { label: 'plain', capabilities: [] })
  const plain = { 'x-api-key': key, ...(await world.tenant.as('ada')) }
  expect((await call('POST', `/comments/${id}/review`, undefined, plain)).json.code).toBe('missing_capability')
  for (const path of [`/comments/${id}`, `/discussions/${discussionId}/comments`]) {
    expect(JSON.stringify(await ok('GET', path, undefined, plain))).not.toContain('reviewed')
  }
  const EVENTS = unnamed('SELECT data::text FROM events WHERE tenant_id = $1')
  expect(JSON.stringify(await world.service.app.db.query(EVENTS, [world.tenant.tenant.id]))).not.toContain('reviewed')
})

test('refuses what is not in view, an older text, and other tenants', async () => {
  const { id } = await post()
  await ok('PATCH', `/comments/${id}`, { body: 'another text' }, await world.tenant.as('ada'))
  const refused = async (body?: object) => {
    const { status, json } = await call('POST', `/comments/${id}/review`, body)
    return [status, json.code]
  }
  expect(await refused({ revision: 1 })).toEqual([409, 'invalid_transition'])
  expect(await refused({ revision: 0 })).toEqual([422, 'validation_failed'])
  const bulk = { ids: [id], action: 'review' }
  expect((await ok('POST', '/comments/bulk', { ...bulk, revisions: [1] })).data[0]).toMatchObject({ ok: false })
  expect((await call('POST', '/comments/bulk', { ...bulk, reason: 'spam' })).json.code).toBe('validation_failed')
  const other = await world.service.addTenant(`t-${newId()}`)
  const theirs = { 'x-api-key': other.apiKey }
  expect((await call('POST', `/comments/${id}/review`, undefined, theirs)).json.code).toBe('not_found')
  expect(await walk(10)).toEqual([id])
  await ok('POST', `/comments/${id}/review`, { revision: 2 })
  await ok('POST', `/comments/${id}/reject`)
  expect(await refused()).toEqual([409, 'invalid_transition'])
  expect((await call('GET', '/moderation/queue?status=unreviewed&cursor=nonsense')).json.code).toBe('validation_failed')
})

test('a judged comment keeps its mark in an export and an import', async () => {
  const [reviewed, other] = [await post(), await post()]
  await ok('POST', `/comments/${reviewed.id}/review`)
  const to = await world.service.addTenant(`t-${newId()}`)
  await importText(world.service.app, to, await exportText(world.service.app, world.tenant))
  world.tenant = to
  expect(await walk(10)).toEqual([other.id])
})

test('a request looks at 10 000 comments at most, and the list goes on', async () => {
  const seed = await post()
  const FILL = unnamed(
    `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, created_at, reviewed_at)
     SELECT $1, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint + 1000 + n), 12, '0') || '70008000000000000000')::uuid,
       $2, $3, 'x', 'x', 'approved', now(), now()
     FROM generate_series(1, 10500) n`,
  )
  await world.service.app.db.query(FILL, [world.tenant.tenant.id, seed.discussionId, seed.author.id])
  const { result: page, statements } = await statementsOf(world.service, () => queue())
  expect(page).toMatchObject({ data: [], hasMore: true, partial: true })
  expect(statements.filter((name) => name.startsWith('search_comments'))).toHaveLength(1)
  expect(await queue(`&cursor=${page.nextCursor}`)).toMatchObject({
    data: [{ comment: { id: seed.id } }],
    hasMore: false,
    partial: false,
  })
})
