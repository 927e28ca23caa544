import { beforeAll, describe, expect, test, vi } from 'vitest'

import { CAPABILITIES } from '../../src/core/capabilities.ts'
import { Uses } from '../../src/core/uses.ts'
import { keyUsesOf } from '../../src/domains/api-keys/keys.ts'
import { recordUses } from '../../src/domains/api-keys/sql.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let admin: { headers: Record<string, string> }

beforeAll(async () => {
  const json = await service.ok('POST', '/admin/auth/login', service.admin, { 'x-api-key': '' })
  admin = { headers: { authorization: `Bearer ${(json as { token: string }).token}` } }
})

const mint = (body: object, options: { headers?: Record<string, string> } = {}) =>
  service.call('POST', '/keys', { body: { label: 'test', capabilities: [], ...body }, ...options })

test('POST /keys answers 201 with the raw key, once', async () => {
  const expiresAt = '2090-01-01T00:00:00.000Z'
  const { status, json } = await mint({ label: 'Importer', capabilities: ['moderate_content'], expiresAt })
  expect(status).toBe(201)
  expect(json).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) as string,
    label: 'Importer',
    prefix: (json.key as string).slice(0, 11),
    capabilities: ['moderate_content'],
    expiresAt,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    key: expect.stringMatching(/^ek_[0-9a-f]{64}$/) as string,
  })
  const list = await service.call('GET', '/keys')
  expect(list.text).not.toContain(json.key)
  expect(list.json.data[0]).toEqual({ ...json, key: undefined, revokedAt: null, lastUsedAt: null })
})

test('POST /admin/keys answers the same to an admin token', async () => {
  const body = { label: 'By an admin', capabilities: [...CAPABILITIES] }
  const { status, json } = await service.call('POST', '/admin/keys', { body, ...admin })
  expect(status).toBe(201)
  expect(json).toMatchObject({ ...body, expiresAt: null, key: expect.stringMatching(/^ek_/) as string })
})

test("a new key works at once, and without capabilities it can still do what a publisher's page needs", async () => {
  const { json } = await mint({})
  const { status } = await service.call('GET', '/discussions', { headers: { 'x-api-key': json.key as string } })
  expect(status).toBe(200)
})

test('a key can grant only capabilities that it has: 403 capability_escalation', async () => {
  const { json } = await mint({ capabilities: ['manage_api_keys'] })
  const refusal = await mint(
    { capabilities: ['manage_api_keys', 'manage_webhooks'] },
    { headers: { 'x-api-key': json.key as string } },
  )
  expect(refusal).toMatchObject({ status: 403, json: { code: 'capability_escalation' } })
  expect(refusal.json.detail).toContain('manage_webhooks')
  expect(
    (await mint({ capabilities: ['manage_api_keys'] }, { headers: { 'x-api-key': json.key as string } })).status,
  ).toBe(201)
})

test.each([
  ['an empty label', { label: '' }, '/label'],
  ['a label of 101 characters', { label: 'x'.repeat(101) }, '/label'],
  ['a label with NUL', { label: 'a\0b' }, '/label'],
  ['no label', { label: undefined }, '/label'],
  ['an unknown capability', { capabilities: ['fly'] }, '/capabilities/0'],
  ['a repeated capability', { capabilities: ['manage_webhooks', 'manage_webhooks'] }, '/capabilities'],
  ['no capabilities', { capabilities: undefined }, '/capabilities'],
  ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
])('%s: 422 validation_failed with its pointer', async (_name, body, pointer) => {
  const { status, json } = await mint(body)
  expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] })
  expect(status).toBe(422)
})

test('DELETE /keys/{id} answers 204, and again 204', async () => {
  const { json } = await mint({})
  expect(await service.call('DELETE', `/keys/${json.id}`)).toMatchObject({ status: 204, text: '' })
  const revokedAt = await revokedAtOf(json.id as string)
  expect(revokedAt).not.toBeNull()
  expect(await service.call('DELETE', `/keys/${json.id}`)).toMatchObject({ status: 204, text: '' })
  expect(await revokedAtOf(json.id as string)).toBe(revokedAt)
})

async function revokedAtOf(id: string): Promise<string | null | undefined> {
  const { json } = await service.call('GET', '/keys?limit=100')
  return (json.data as { id: string; revokedAt: string | null }[]).find((key) => key.id === id)?.revokedAt
}

test.each(['01980000-0000-7000-8000-000000000000', 'x'])('the unknown id %s: 404 not_found', async (id) => {
  expect(await service.call('DELETE', `/keys/${id}`)).toMatchObject({ status: 404, json: { code: 'not_found' } })
})

test('GET /keys pages by cursor, newest first, without repeats', async () => {
  const other = await service.addTenant('keys-pages')
  const as = { headers: { 'x-api-key': other.apiKey } }
  for (let n = 0; n < 4; n++) await mint({ label: `key ${n}` }, as)
  const labels: string[] = []
  let cursor = ''
  for (;;) {
    const { json } = await service.call('GET', `/keys?limit=2${cursor}`, as)
    labels.push(...(json.data as { label: string }[]).map(({ label }) => label))
    expect(json.hasMore).toBe(json.nextCursor !== null)
    if (!json.hasMore) break
    cursor = `&cursor=${json.nextCursor}`
  }
  expect(labels).toEqual(['key 3', 'key 2', 'key 1', 'key 0', 'First key'])
  expect(await service.call('GET', '/keys?cursor=nonsense', as)).toMatchObject({
    status: 422,
    json: { code: 'validation_failed' },
  })
})

