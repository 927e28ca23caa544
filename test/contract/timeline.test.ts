import { beforeEach, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { unnamed } from '../harness/sql.ts'
import { type Json, useTenants } from '../harness/tenants.ts'

const world = useTenants()
const { call, ok } = world
beforeEach(() => ok('PATCH', '/settings', { moderationMode: 'none', reportThreshold: 100 }))

const post = async (reader = 'ada', body = 'text'): Promise<Json> =>
  ok('POST', '/discussions/by-external/page/comments', { body }, await world.tenant.as(reader))

const report = async (id: string, reader: string): Promise<Json> =>
  ok('POST', `/comments/${id}/report`, { reason: 'spam', note: `by ${reader}` }, await world.tenant.as(reader))

/** All entries, `limit` a page. */
async function walk(readerId: string, limit = 100): Promise<Json[]> {
  const entries: Json[] = []
  for (let cursor = ''; ;) {
    const page = await ok('GET', `/readers/${readerId}/timeline?limit=${limit}${cursor}`)
    expect(page.data.length).toBeLessThanOrEqual(limit)
    entries.push(...page.data)
    if (!page.hasMore) return entries
    cursor = `&cursor=${page.nextCursor}`
  }
}

/** What has happened around ada, and what happened around others beside it. */
async function story() {
  const first = await post('ada', 'first')
  const others = await post('bob')
  await report(first.id, 'bob')
  await report(others.id, 'ada')
  await ok('POST', `/comments/${first.id}/reject`, { reason: 'abuse', message: 'Be kind.' })
  const note = await ok('POST', `/readers/${first.author.id}/notes`, { text: 'Look again.' })
  await ok('POST', `/readers/${first.author.id}/ban`, { reason: 'abuse' })
  await ok('POST', `/readers/${first.author.id}/unban`)
  await ok('PUT', `/readers/${first.author.id}/trust`, { trust: 'hold' })
  await ok('POST', `/comments/${others.id}/approve`)
  await ok('POST', `/comments/${first.id}/approve`)
  const second = await post('ada', 'second')
  await ok('DELETE', `/comments/${second.id}`)
  return { first, second, others, note, ada: first.author.id as string, bob: others.author.id as string }
}

const KINDS = 'decision comment decision trust ban ban note decision report_made report_received comment'.split(' ')

test('it lists everything that belongs to the reader, newest first, and nothing else', async () => {
  const { first, second, others, note, ada, bob } = await story()
  const entries = await walk(ada)
  expect(entries.map(({ kind }) => kind)).toEqual(KINDS)
  for (const { at, auditEntry, note: noted } of entries) {
    expect([auditEntry?.at ?? at, noted?.createdAt ?? at]).toEqual([at, at])
  }
  const [deletion, , approval, trust, unban, ban, noted, rejection, made, received, written] = entries
  const nothing = { comment: null, report: null, note: null, auditEntry: null }
  expect(written).toEqual({ ...nothing, kind: 'comment', at: expect.any(String), comment: expect.any(Object) })
  expect(written.comment).toMatchObject({ id: first.id, body: 'first', status: 'approved' })
  expect(received).toMatchObject({ ...nothing, comment: { id: first.id }, report: { reason: 'spam', note: 'by bob' } })
  expect(received.report).toMatchObject({
    counted: true,
    createdAt: received.at,
    reader: { id: bob, externalId: 'bob' },
  })
  expect(made).toMatchObject({ comment: { id: others.id }, report: { note: 'by ada', reader: { id: ada } } })
  expect(rejection).toMatchObject({ comment: { id: first.id }, report: null, note: null })
  expect(rejection.auditEntry).toMatchObject({
    action: 'comment.reject',
    actor: { kind: 'key' },
    after: { status: 'rejected', reason: 'abuse', message: 'Be kind.' },
  })
  expect(noted).toEqual({ ...nothing, kind: 'note', at: expect.any(String), note })
  expect(ban).toMatchObject({ ...nothing, auditEntry: { action: 'reader.ban', targetId: ada } })
  expect(unban.auditEntry.action).toBe('reader.unban')
  expect(trust.auditEntry).toMatchObject({ action: 'reader.set_trust', after: { trust: 'hold' } })
  expect(approval).toMatchObject({ comment: { id: first.id }, auditEntry: { action: 'comment.approve' } })
  expect(deletion).toMatchObject({
    comment: { id: second.id, status: 'deleted' },
    auditEntry: { action: 'comment.delete' },
  })
})

test.each([1, 2, 3, 7])('pages of %i have every entry once, also where many are of one millisecond', async (size) => {
  const { first, ada } = await story()
  for (const reader of ['carl', 'dora', 'emma', 'finn']) await report(first.id, reader)
  const AT = unnamed("UPDATE reports SET created_at = date_trunc('second', now()) WHERE tenant_id = $1")
  await world.service.app.db.query(AT, [world.tenant.tenant.id])
  const whole = await walk(ada)
  expect(whole).toHaveLength(KINDS.length + 4)
  expect(await walk(ada, size)).toEqual(whole)
})

test('kind leaves the entries of one kind, page by page', async () => {
  const { ada } = await story()
  const whole = await walk(ada)
  for (const kind of new Set(KINDS)) {
    const page = await ok('GET', `/readers/${ada}/timeline?kind=${kind}&limit=1`)
    const { nextCursor: cursor } = page
    const rest = cursor === null ? [] : (await ok('GET', `/readers/${ada}/timeline?kind=${kind}&cursor=${cursor}`)).data
    expect([...page.data, ...rest]).toEqual(whole.filter((entry) => entry.kind === kind))
  }
  expect((await call('GET', `/readers/${ada}/timeline?kind=nothing`)).json.code).toBe('validation_failed')
})

test('what comes while it is read moves nothing', async () => {
  const { ada } = await story()
  const whole = await walk(ada)
  const page = await ok('GET', `/readers/${ada}/timeline?limit=4`)
  await post('ada', 'later')
  await ok('POST', `/readers/${ada}/notes`, { text: 'later' })
  const rest = await ok('GET', `/readers/${ada}/timeline?cursor=${page.nextCursor}`)
  expect([...page.data, ...rest.data]).toEqual(whole)
  expect(rest.hasMore).toBe(false)
})

test('reports and decisions are those on the newest 1000 comments, and all comments are listed', async () => {
  const { first, ada } = await story()
  const FILL = unnamed(
    `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, created_at)
     SELECT $1, (left($2::text, 13) || '-7fff-bfff-' || lpad(n::text, 12, '0'))::uuid, $3, $4, 'x', 'x', 'approved', now()
     FROM generate_series(1, 1000) n`,
  )
  const newest = await post('ada', 'newest')
  await world.service.app.db.query(FILL, [world.tenant.tenant.id, newest.id, first.discussionId, ada])
  const entries = await walk(ada)
  expect(entries.filter(({ kind }) => kind === 'comment')).toHaveLength(1003)
  expect(entries.map(({ kind }) => kind).filter((kind) => kind !== 'comment')).toEqual(
    KINDS.filter((kind) => kind !== 'comment' && kind !== 'decision' && kind !== 'report_received'),
  )
})

const byText = (a: string, b: string) => a.localeCompare(b)

test('a merge brings what the other reader has, and takes reports between the two back', async () => {
  const { ada, bob } = await story()
  await ok('POST', `/readers/${bob}/merge`, { into: ada })
  const kinds = [...KINDS.filter((kind) => !kind.startsWith('report')), 'comment', 'decision']
  const found = (await walk(ada)).map(({ kind }) => kind)
  expect(found.toSorted(byText)).toEqual(kinds.toSorted(byText))
  expect((await call('GET', `/readers/${bob}/timeline`)).json).toMatchObject({ code: 'not_found' })
})

test('only moderators of the tenant read it', async () => {
  const { ada } = await story()
  const { key } = await ok('POST', '/keys', { label: 'settings', capabilities: ['manage_settings'] })
  expect((await call('GET', `/readers/${ada}/timeline`, undefined, { 'x-api-key': key })).json.code).toBe(
    'missing_capability',
  )
  const other = await world.service.addTenant(`t-${newId()}`)
  const theirs = { 'x-api-key': other.apiKey }
  expect((await call('GET', `/readers/${ada}/timeline`, undefined, theirs)).json.code).toBe('not_found')
  expect((await call('GET', `/readers/${newId()}/timeline`)).json.code).toBe('not_found')
  expect((await call('GET', '/readers/nonsense/timeline')).json.code).toBe('not_found')
})

test.each([
  ['timeline', -1, 'comment', newId(), newId()],
  ['timeline', 2 ** 48 - 1, 'comment', newId(), newId()],
  ['timeline', 1.5, 'comment', newId(), newId()],
  ['timeline', 1, 'nothing', newId(), newId()],
  ['timeline', 1, 'comment', 'x', newId()],
  ['timeline', 1, 'comment', newId(), 'x'],
  ['timeline', 1, 'comment', newId()],
  ['notes', newId()],
])('the cursor %j is refused', async (...parts) => {
  const { author } = await post()
  const cursor = Buffer.from(JSON.stringify(parts)).toString('base64url')
  const { status, json } = await call('GET', `/readers/${author.id}/timeline?cursor=${cursor}`)
  expect([status, json.code]).toEqual([422, 'validation_failed'])
})
