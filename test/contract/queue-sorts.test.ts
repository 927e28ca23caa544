import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { unnamed } from '../harness/sql.ts'
import { type Json, useTenants } from '../harness/tenants.ts'

const world = useTenants()
const { call, ok, post } = world

const settings = (changes: object) => ok('PATCH', '/settings', changes)

async function report(id: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    await ok('POST', `/comments/${id}/report`, { reason: 'spam' }, await world.tenant.as(`reporter-${n}`))
  }
}

const walk = async (query: string, limit = 1, between?: (page: Json) => Promise<unknown>): Promise<string[]> =>
  (await world.entriesOf(`/moderation/queue?limit=${limit}&${query}`, between)).map(({ comment }) => comment.id)

test('filters by reason, reader and discussion, page by page', async () => {
  await settings({ suspectWords: ['casino'], maxLinks: 0 })
  const word = await post('casino', { page: 'one' })
  const link = await post('https://a.example', { as: 'bob', page: 'one' })
  const other = await post('casino', { as: 'bob', page: 'other' })
  expect(await walk('reason=suspect_word')).toEqual([word.id, other.id])
  expect(await walk('reason=reports')).toEqual([])
  expect(await walk(`authorId=${link.author.id}`)).toEqual([link.id, other.id])
  expect(await walk(`authorId=${link.author.id}&reason=suspect_word`)).toEqual([other.id])
  expect(await walk(`authorId=${link.author.id}&discussionId=${link.discussionId}`)).toEqual([link.id])
  expect(await walk(`discussionId=${link.discussionId}&reason=too_many_links`)).toEqual([link.id])
  await ok('POST', '/comments/bulk', { ids: [word.id, link.id, other.id], action: 'reject' })
  expect(await walk(`status=rejected&authorId=${link.author.id}`)).toEqual([other.id, link.id])
  expect(await walk(`status=rejected&authorId=${link.author.id}&sort=oldest`)).toEqual([link.id, other.id])
  expect(await walk(`authorId=${link.author.id}`)).toEqual([])
})

test('filters what nobody has looked at', async () => {
  const [one, two] = [await post('text', { page: 'one' }), await post('text', { as: 'bob', page: 'two' })]
  const three = await post('text', { as: 'bob', page: 'two' })
  await settings({ moderationMode: 'post', suspectWords: ['casino'] })
  const flagged = await post('casino', { page: 'one' })
  const by = (query: string) => walk(`status=unreviewed&${query}`)
  expect(await by(`authorId=${two.author.id}`)).toEqual([three.id, two.id])
  expect(await by(`authorId=${two.author.id}&sort=oldest`)).toEqual([two.id, three.id])
  expect(await by(`discussionId=${one.discussionId}`)).toEqual([flagged.id, one.id])
  expect(await by('reason=suspect_word')).toEqual([flagged.id])
  for (const sort of ['most_reported', 'busiest']) {
    expect((await call('GET', `/moderation/queue?status=unreviewed&sort=${sort}`)).json.errors[0].pointer).toBe('/sort')
  }
})

test('most_reported: by the reports that no moderator has answered', async () => {
  const [none, one, three, two] = [await post(), await post(), await post(), await post()]
  await report(one.id, 1)
  await report(two.id, 2)
  await report(three.id, 3)
  expect(await walk('status=reported&sort=most_reported')).toEqual([three.id, two.id, one.id])
  await ok('POST', `/comments/${three.id}/approve`)
  await ok('POST', `/comments/${three.id}/report`, { reason: 'spam' }, await world.tenant.as('another'))
  // Those with as many: the oldest first.
  expect(await walk('status=reported&sort=most_reported')).toEqual([two.id, one.id, three.id])
  expect(await walk(`status=reported&sort=most_reported&discussionId=${none.discussionId}`, 2)).toHaveLength(3)
})

