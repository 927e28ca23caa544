import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { tokenFor } from '../harness/members.ts'
import { type Headers, useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const { ann, bob } = useReaders(service, 'ann', 'bob')

const setTenant = (slowModeSeconds: number) => service.call('PATCH', '/settings', { body: { slowModeSeconds } })
const change = (id: string, slowModeSeconds: number | null) =>
  service.call('PATCH', `/discussions/${id}`, { body: { slowModeSeconds } })

async function create(slowModeSeconds: number | null = null): Promise<string> {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
  if (slowModeSeconds !== null) expect((await change(json.id, slowModeSeconds)).json).toMatchObject({ slowModeSeconds })
  return json.id
}

const post = (id: string, headers: Headers = ann, more: object = {}) =>
  service.call('POST', `/discussions/${id}/comments`, { body: { body: `Text ${newId()}`, ...more }, headers })

const AGE = unnamed(`UPDATE comments SET created_at = created_at - $2 * interval '1 s' WHERE id = $1`)
/** As if that comment had been posted some seconds earlier. */
const age = (id: string, seconds: number) => service.app.db.query(AGE, [id, seconds])
const COUNT = unnamed('SELECT count(*)::int AS n FROM comments WHERE discussion_id = $1')
const countIn = async (id: string) => (await service.app.db.query<{ n: number }>(COUNT, [id]))[0]?.n

describe.each(['tenant', 'discussion'] as const)('slowModeSeconds of the %s', (of) => {
  beforeAll(() => setTenant(of === 'tenant' ? 60 : 0))
  afterAll(() => setTenant(0))
  const slow = () => create(of === 'tenant' ? null : 60)

  test('refuses the next comment of a reader with the time to wait, and takes it afterwards', async () => {
    const id = await slow()
    const began = Date.now()
    const first = await post(id)
    expect(first.status).toBe(201)
    await age(first.json.id, 30)
    const refused = await post(id)
    expect([refused.status, refused.json.code]).toEqual([429, 'slow_mode'])
    const sinceSeconds = Math.ceil((Date.now() - began) / 1000)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(28 - sinceSeconds)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(30)
    await age(first.json.id, 30)
    expect((await post(id)).status).toBe(201)
    expect(await countIn(id)).toBe(2)
  })

  test('counts for each reader and each discussion by itself', async () => {
    const [one, two] = [await slow(), await slow()]
    expect((await post(one)).status).toBe(201)
    expect((await post(one, bob)).status).toBe(201)
    expect((await post(two)).status).toBe(201)
    expect((await post(one)).json.code).toBe('slow_mode')
  })

  test('counts replies, and comments that were deleted or wait for a moderator', async () => {
    const id = await slow()
    const { json: first } = await post(id)
    await service.call('DELETE', `/comments/${first.id}`, { headers: ann })
    expect((await post(id)).json.code).toBe('slow_mode')
    const { json: parent } = await post(id, bob)
    expect((await post(id, ann, { parentId: parent.id })).json.code).toBe('slow_mode')
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    const cid = await service.as('cid')
    expect((await post(id, cid)).json.status).toBe('pending')
    expect((await post(id, cid)).json.code).toBe('slow_mode')
    await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
  })

  test('makes exactly one comment of many at once', async () => {
    const id = await slow()
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(id)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const { status } of answers) expect([201, 429, 503]).toContain(status)
    expect(await countIn(id)).toBe(1)
  })

  test('lets a document with two comments write the first', async () => {
    const id = await slow()
    const mutation = `mutation ($id: ID!) {
      a: createComment(input: { discussion: { id: $id }, body: "First" }) { comment { id } }
      b: createComment(input: { discussion: { id: $id }, body: "Second" }) { comment { id } } }`
    const { json } = await service.graphql(mutation, { id }, ann)
    expect(json.data).toMatchObject({ a: { comment: { id: expect.any(String) } }, b: null })
    expect(json.errors).toMatchObject([{ path: ['b'], extensions: { code: 'slow_mode' } }])
    expect(await countIn(id)).toBe(1)
  })

  test('answers a repeated request with its first result', async () => {
    const id = await slow()
    const headers = { ...ann, 'idempotency-key': newId() }
    const body = { body: 'Once' }
    const [first, again] = [
      await service.call('POST', `/discussions/${id}/comments`, { body, headers }),
      await service.call('POST', `/discussions/${id}/comments`, { body, headers }),
    ]
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.json.id).toBe(first.json.id)
  })

  test('does not hold for a member who moderates', async () => {
    const id = await slow()
    const member = { authorization: `Bearer ${await tokenFor(service, service.admin)}`, ...ann }
    expect([(await post(id, member)).status, (await post(id, member)).status]).toEqual([201, 201])
  })

  test('gives way to every other refusal', async () => {
    const id = await slow()
    await post(id)
    expect((await post(id, ann, { parentId: newId() })).json.code).toBe('not_found')
    await service.call('POST', `/discussions/${id}/lock`)
    expect((await post(id)).json.code).toBe('discussion_locked')
  })
})

test('0 of a discussion stands over the slow mode of the tenant, and null is the tenant’s again', async () => {
  await setTenant(60)
  const id = await create(0)
  expect([(await post(id)).status, (await post(id)).status]).toEqual([201, 201])
  await change(id, null)
  expect((await post(id)).json.code).toBe('slow_mode')
  await setTenant(0)
  expect((await post(id)).status).toBe(201)
})

test('does not count comments of another tenant, and reads no author of one', async () => {
  const other = await service.addTenant('slow')
  const id = await create(60)
  expect((await post(id)).status).toBe(201)
  const headers = { 'x-api-key': other.apiKey, ...(await other.as('ann')) }
  expect((await post(id, headers)).json.code).toBe('not_found')
})

test.each([-1, 3601, 1.5])('%d is 422', async (slowModeSeconds) => {
  expect((await setTenant(slowModeSeconds)).status).toBe(422)
  expect((await change(await create(), slowModeSeconds)).status).toBe(422)
})
