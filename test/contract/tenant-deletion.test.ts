import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { withDatabase } from '../../src/app.ts'
import type { App } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import { createTenant } from '../../src/domains/tenants/bootstrap.ts'
import { deleteTenant } from '../../src/domains/tenants/delete.ts'
import { listTenants } from '../../src/domains/tenants/list.ts'
import { removeOfDeletedTenant } from '../../src/domains/tenants/remove.ts'
import { suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { findTenantBySlug } from '../../src/domains/tenants/tenants.ts'
import { openTestDatabase } from '../harness/database.ts'
import { countTables, fillTables, tenantTables } from '../harness/every-table.ts'
import { addMember } from '../harness/members.ts'
import { startService, type TestResponse, type TestService, type TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { digestOf } from '../harness/tenant-rows.ts'

const WAIT = { timeout: 10_000, interval: 20 }

let service: TestService
/** Another process on the same database. */
let second: App
let closeSecond: () => Promise<void>
let tenant: TestTenant

beforeAll(async () => {
  const database = await openTestDatabase()
  service = await startService({ worker: false, database, env: { TRUSTED_PROXIES: '127.0.0.0/8' } })
  const { settings, log } = service.app
  const opened = withDatabase(settings, log, { ...database, close: () => Promise.resolve() })
  second = opened.app
  closeSecond = opened.close
})
afterAll(async () => {
  await closeSecond()
  await service.close()
})
beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
})

const run = <Row>(text: string, ...params: string[]): Promise<Row[]> => service.app.db.query<Row>(unnamed(text), params)

const callOf =
  (of: TestTenant) =>
  async (method: string, path: string, body?: unknown, more: object = {}): Promise<TestResponse['json']> => {
    const answer = await service.call(method, path, { headers: { 'x-api-key': of.apiKey, ...more }, body })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.json
  }

/** A tenant that has been used: threads, reactions, reports, endpoints, readers. */
async function use(of: TestTenant, pages = 3): Promise<void> {
  const call = callOf(of)
  const [ada, bob] = [await of.as('ada'), await of.as('bob')]
  const { id: endpoint } = await call('POST', '/webhooks', { url: 'https://receiver.example/' })
  await run("UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1", endpoint)
  for (let n = 0; n < pages; n++) {
    const path = `/discussions/by-external/page-${n}/comments`
    const root = await call('POST', path, { body: 'root' }, ada)
    const reply = await call('POST', path, { body: 'reply', parentId: root.id }, { ...bob, 'idempotency-key': `k${n}` })
    await call('POST', path, { body: 'leaf', parentId: reply.id }, ada)
    await call('PATCH', `/comments/${root.id}`, { body: 'edited' }, ada)
    await call('POST', `/comments/${root.id}/reactions`, { type: 'like' }, bob)
    await call('POST', `/comments/${root.id}/report`, { reason: 'spam' }, bob)
    await call('POST', `/comments/${root.id}/notes`, { text: 'a note' })
    await call('POST', `/comments/${reply.id}/reject`)
    await call('POST', '/client-tokens', {}, ada)
  }
}

/** Deletes it, so that workers need not wait until every process knows. */
async function deleteNow({ tenant: { id } }: TestTenant): Promise<void> {
  await suspendTenant(service.app, id)
  await deleteTenant(service.app, id)
  await run('UPDATE tenants SET removal_due_at = now() - make_interval(secs => 1) WHERE id = $1', id)
}

async function work(app: App): Promise<void> {
  while (await removeOfDeletedTenant(app)) continue
}

const isThere = async ({ tenant: { id } }: TestTenant): Promise<boolean> =>
  (await run('SELECT id FROM tenants WHERE id = $1', id)).length > 0

