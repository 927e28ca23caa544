import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { continueBanSweep } from '../../src/domains/moderation/ban-sweep.ts'
import { effort } from '../harness/effort.ts'
import { PATIENT } from '../harness/service.ts'
import { type Json, useTenants } from '../harness/tenants.ts'

/** Comments of one turn of a worker. */
const TURN = 100
const SETTLED_MS = 11_000

const world = useTenants({ env: PATIENT })
const { call, ok, post } = world

const many = async (count: number): Promise<string[]> => {
  const posted = await Promise.all(Array.from({ length: count }, (_, n) => post(`text ${n}`)))
  return posted.map(({ id }) => id as string).toSorted()
}

const readerId = async (externalId = 'ada'): Promise<string> =>
  (await ok('GET', `/readers?externalId=${externalId}`)).data[0].id

const ban = async (comments: string, more: object = {}): Promise<Json> =>
  ok('POST', `/readers/${await readerId()}/ban`, { comments, ...more })

const banNow = async (): Promise<Json> => (await ok('GET', `/readers/${await readerId()}`)).ban

const statusOf = async (id: string): Promise<string> => (await ok('GET', `/comments/${id}`)).status

const turn = (now = new Date(), signal = new AbortController().signal): Promise<boolean> =>
  continueBanSweep(world.service.app, signal, now)

/** Works until nothing is left, also after the time for comments that were on their way. */
async function work(): Promise<void> {
  while (await turn()) continue
  while (await turn(new Date(Date.now() + SETTLED_MS))) continue
}

const auditOf = (targetId: string) =>
  world.service.app.prisma.auditEntry.findMany({
    where: { tenantId: world.tenant.tenant.id, targetId },
    orderBy: { id: 'desc' },
  })

const actionsOn = async (id: string): Promise<string[]> => (await auditOf(id)).map(({ action }) => action)

test('a ban withholds what is in view, and nothing else', async () => {
  const [approved, rejected] = [await post('approved'), await post('rejected')]
  await ok('POST', `/comments/${rejected.id}/reject`)
  const reply = await post('a reply', { as: 'bob', parentId: approved.id })
  const banned = await ban('withhold')
  expect(banned.ban.comments).toEqual({ action: 'withhold', total: null, done: 0, completedAt: null })
  expect(await statusOf(approved.id)).toBe('approved')
  await work()
  expect((await banNow()).comments).toEqual({
    action: 'withhold',
    total: 1,
    done: 1,
    completedAt: expect.stringMatching(/Z$/),
  })
  expect(await statusOf(approved.id)).toBe('pending')
  expect(await statusOf(rejected.id)).toBe('rejected')
  expect(await statusOf(reply.id)).toBe('approved')
  const { data } = await ok('GET', '/moderation/queue?status=pending')
  expect(data.map(({ comment, reason }: Json) => [comment.id, reason])).toEqual([[approved.id, 'author_banned']])
  expect((await ok('GET', '/discussions/by-external/page')).commentCount).toBe(1)
  const where = { tenantId: world.tenant.tenant.id, discussionId: approved.discussionId }
  const event = await world.service.app.prisma.event.findFirstOrThrow({ where, orderBy: { seq: 'desc' } })
  expect(event).toMatchObject({ type: 'comment_edited', audience: 'public', actor: { kind: 'system' } })
  // A moderator brings it back, and it stays so.
  await ok('POST', `/comments/${approved.id}/approve`)
  await work()
  expect(await statusOf(approved.id)).toBe('approved')
})

test('a ban rejects what is approved or pending, as the moderator who bans would', async () => {
  const approved = await post('approved')
  await ok('PATCH', '/settings', { moderationMode: 'pre' })
  const pending = await post('pending')
  await ok('PATCH', '/settings', { moderationMode: 'none' })
  const archived = await post('archived', { page: 'old' })
  await ok('POST', `/discussions/${archived.discussionId}/archive`)
  await ban('reject')
  await work()
  expect(await Promise.all([approved, pending, archived].map(({ id }) => statusOf(id)))).toEqual([
    'rejected',
    'rejected',
    'approved',
  ])
  expect((await banNow()).comments).toMatchObject({ total: 2, done: 2 })
  expect(await actionsOn(approved.id)).toEqual(['comment.reject'])
  const own = await ok('GET', '/readers/me/comments', undefined, await world.tenant.as('ada'))
  expect(own.data.find(({ id }: Json) => id === approved.id).decision).toMatchObject({
    action: 'reject',
    automated: false,
  })
  const [entry] = await auditOf(await readerId())
  expect(entry).toMatchObject({ action: 'reader.ban', after: { comments: 'reject' } })
})

test('workers side by side change each comment once, and count it once', async () => {
  const count = effort(TURN + 20, 30)
  const ids = await many(count)
  await ban('reject')
  await Promise.all([1, 2, 3].map(() => turn()))
  await Promise.all([1, 2, 3].map(() => work()))
  expect((await banNow()).comments).toMatchObject({ total: count, done: count })
  for (const id of [ids[0], ids.at(-1)]) expect(await actionsOn(id!)).toEqual(['comment.reject'])
})

