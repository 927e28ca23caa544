import { beforeAll, beforeEach, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import { addMember, bearing, type TestMember, tokenFor } from '../harness/members.ts'
import { type Json, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let tenant: TestTenant
let [ann, bob]: TestMember[] = []
const first = (): TestMember => ann as TestMember
const second = (): TestMember => bob as TestMember

beforeAll(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
  ann = await addMember(service, tenant, 'moderator')
  bob = await addMember(service, tenant, 'editor')
})
beforeEach(async () => {
  posted.clear()
  await asKey('PATCH', '/settings', { moderationMode: 'pre' })
})

const { ok } = callsTo(() => service)
const asKey = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Json> =>
  ok(method, path, body, { 'x-api-key': tenant.apiKey, ...headers })
const as = ({ headers }: TestMember, method: string, path: string, body?: unknown): Promise<Json> =>
  ok(method, path, body, { 'x-api-key': '', ...headers })

/** The comments of one test. */
const posted = new Set<string>()

async function post(): Promise<string> {
  const path = '/discussions/by-external/page/comments'
  const { id } = await asKey('POST', path, { body: 'text' }, await tenant.as('ada'))
  posted.add(id)
  return id
}

const claim = async (member: TestMember, ...ids: string[]): Promise<boolean[]> =>
  (await as(member, 'POST', '/moderation/claim', { ids })).data.map(({ held }: Json) => held)

const holders = async (status = 'pending'): Promise<Record<string, string | null>> => {
  const { data } = await asKey('GET', `/moderation/queue?status=${status}&limit=100`)
  const own = data.filter(({ comment }: Json) => posted.has(comment.id))
  return Object.fromEntries(own.map(({ comment, claimedBy }: Json) => [comment.id, claimedBy?.id ?? null]))
}

const ROWS = unnamed('SELECT count(*)::int AS n FROM comment_claims WHERE comment_id = $1')
const rowsOf = async (id: string) => (await service.app.db.query<{ n: number }>(ROWS, [id]))[0]?.n

const LAPSE = unnamed(`UPDATE comment_claims SET expires_at = now() - interval '1 ms' WHERE comment_id = $1`)

test('a member holds what nobody else holds, and both see who holds what', async () => {
  const [one, two] = [await post(), await post()]
  expect(await claim(first(), one)).toEqual([true])
  const { data } = await as(second(), 'POST', '/moderation/claim', { ids: [two, one, newId(), 'x'] })
  expect(data).toEqual([
    { id: two, held: true, claimedBy: { id: second().id, name: 'The editor' } },
    { id: one, held: false, claimedBy: { id: first().id, name: 'The moderator' } },
    { id: expect.any(String), held: false, claimedBy: null },
    { id: 'x', held: false, claimedBy: null },
  ])
  expect(await holders()).toEqual({ [one]: first().id, [two]: second().id })
})

test('claiming again prolongs, and a lapsed claim is free', async () => {
  const id = await post()
  await claim(first(), id)
  const ENDS = unnamed(`UPDATE comment_claims SET expires_at = now() + interval '1 minute' WHERE comment_id = $1`)
  await service.app.db.query(ENDS, [id])
  expect(await claim(first(), id)).toEqual([true])
  const LEFT = unnamed(
    'SELECT extract(epoch FROM expires_at - now())::int AS s FROM comment_claims WHERE comment_id = $1',
  )
  expect((await service.app.db.query<{ s: number }>(LEFT, [id]))[0]?.s).toBeGreaterThan(280)
  await service.app.db.query(LAPSE, [id])
  expect(await holders()).toEqual({ [id]: null })
  expect(await claim(second(), id)).toEqual([true])
  expect(await claim(first(), id)).toEqual([false])
})

test.each([
  ['approve', undefined],
  ['reject', undefined],
])('a judgement (%s) ends a claim, also one of a colleague', async (action, body) => {
  const id = await post()
  await claim(first(), id)
  await as(second(), 'POST', `/comments/${id}/${action}`, body)
  expect(await rowsOf(id)).toBe(0)
})

test('a review, a deletion, and the erasure of the author end a claim; a pin does not', async () => {
  const [reviewed, deleted, erased] = [await post(), await post(), await post()]
  await asKey('POST', '/comments/bulk', { ids: [reviewed, deleted, erased], action: 'approve' })
  await asKey('PATCH', `/comments/${reviewed}`, { body: 'another text' }, await tenant.as('ada'))
  await asKey('POST', `/comments/${reviewed}/approve`)
  await asKey('PATCH', '/settings', { moderationMode: 'none' })
  await asKey('PATCH', `/comments/${reviewed}`, { body: 'a third text' }, await tenant.as('ada'))
  await claim(first(), reviewed, deleted, erased)
  await asKey('POST', `/comments/${deleted}/pin`)
  expect(await rowsOf(deleted)).toBe(1)
  await asKey('POST', `/comments/${reviewed}/review`)
  await asKey('DELETE', `/comments/${deleted}`)
  expect([await rowsOf(reviewed), await rowsOf(deleted), await rowsOf(erased)]).toEqual([0, 0, 1])
  const { author } = await asKey('GET', `/comments/${erased}`)
  await asKey('DELETE', `/readers/${author.id}`)
  expect(await rowsOf(erased)).toBe(0)
  expect(await claim(first(), deleted, erased)).toEqual([false, false])
})

test('gives back some, or all of the own', async () => {
  const ids = [await post(), await post(), await post()]
  const [one, two, three] = ids as [string, string, string]
  await claim(first(), one, two)
  await claim(second(), three)
  await as(first(), 'DELETE', '/moderation/claim', { ids: [one, three] })
  expect(await holders()).toEqual({ [one]: null, [two]: first().id, [three]: second().id })
  await as(first(), 'DELETE', '/moderation/claim')
  expect(await holders()).toEqual({ [one]: null, [two]: null, [three]: second().id })
})

test.each([
  ['disabled', { state: 'disabled' }],
  ['no moderator any more', { role: 'analyst' }],
  ['removed', null],
])('a member who is %s holds none', async (_name, change) => {
  const id = await post()
  const member = await addMember(service, tenant, 'moderator')
  await claim(member, id)
  const owner = bearing(await tokenFor(service, { ...tenant.admin, tenant: tenant.tenant.slug }))
  const path = `/admin/members/${member.id}`
  await ok(change === null ? 'DELETE' : 'PATCH', path, change ?? undefined, { 'x-api-key': '', ...owner })
  expect(await holders()).toEqual({ [id]: null })
  expect(await claim(second(), id)).toEqual([true])
})

test('many members who claim the same comments at once: each has one holder', async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, () => post()))
  const held = await Promise.all(
    Array.from({ length: 20 }, async (_each, n) => {
      const mine = n % 2 === 0 ? ids : ids.toReversed()
      const outcomes = (await as(n % 4 < 2 ? first() : second(), 'POST', '/moderation/claim', { ids: mine })).data
      return outcomes.flatMap(({ id, held: isMine, claimedBy }: Json) => (isMine ? [`${id} ${claimedBy.id}`] : []))
    }),
  )
  expect(new Set(held.flat()).size).toBe(ids.length)
})

test('refuses keys, other roles, and too many; knows no comments of another tenant', async () => {
  const id = await post()
  const send = (headers: Record<string, string>, body: object, method = 'POST') =>
    service.call(method, '/moderation/claim', { headers: { 'x-api-key': '', ...headers }, body })
  for (const method of ['POST', 'DELETE']) {
    const { status, json } = await send({ 'x-api-key': tenant.apiKey }, { ids: [id] }, method)
    expect([status, json.code, json.detail]).toEqual([403, 'admin_only', expect.stringContaining('signed in')])
  }
  const analyst = await addMember(service, tenant, 'analyst')
  expect((await send(analyst.headers, { ids: [id] })).json.code).toBe('missing_capability')
  for (const ids of [[], Array(51).fill(id)]) {
    expect((await send(first().headers, { ids })).json.code).toBe('validation_failed')
  }
  const other = await service.addTenant(`t-${newId()}`)
  const theirs = await addMember(service, other, 'moderator')
  expect((await send(theirs.headers, { ids: [id] })).json.data).toEqual([{ id, held: false, claimedBy: null }])
  expect(await rowsOf(id)).toBe(0)
})