test('busiest: by the comments of the discussion in 24 hours, and pages stay right while comments leave', async () => {
  await settings({ moderationMode: 'pre' })
  const [quiet, busy1] = [await post('text', { page: 'quiet' }), await post('text', { page: 'busy' })]
  const [middle1, busy2, busy3] = [
    await post('text', { page: 'middle' }),
    await post('text', { page: 'busy' }),
    await post('text', { page: 'busy' }),
  ]
  const middle2 = await post('text', { page: 'middle' })
  const order = [busy1, busy2, busy3, middle1, middle2, quiet].map(({ id }) => id)
  expect(await walk('sort=busiest')).toEqual(order)
  // What is shown is judged, either way, and others post meanwhile.
  let n = 0
  const left = await walk('sort=busiest', 1, async ({ data }) => {
    for (const { comment } of data) await ok('POST', `/comments/${comment.id}/${n++ % 2 === 0 ? 'approve' : 'reject'}`)
    await settings({ moderationMode: 'none' })
    for (let more = 0; more < 2; more++) await post('text', { page: 'quiet' })
    await settings({ moderationMode: 'pre' })
  })
  expect(left).toEqual(order)
})

test('the comments of a day before do not make a discussion busy', async () => {
  await settings({ moderationMode: 'pre' })
  const old = await post('text', { page: 'old' })
  const FILL = unnamed(
    `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, created_at)
     SELECT $1, (lpad(to_hex((extract(epoch FROM now() - interval '25 hours') * 1000)::bigint + n), 12, '0') || '70008000000000000000')::uuid,
       $2, $3, 'x', 'x', 'approved', now() - interval '25 hours' FROM generate_series(1, 5) n`,
  )
  await world.service.app.db.query(FILL, [world.tenant.tenant.id, old.discussionId, old.author.id])
  const [one, two] = [await post('text', { page: 'new' }), await post('text', { page: 'new' })]
  expect(await walk('sort=busiest')).toEqual([one.id, two.id, old.id])
})

test('a queue of more than 10 000 is a list of stretches, without gap or repetition, while comments leave', async () => {
  await settings({ moderationMode: 'pre' })
  const seed = await post()
  const FILL = unnamed(
    `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, hold_reason, report_count, created_at)
     SELECT $1, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint + 1000 + n), 12, '0') || '70008000000000000000')::uuid,
       $2, $3, 'x', 'x', 'pending', CASE WHEN n % 5000 = 1 THEN 'classifier' ELSE 'pre_moderation' END, n / 5000, now()
     FROM generate_series(1, 20005) n`,
  )
  await world.service.app.db.query(FILL, [world.tenant.tenant.id, seed.discussionId, seed.author.id])
  const all = await walk('reason=classifier', 2)
  expect(all).toHaveLength(5)
  expect(all.toSorted()).toEqual(all)
  expect(await walk(`authorId=${seed.author.id}&reason=classifier`, 2)).toEqual(all)
  expect(await walk('sort=newest&reason=classifier', 2)).toEqual(all.toReversed())
  const ranked = await walk('reason=classifier&sort=most_reported', 1, async ({ data }) => {
    for (const { comment } of data) await ok('POST', `/comments/${comment.id}/reject`)
  })
  // 10 000 are ranked at once: the first stretch has the first three, of which two have no report.
  expect(ranked).toEqual([all[1], all[0], all[3], all[2], all[4]])
})

test('refuses other sorts, ids and cursors', async () => {
  await settings({ moderationMode: 'pre' })
  await post()
  const { nextCursor } = (await post(), await ok('GET', '/moderation/queue?sort=busiest&limit=1'))
  const codeOf = async (query: string) => (await call('GET', `/moderation/queue?${query}`)).json.code
  expect(await codeOf(`sort=most_reported&cursor=${nextCursor}`)).toBe('validation_failed')
  expect(await codeOf(`cursor=${nextCursor}`)).toBe('validation_failed')
  expect(await codeOf('sort=best')).toBe('validation_failed')
  const at = new Date().toISOString()
  for (const key of [
    [at, 'x', '', '', ''],
    [at, '', '', '1', ''],
    ['x', '', '', '', ''],
    [at, '', '', '-1', newId()],
  ]) {
    const cursor = Buffer.from(JSON.stringify(['pending-busiest', ...key])).toString('base64url')
    expect(await codeOf(`sort=busiest&cursor=${cursor}`)).toBe('validation_failed')
  }
  const other = await world.service.addTenant(`t-${newId()}`)
  const theirs = { headers: { 'x-api-key': other.apiKey, ...(await other.as('ada')) }, body: { body: 'text' } }
  const { author, discussionId } = (await world.service.call('POST', '/discussions/by-external/page/comments', theirs))
    .json
  for (const query of [`authorId=${author.id}`, `discussionId=${discussionId}&reason=reports`, 'authorId=x']) {
    expect(await codeOf(query)).toBe('not_found')
  }
})