test('its end stops the work, and a stop of the worker loses none of it', async () => {
  const ids = await many(TURN + 5)
  await ban('withhold')
  const stopping = new AbortController()
  stopping.abort()
  expect(await turn(new Date(), stopping.signal)).toBe(true)
  expect((await banNow()).comments).toMatchObject({ total: TURN + 5, done: 0 })
  await turn()
  expect((await banNow()).comments).toMatchObject({ done: TURN, completedAt: null })
  await ok('POST', `/readers/${await readerId()}/unban`)
  expect(await turn()).toBe(false)
  expect([await statusOf(ids[0]!), await statusOf(ids.at(-1)!)]).toEqual(['pending', 'approved'])
  await ban('keep')
  expect((await banNow()).comments).toBeNull()
  expect(await turn()).toBe(false)
})

test('a comment that was on its way when the ban began is changed too', async () => {
  await post('before')
  await ban('reject')
  await turn()
  const { prisma } = world.service.app
  const where = { tenantId: world.tenant.tenant.id, externalId: 'ada' }
  const { bannedAt } = await prisma.reader.findFirstOrThrow({ where })
  await prisma.reader.updateMany({ where, data: { bannedAt: null } })
  const late = await post('late')
  await prisma.reader.updateMany({ where, data: { bannedAt } })
  expect((await banNow()).comments).toMatchObject({ done: 1, completedAt: null })
  await work()
  expect(await statusOf(late.id)).toBe('rejected')
  expect((await banNow()).comments).toMatchObject({ total: 2, done: 2, completedAt: expect.any(String) })
})

test.each(['withhold', 'reject'])('what a moderator approves after a ban with %s began stays so', async (comments) => {
  const [changed, reported] = [await post('changed first'), await post('approved first')]
  await ok('POST', `/comments/${reported.id}/report`, { reason: 'spam' }, await world.tenant.as('bob'))
  await ban(comments)
  await ok('POST', `/comments/${reported.id}/approve`)
  await turn()
  expect(await statusOf(changed.id)).not.toBe('approved')
  await ok('POST', `/comments/${changed.id}/approve`)
  await work()
  expect([await statusOf(changed.id), await statusOf(reported.id)]).toEqual(['approved', 'approved'])
  expect((await banNow()).comments).toMatchObject({ total: 1, done: 1, completedAt: expect.any(String) })
})

test.each(['withhold', 'reject'])(
  'what a moderator pins, unpins or marks as seen after a ban with %s began is changed',
  async (comments) => {
    const [pinned, unpinned, seen] = [await post('pinned'), await post('unpinned'), await post('seen')]
    // A judgement from before the ban spares nothing.
    await ok('POST', `/comments/${seen.id}/reject`)
    await ok('POST', `/comments/${seen.id}/approve`)
    await ok('POST', `/comments/${unpinned.id}/pin`)
    await ban(comments)
    await ok('POST', `/comments/${pinned.id}/pin`)
    await ok('POST', `/comments/${unpinned.id}/unpin`)
    await ok('POST', `/comments/${seen.id}/review`)
    await work()
    const status = comments === 'reject' ? 'rejected' : 'pending'
    const now = await Promise.all([pinned, unpinned, seen].map(({ id }) => statusOf(id)))
    expect(now).toEqual([status, status, status])
    expect((await banNow()).comments).toMatchObject({ total: 3, done: 3, completedAt: expect.any(String) })
  },
)

test.each(['withhold', 'reject'])(
  'a comment of after a ban with %s stays, however late the work is',
  async (comments) => {
    const before = await post('before')
    await ban(comments, { until: new Date(Date.now() + 60_000).toISOString() })
    const where = { tenantId: world.tenant.tenant.id, externalId: 'ada' }
    await world.service.app.prisma.reader.updateMany({ where, data: { bannedUntil: new Date() } })
    const after = await post('after')
    await work()
    expect(await statusOf(before.id)).toBe(comments === 'reject' ? 'rejected' : 'pending')
    expect(await statusOf(after.id)).toBe('approved')
  },
)

test('neither the reader nor another tenant learns of it, and an erasure ends it', async () => {
  await post('text')
  await ban('reject')
  const id = await readerId()
  const query = '{ viewer { ban { until comments { done } } } }'
  const own = await world.service.graphql(
    query,
    {},
    { 'x-api-key': world.tenant.apiKey, ...(await world.tenant.as('ada')) },
  )
  expect(own.json.data.viewer.ban).toEqual({ until: null, comments: null })
  const other = await world.service.addTenant(`t-${newId()}`)
  const foreign = { 'x-api-key': other.apiKey }
  expect((await call('POST', `/readers/${id}/ban`, { comments: 'reject' }, foreign)).status).toBe(404)
  await ok('DELETE', `/readers/${id}`)
  expect(await turn()).toBe(false)
  expect(await world.service.app.prisma.banSweep.count({ where: { tenantId: world.tenant.tenant.id } })).toBe(0)
})

test.each([
  [{ shadow: true, comments: 'withhold' }, '/comments'],
  [{ shadow: true, comments: 'reject' }, '/comments'],
  [{ comments: 'delete' }, '/comments'],
])('%j is refused', async (input, path) => {
  await post('text')
  const { status, json } = await call('POST', `/readers/${await readerId()}/ban`, input)
  expect([status, json.code, json.errors[0].pointer]).toEqual([422, 'validation_failed', path])
  expect(await banNow()).toBeNull()
})

test('a ban in shadow keeps the comments', async () => {
  await post('text')
  expect((await ban('keep', { shadow: true })).ban.comments).toBeNull()
})
