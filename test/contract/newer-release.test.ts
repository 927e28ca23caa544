import { expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import type { Param } from '../../src/core/database/statements.ts'
import { upgrade } from '../../src/data/migrations/migrate.ts'
import { selectDueDiscussions } from '../../src/domains/moderation/auto-close.ts'
import { holdDeliveries, releaseHeld } from '../../src/domains/webhooks/sending/holding-sql.ts'
import { leaseDeliveries } from '../../src/worker/statements/lease-sql.ts'
import { deleteOldDeliveries, deleteOldEvents } from '../../src/worker/statements/retention-sql.ts'
import { SILENT } from '../harness/log.ts'
import { NEXT_RELEASE } from '../harness/releases.ts'
import { type TestTenant, startOwn, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

// During an upgrade processes of two releases share a database. These rows hold what only the newer
// one knows.

const service = useService()
let count = 0

interface Newer extends TestTenant {
  headers: Record<string, string>
}

/** A tenant that no cache knows yet, with these settings as a newer release has stored them. */
async function tenantWith(settings: unknown): Promise<Newer> {
  const tenant = await service.addTenant(`newer-${count++}`)
  await write('UPDATE tenants SET settings = $2::jsonb WHERE id = $1', [tenant.tenant.id, JSON.stringify(settings)])
  return { ...tenant, headers: { 'x-api-key': tenant.apiKey } }
}

const write = (text: string, params: readonly Param[]): Promise<Record<string, unknown>[]> =>
  service.app.db.query(unnamed(text), params)

const storedSettings = async ({ tenant }: TestTenant): Promise<unknown> =>
  (await write('SELECT settings FROM tenants WHERE id = $1', [tenant.id]))[0]?.settings

const NEWER = {
  colour: 'red',
  moderationMode: 'ask-a-friend',
  maxDepth: 5000,
  autoCloseDays: 'never',
  deliveryRetentionDays: { hot: 1 },
  maxLinks: 7,
  stream: { replayHours: '48', replayEvents: 200, colour: 'red' },
  webhookPolicy: { maxAttempts: 2.5, breakerThreshold: [1], jitter: 0.5 },
}

test('settings of a newer release: the known ones apply, and requests are answered', async () => {
  const { headers } = await tenantWith(NEWER)
  const { status, json } = await service.call('GET', '/settings', { headers })
  const expected = tenantSettings({ maxLinks: 7, stream: { replayEvents: 200 } })
  expect([status, json]).toEqual([200, expected])
  expect((await service.call('GET', '/discussions', { headers })).status).toBe(200)
})

test('PATCH /settings keeps fields that only a newer release knows, also within a group that it changes', async () => {
  const tenant = await tenantWith(NEWER)
  const body = { maxLinks: 3, moderationMode: 'pre', stream: { maxStreams: 9, replayEvents: 10_000 } }
  const { status, json } = await service.call('PATCH', '/settings', { body, headers: tenant.headers })
  expect([status, json]).toEqual([
    200,
    tenantSettings({ maxLinks: 3, moderationMode: 'pre', stream: { maxStreams: 9 } }),
  ])
  expect(await storedSettings(tenant)).toEqual({
    ...NEWER,
    maxLinks: 3,
    moderationMode: 'pre',
    stream: { replayHours: '48', colour: 'red', maxStreams: 9 },
  })
})

test('PATCH /settings with the value in force replaces one that only a newer release knows', async () => {
  const tenant = await tenantWith({ moderationMode: 'ask-a-friend' })
  const { headers } = tenant
  const { status, json } = await service.call('PATCH', '/settings', { body: { moderationMode: 'none' }, headers })
  expect([status, json.moderationMode]).toEqual([200, 'none'])
  expect(await storedSettings(tenant)).toEqual({})
})

test("PATCH /settings that conflicts with a newer release's stored value wins, within that group only", async () => {
  const tenant = await tenantWith({ colour: 'red', webhookPolicy: { breakerThreshold: 80 } })
  const body = { webhookPolicy: { maxAttempts: 5 } }
  const { json } = await service.call('PATCH', '/settings', { body, headers: tenant.headers })
  const after = tenantSettings({ webhookPolicy: { maxAttempts: 5 } })
  expect(json).toEqual(after)
  expect((await service.call('GET', '/settings', { headers: tenant.headers })).json).toEqual(after)
  expect(await storedSettings(tenant)).toMatchObject({ colour: 'red' })
})

test('PATCH /settings refuses values that only a newer release knows', async () => {
  const tenant = await tenantWith(NEWER)
  const body = { colour: 'red', moderationMode: 'ask-a-friend', maxDepth: 5000, stream: { colour: 'red' } }
  for (const [name, value] of Object.entries(body)) {
    const { json } = await service.call('PATCH', '/settings', { body: { [name]: value }, headers: tenant.headers })
    expect(json).toMatchObject({ status: 422, code: 'validation_failed' })
  }
  expect(await storedSettings(tenant)).toEqual(NEWER)
})

test('one tenant with settings of a newer release does not stop the chores of a worker', async () => {
  await tenantWith(NEWER)
  const sql = service.app.db.query
  const chores = [
    selectDueDiscussions(sql, new Date(), 10),
    holdDeliveries(sql, 10),
    releaseHeld(sql, 10),
    deleteOldDeliveries(sql, 10),
    deleteOldEvents(sql, 10),
    leaseDeliveries(sql, { leaseMs: 1000, busy: [], perEndpoint: 1, limit: 1 }),
  ]
  await expect(Promise.all(chores)).resolves.toHaveLength(chores.length)
})

test('automatic closing uses a known value, beside tenants with an unknown one', async () => {
  await tenantWith({ autoCloseDays: 'never' })
  const { headers, tenant } = await tenantWith({ autoCloseDays: 1 })
  await service.call('POST', '/discussions', { body: { externalId: 'old' }, headers })
  const due = await selectDueDiscussions(service.app.db.query, new Date(Date.now() + 2 * 86_400_000), 10)
  expect(due.map(({ tenantId }) => tenantId)).toEqual([tenant.id])
})

test('an endpoint with a policy and event types of a newer release is shown, and keeps both over a change', async () => {
  const { headers, tenant } = await tenantWith({})
  const { json } = await service.call('POST', '/webhooks', { body: { url: 'https://a.example.com/' }, headers })
  const stored = { maxAttempts: 50, jitter: 0.5, timeoutMs: 200, backoffBaseMs: 'soon' }
  await write(
    "UPDATE webhook_endpoints SET policy = $3::jsonb, event_types = ARRAY['*', 'reader_left'] WHERE tenant_id = $1 AND id = $2",
    [tenant.id, json.id, JSON.stringify(stored)],
  )
  const shown = await service.call('GET', `/webhooks/${json.id}`, { headers })
  expect(shown.json).toMatchObject({ policy: { maxAttempts: 3, timeoutMs: 200 }, eventTypes: ['*', 'reader_left'] })
  const body = { policy: { maxAttempts: 4 } }
  const changed = await service.call('PATCH', `/webhooks/${json.id}`, { body, headers })
  expect([changed.status, changed.json.policy.maxAttempts]).toEqual([200, 4])
  const [row] = await write('SELECT policy FROM webhook_endpoints WHERE tenant_id = $1', [tenant.id])
  expect(row?.policy).toEqual({ ...stored, maxAttempts: 4 })
  const refused = await service.call('PATCH', `/webhooks/${json.id}`, { body: { policy: { jitter: 1 } }, headers })
  expect(refused.json).toMatchObject({ status: 422, errors: [{ pointer: '/policy/jitter' }] })
})

test('an endpoint in a state of a newer release is shown as unverified, and still changes', async () => {
  const { headers, tenant } = await tenantWith({})
  const { json } = await service.call('POST', '/webhooks', { body: { url: 'https://a.example.com/' }, headers })
  await write("ALTER TYPE endpoint_state ADD VALUE 'paused'", [])
  await write("UPDATE webhook_endpoints SET state = 'paused' WHERE tenant_id = $1", [tenant.id])
  const listed = await service.call('GET', '/webhooks', { headers })
  expect(listed.json.data).toMatchObject([{ id: json.id, state: 'unverified' }])
  const body = { description: 'ours' }
  const changed = await service.call('PATCH', `/webhooks/${json.id}`, { body, headers })
  expect(changed.json).toMatchObject({ state: 'unverified', description: 'ours' })
  const [row] = await write('SELECT state::text FROM webhook_endpoints WHERE tenant_id = $1', [tenant.id])
  expect(row?.state).toBe('paused')
})

test('a capability of a newer release grants nothing, and its key keeps the others', async () => {
  const { headers, tenant } = await tenantWith({})
  const minted = await service.call('POST', '/keys', {
    body: { label: 'k', capabilities: ['view_analytics'] },
    headers,
  })
  await write(
    "UPDATE api_keys SET capabilities = capabilities || ARRAY['do_everything'] WHERE tenant_id = $1 AND id = $2",
    [tenant.id, minted.json.id],
  )
  const json = await service.ok('GET', '/keys', undefined, headers)
  const [listed] = (json.data as { id: string; capabilities: string[] }[]).filter(({ id }) => id === minted.json.id)
  expect(listed?.capabilities).toEqual(['view_analytics'])
  const asKey = { headers: { 'x-api-key': minted.json.key as string } }
  expect((await service.call('GET', '/analytics/summary', asKey)).status).toBe(200)
  expect((await service.call('GET', '/settings', asKey)).json.code).toBe('missing_capability')
  expect((await service.call('DELETE', `/keys/${minted.json.id}`, { headers })).status).toBe(204)
})

test('the audit log shows entries of a newer release: another kind of actor, target and settings', async () => {
  const tenant = await tenantWith({})
  await write(
    `INSERT INTO audit_log (tenant_id, id, actor_kind, actor_id, action, target_type, target_id, before, after)
     VALUES ($1, gen_random_uuid(), 'robot', gen_random_uuid(), 'robot.wake', 'robot', 'r2', '[1]', '{"a": {"b": null}}')`,
    [tenant.tenant.id],
  )
  const json = await service.ok('GET', '/audit-log', undefined, tenant.headers)
  expect(json.data).toMatchObject([{ action: 'robot.wake', actor: { kind: 'system' }, before: [1] }])
})

test('a moderation queue shows comments that were held or reported for a reason of a newer release', async () => {
  const tenant = await tenantWith({ moderationMode: 'pre' })
  const { headers } = tenant
  const posted = await service.ok(
    'POST',
    '/discussions/by-external/p/comments',
    { body: 'hello' },
    { ...headers, ...(await tenant.as('reader')) },
  )
  await write("UPDATE comments SET hold_reason = 'bad_mood' WHERE tenant_id = $1", [tenant.tenant.id])
  // As a migration of that release would.
  await write('ALTER TABLE reports DROP CONSTRAINT reports_reason', [])
  await write(
    `INSERT INTO reports (tenant_id, comment_id, reader_id, reason, created_at, counted)
     SELECT tenant_id, id, author_id, 'bad_mood', now(), false FROM comments WHERE tenant_id = $1`,
    [tenant.tenant.id],
  )
  const queue = await service.call('GET', '/moderation/queue?status=pending', { headers })
  expect([queue.status, queue.json.data.length]).toEqual([200, 1])
  const reports = await service.call('GET', `/comments/${posted.id}/reports`, { headers })
  expect([reports.status, reports.json.data]).toMatchObject([200, [{ reason: 'other' }]])
})

test('on a database that a newer release has extended, the previous release starts again, reads and writes', async () => {
  const older = await startOwn({
    prepare: async (database) => {
      await upgrade(database, SILENT, NEXT_RELEASE)
      // What the older one does at its start.
      await upgrade(database, SILENT)
    },
  })
  const ok = async (method: string, path: string, body?: object) => {
    const headers = await older.as('ann')
    const { status, json, text } = await older.call(method, path, { headers, ...(body && { body }) })
    expect(status, text).toBeLessThan(300)
    return json
  }
  const { id } = await ok('POST', '/discussions/by-external/page/comments', { body: 'From before' })
  await ok('POST', '/discussions/by-external/page/comments', { body: 'A reply', parentId: id })
  await ok('PATCH', `/comments/${id}`, { body: 'Edited' })
  await ok('POST', `/comments/${id}/reactions`, { type: 'like' })
  const { data } = await ok('GET', '/discussions/by-external/page/comments')
  expect(data).toEqual([expect.objectContaining({ id, body: 'Edited', replyCount: 1, reactionCounts: { like: 1 } })])
  await ok('DELETE', `/comments/${id}`)
  const { data: readers } = await ok('GET', '/readers')
  await ok('DELETE', `/readers/${readers[0].id}`)
})