test('all tables with a tenant_id are emptied before the tenant goes, those of another tenant stay as they are', async () => {
  const other = await service.addTenant(`t-${newId()}`)
  await Promise.all([use(tenant), use(other)])
  const tables = await tenantTables(service.app.db)
  for (const {
    tenant: { id },
  } of [tenant, other]) {
    await fillTables(service.app.db, id)
    // A later table is filled as well, or `fillTables` fails.
    expect(Object.keys(await countTables(service.app.db, id))).toEqual(tables)
  }
  const before = await digestOf(service.app.db, other.tenant.id)
  await deleteNow(tenant)
  let left = await countTables(service.app.db, tenant.tenant.id)
  while (await isThere(tenant)) {
    left = await countTables(service.app.db, tenant.tenant.id)
    expect(await removeOfDeletedTenant(service.app)).toBe(true)
  }
  expect(left).toEqual({})
  expect(await countTables(service.app.db, tenant.tenant.id)).toEqual({})
  expect(await digestOf(service.app.db, other.tenant.id)).toEqual(before)
})

test('a batch reads its rows by key, however many rows other tenants have before them', async () => {
  const other = await service.addTenant(`t-${newId()}`)
  const fill = (id: string) =>
    run(
      `INSERT INTO audit_log (tenant_id, id, actor_kind, action, target_type)
       SELECT $1, new_id(), 'system', 'settings.update', 'settings' FROM generate_series(1, 40000)`,
      id,
    )
  await fill(other.tenant.id)
  await fill(tenant.tenant.id)
  await run('ANALYZE audit_log')
  await deleteNow(tenant)
  const figures = async () => {
    const [row] = await run<{ read: number; deleted: number }>(
      `SELECT seq_tup_read::int AS read, n_tup_del::int AS deleted FROM pg_stat_user_tables WHERE relname = 'audit_log'`,
    )
    return row ?? { read: 0, deleted: 0 }
  }
  const before = await figures()
  for (let n = 0; n < 12; n++) {
    await run('UPDATE tenants SET removal_due_at = now() - make_interval(secs => 1) WHERE id = $1', tenant.tenant.id)
    await removeOfDeletedTenant(service.app)
  }
  const { audit_log: left = 0 } = await countTables(service.app.db, tenant.tenant.id)
  const deleted = 40_000 - left
  expect(deleted).toBeGreaterThan(1000)
  // The figures of a connection appear later, those of its reads with those of its deletions.
  await vi.waitFor(
    async () => {
      await Promise.all(Array.from({ length: 10 }, () => run('SELECT pg_stat_force_next_flush()')))
      expect((await figures()).deleted - before.deleted).toBeGreaterThanOrEqual(deleted)
    },
    { timeout: 60_000, interval: 200 },
  )
  // The test itself reads the whole table as well.
  expect((await figures()).read - before.read).toBeLessThan(80_000 * 3)
})