test('of many concurrent creations at most the budget succeeds: 409 key_budget_exhausted', async () => {
  const other = await service.addTenant('keys-budget')
  const as = { headers: { 'x-api-key': other.apiKey } }
  await service.call('PATCH', '/settings', { body: { activeKeyBudget: 6 }, ...as })
  const answers = await Promise.all(Array.from({ length: 20 }, () => mint({}, as)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
  for (const { status, json } of answers) {
    if (status !== 201)
      expect({ status, code: json.code as string }).toEqual({ status: 409, code: 'key_budget_exhausted' })
  }
})

test('expired and revoked keys do not count against the budget', async () => {
  const other = await service.addTenant('keys-free')
  const as = { headers: { 'x-api-key': other.apiKey } }
  await service.call('PATCH', '/settings', { body: { activeKeyBudget: 2 }, ...as })
  const first = await mint({}, as)
  expect((await mint({}, as)).json.code).toBe('key_budget_exhausted')
  await service.call('DELETE', `/keys/${first.json.id}`, as)
  const second = await mint({ expiresAt: new Date(Date.now() + 60_000).toISOString() }, as)
  expect((await mint({}, as)).json.code).toBe('key_budget_exhausted')
  const expire = unnamed('UPDATE api_keys SET expires_at = $2 WHERE id = $1')
  await service.app.db.query(expire, [second.json.id, new Date(Date.now() - 1)])
  expect((await mint({}, as)).status).toBe(201)
})

test('GraphQL: createApiKey, apiKeys and revokeApiKey', async () => {
  const made = await service.graphql(
    'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id label revokedAt } key } }',
    { input: { label: 'Graph', capabilities: [] } },
  )
  const { apiKey, key } = made.json.data.createApiKey
  expect(apiKey).toMatchObject({ label: 'Graph', revokedAt: null })
  expect(key).toMatch(/^ek_/)
  const revoked = await service.graphql(
    'mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { revokedAt } } }',
    { input: { id: apiKey.id } },
  )
  expect(revoked.json.data.revokeApiKey.apiKey.revokedAt).toMatch(/Z$/)
  const list = await service.graphql('{ apiKeys(first: 1) { edges { node { id } } pageInfo { hasNextPage } } }')
  expect(list.json.data.apiKeys).toEqual({ edges: [{ node: { id: apiKey.id } }], pageInfo: { hasNextPage: true } })
})

test('creating and revoking a key have audit entries', async () => {
  const { json } = await mint({ label: 'Audited' })
  await service.call('DELETE', `/keys/${json.id}`)
  const rows = await service.app.db.query(
    unnamed('SELECT actor_kind, action, before, after FROM audit_log WHERE target_id = $1 ORDER BY id'),
    [json.id],
  )
  expect(rows).toEqual([
    {
      actor_kind: 'key',
      action: 'api_key.create',
      before: null,
      after: expect.objectContaining({ label: 'Audited', revokedAt: null }),
    },
    {
      actor_kind: 'key',
      action: 'api_key.revoke',
      before: expect.objectContaining({ revokedAt: null }),
      after: expect.objectContaining({ revokedAt: expect.stringMatching(/Z$/) as string }),
    },
  ])
})

describe('lastUsedAt', () => {
  /** Those of a process. */
  const processUses = () => {
    const { db, log } = service.app
    const query = vi.fn(db.query)
    return { query, uses: new Uses(log, (some) => recordUses(query as typeof db.query, some)) }
  }
  const lastUsed = async (id: string): Promise<string | null> => {
    const { json } = await service.call('GET', '/keys?limit=100')
    return json.data.find((key: { id: string }) => key.id === id).lastUsedAt as string | null
  }

  test('is about when a request last used the key, and null before', async () => {
    const { json } = await mint({ label: 'used' })
    expect(await lastUsed(json.id)).toBeNull()
    const before = Date.now()
    await service.call('GET', '/discussions', { headers: { 'x-api-key': json.key } })
    await vi.waitFor(async () => expect(await lastUsed(json.id)).not.toBeNull())
    const at = Date.parse((await lastUsed(json.id)) ?? '')
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(Date.now())
  })

  test('a refused key does not update lastUsedAt', async () => {
    const { json } = await mint({ label: 'refused' })
    await service.call('DELETE', `/keys/${json.id}`)
    await service.call('GET', '/discussions', { headers: { 'x-api-key': json.key } })
    await keyUsesOf(service.app).flush()
    expect(await lastUsed(json.id)).toBeNull()
  })

  test('is written once a minute, many keys by one statement, and never moves back', async () => {
    const [a, b] = [(await mint({ label: 'a' })).json.id, (await mint({ label: 'b' })).json.id]
    const { uses, query } = processUses()
    const now = Date.now()
    for (let n = 0; n < 100; n++) for (const id of [a, b]) uses.note(service.tenant.id, id, now + n)
    await uses.flush()
    expect(query).toHaveBeenCalledTimes(1)
    expect([await lastUsed(a), await lastUsed(b)]).toEqual([new Date(now).toISOString(), new Date(now).toISOString()])
    uses.note(service.tenant.id, a, now + 59_999)
    await uses.flush()
    expect(query).toHaveBeenCalledTimes(1)
    uses.note(service.tenant.id, a, now + 60_000)
    await uses.flush()
    expect(await lastUsed(a)).toBe(new Date(now + 60_000).toISOString())
    const other = processUses().uses
    other.note(service.tenant.id, a, now)
    await other.flush()
    expect(await lastUsed(a)).toBe(new Date(now + 60_000).toISOString())
  })

  test('an outage of the database costs only the hint', async () => {
    const { uses, query } = processUses()
    query.mockRejectedValueOnce(new Error('the database is away'))
    uses.note(service.tenant.id, service.tenant.id)
    await expect(uses.flush()).resolves.toBeUndefined()
  })
})
