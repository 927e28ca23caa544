import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { newId } from '../../src/core/ids.ts'
import { createTenant } from '../../src/domains/bootstrap/bootstrap.ts'
import { deleteTenant } from '../../src/domains/tenants/delete.ts'
import { listTenants } from '../../src/domains/tenants/list.ts'
import { removeOfDeletedTenant } from '../../src/domains/tenant-removal/remove.ts'
import { suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { findTenantBySlug } from '../../src/domains/tenants/tenants.ts'
import { countTables, fillTables, tenantTables } from '../harness/every-table.ts'
import { addMember } from '../harness/members.ts'
import type { TestService, TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { deleteNow, hurryRemoval, isTenantThere, startTwo, useTenant } from '../harness/tenant-removal.ts'
import { digestOf } from '../harness/tenant-rows.ts'

let service: TestService
/** Another process on the same database. */
let second: App
let close: () => Promise<void>
let tenant: TestTenant

beforeAll(async () => {
  ;({ service, second, close } = await startTwo())
})
afterAll(() => close())
beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
})

const run = <Row>(text: string, ...params: string[]): Promise<Row[]> => service.app.db.query<Row>(unnamed(text), params)

async function work(app: App): Promise<void> {
  while (await removeOfDeletedTenant(app)) continue
}

test('all tables with a tenant_id are emptied before the tenant goes, those of another tenant stay as they are', async () => {
  const other = await service.addTenant(`t-${newId()}`)
  await Promise.all([useTenant(service, tenant), useTenant(service, other)])
  const tables = await tenantTables(service.app.db)
  for (const {
    tenant: { id },
  } of [tenant, other]) {
    await fillTables(service.app.db, id)
    // A later table is filled as well, or `fillTables` fails.
    expect(Object.keys(await countTables(service.app.db, id))).toEqual(tables)
  }
  const before = await digestOf(service.app.db, other.tenant.id)
  await deleteNow(service.app, tenant.tenant.id)
  let left = await countTables(service.app.db, tenant.tenant.id, tables)
  while (await isTenantThere(service.app, tenant.tenant.id)) {
    left = await countTables(service.app.db, tenant.tenant.id, tables)
    expect(await removeOfDeletedTenant(service.app)).toBe(true)
  }
  expect(left).toEqual({})
  expect(await countTables(service.app.db, tenant.tenant.id)).toEqual({})
  expect(await digestOf(service.app.db, other.tenant.id)).toEqual(before)
})

describe('a deleted tenant', () => {
  test('has to be suspended, cannot be found, and gives its slug away at once', async () => {
    const { id, slug } = tenant.tenant
    await expect(deleteTenant(service.app, id)).rejects.toMatchObject({ code: 'invalid_transition' })
    await useTenant(service, tenant, 1)
    await deleteNow(service.app, tenant.tenant.id)
    await expect(deleteTenant(service.app, id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await findTenantBySlug(service.app, slug)).toBeNull()
    expect((await listTenants(service.app)).find((each) => each.id === id)).toMatchObject({ state: 'deleting' })
    const again = await createTenant(service.app, { slug, adminEmail: `new@${slug}.example` })
    const answerOf = async (apiKey: string) =>
      (await service.call('GET', '/discussions', { headers: { 'x-api-key': apiKey } })).json
    expect(await answerOf(tenant.apiKey)).toMatchObject({ code: 'tenant_suspended' })
    expect(await answerOf(again.apiKey)).toMatchObject({ data: [] })
    const body = { ...tenant.admin, tenant: slug }
    const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })
    expect([login.status, login.json.code]).toEqual([401, 'invalid_admin_token'])
    await work(service.app)
    await vi.waitFor(async () => expect((await answerOf(tenant.apiKey)).code).toBe('invalid_api_key'))
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
    await deleteNow(service.app, tenant.tenant.id)
    await deleteNow(service.app, twin.tenant.id)
    await Promise.all([work(service.app), work(second), work(service.app)])
    await vi.waitFor(async () => {
      await work(service.app)
      expect([
        await isTenantThere(service.app, tenant.tenant.id),
        await isTenantThere(service.app, twin.tenant.id),
      ]).toEqual([false, false])
    })
    const left = await accounts()
    for (const { email } of [shared, tenant.admin, twin.admin]) expect(left).not.toContain(email)
    for (const { email } of [staying, kept.admin]) expect(left).toContain(email)
    const body = { email: staying.email, password: staying.password }
    expect((await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })).status).toBe(200)
  })

  test('waits for a delivery that is being sent', async () => {
    await useTenant(service, tenant, 1)
    const { id } = tenant.tenant
    await run(
      `UPDATE deliveries SET status = 'delivering', lease_id = new_id(), next_attempt_at = now() + interval '1 hour'
       WHERE tenant_id = $1 AND seq = 1`,
      id,
    )
    await deleteNow(service.app, tenant.tenant.id)
    await work(service.app)
    expect(await countTables(service.app.db, id)).toMatchObject({ deliveries: 1, events: 1, comments: 3 })
    await run("UPDATE deliveries SET status = 'failed', lease_id = NULL WHERE tenant_id = $1", id)
    await hurryRemoval(service.app, id)
    await work(service.app)
    expect(await isTenantThere(service.app, tenant.tenant.id)).toBe(false)
  })
})