describe('a deleted tenant', () => {
  test('has to be suspended, cannot be found, and gives its slug away at once', async () => {
    const { id, slug } = tenant.tenant
    await expect(deleteTenant(service.app, id)).rejects.toMatchObject({ code: 'invalid_transition' })
    await use(tenant, 1)
    await deleteNow(tenant)
    await expect(deleteTenant(service.app, id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await findTenantBySlug(service.app, slug)).toBeNull()
    expect((await listTenants(service.app)).find((each) => each.id === id)).toMatchObject({ state: 'deleting' })
    const again = await createTenant(service.app, { slug, adminEmail: `new@${slug}.example`, scryptN: 2 })
    const answerOf = async (apiKey: string) =>
      (await service.call('GET', '/discussions', { headers: { 'x-api-key': apiKey } })).json
    expect(await answerOf(tenant.apiKey)).toMatchObject({ code: 'tenant_suspended' })
    expect(await answerOf(again.apiKey)).toMatchObject({ data: [] })
    const body = { ...tenant.admin, tenant: slug }
    const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })
    expect([login.status, login.json.code]).toEqual([401, 'invalid_admin_token'])
    await work(service.app)
    await vi.waitFor(async () => expect((await answerOf(tenant.apiKey)).code).toBe('invalid_api_key'), WAIT)
    expect(await answerOf(again.apiKey)).toMatchObject({ data: [] })
  })

  test('is removed only once every process must know of its suspension', async () => {
    const { id } = tenant.tenant
    await suspendTenant(service.app, id)
    await deleteTenant(service.app, id)
    const [row] = await run<{ seconds: number }>(
      'SELECT extract(epoch FROM removal_due_at - suspended_at)::float AS seconds FROM tenants WHERE id = $1',
      id,
    )
    expect(row?.seconds).toBeGreaterThanOrEqual(10)
    await work(service.app)
    expect(Object.keys(await countTables(service.app.db, id))).toContain('api_keys')
  })

  test('takes the accounts of its members that have no other tenant, also where two tenants go at once', async () => {
    const [twin, kept] = [await service.addTenant(`t-${newId()}`), await service.addTenant(`t-${newId()}`)]
    const shared = await addMember(service, tenant, 'moderator')
    await addMember(service, twin, 'moderator', shared.email)
    const staying = await addMember(service, tenant, 'moderator')
    await addMember(service, kept, 'moderator', staying.email)
    const accounts = async () => (await run<{ email: string }>('SELECT email FROM accounts')).map(({ email }) => email)
    await deleteNow(tenant)
    await deleteNow(twin)
    await Promise.all([work(service.app), work(second), work(service.app)])
    await vi.waitFor(async () => {
      await work(service.app)
      expect([await isThere(tenant), await isThere(twin)]).toEqual([false, false])
    }, WAIT)
    const left = await accounts()
    for (const { email } of [shared, tenant.admin, twin.admin]) expect(left).not.toContain(email)
    for (const { email } of [staying, kept.admin]) expect(left).toContain(email)
    const body = { email: staying.email, password: staying.password }
    expect((await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })).status).toBe(200)
  })

  test('waits for a delivery that is being sent', async () => {
    await use(tenant, 1)
    const { id } = tenant.tenant
    await run(
      `UPDATE deliveries SET status = 'delivering', lease_id = new_id(), next_attempt_at = now() + interval '1 hour'
       WHERE tenant_id = $1 AND seq = 1`,
      id,
    )
    await deleteNow(tenant)
    await work(service.app)
    expect(await countTables(service.app.db, id)).toMatchObject({ deliveries: 1, events: 1, comments: 3 })
    await run("UPDATE deliveries SET status = 'failed', lease_id = NULL WHERE tenant_id = $1", id)
    await run('UPDATE tenants SET removal_due_at = now() - make_interval(secs => 1) WHERE id = $1', id)
    await work(service.app)
    expect(await isThere(tenant)).toBe(false)
  })
})

test('workers that die, and several at once beside the others, leave nothing, and hold up no other tenant', async () => {
  const other = await service.addTenant(`t-${newId()}`)
  await use(tenant, 12)
  await use(other, 1)
  await deleteNow(tenant)
  let isOver = false
  const writing = (async () => {
    const call = callOf(other)
    let slowest = 0
    const ada = await other.as('ada')
    while (!isOver) {
      const since = performance.now()
      await call('POST', '/discussions/by-external/busy/comments', { body: 'x' }, ada)
      slowest = Math.max(slowest, performance.now() - since)
    }
    return slowest
  })()
  const folding = (async () => {
    while (!isOver) await foldWaiting(second)
  })()
  // A worker that died holds its lease until it ends.
  const lose =
    'UPDATE tenants SET removal_due_at = now() - make_interval(secs => 1) WHERE id = $1 AND removal_due_at > now()'
  while (await isThere(tenant)) {
    await Promise.all([removeOfDeletedTenant(service.app), removeOfDeletedTenant(second)])
    await run(lose, tenant.tenant.id)
  }
  isOver = true
  expect(await writing).toBeLessThan(5000)
  await folding
  await foldWaiting(second)
  expect(await countTables(service.app.db, tenant.tenant.id)).toEqual({})
})
