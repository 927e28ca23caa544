import { withDatabase } from '../../src/app.ts'
import type { App } from '../../src/core/app.ts'
import type { Id } from '../../src/core/ids.ts'
import { deleteTenant } from '../../src/domains/tenants/delete.ts'
import { suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { openTestDatabase } from './database.ts'
import { startService, type TestResponse, type TestService, type TestTenant } from './service.ts'
import { unnamed } from './sql.ts'

/** A service, and another process on the same database. */
export async function startTwo(): Promise<{ service: TestService; second: App; close(): Promise<void> }> {
  const database = await openTestDatabase()
  const service = await startService({ worker: false, database, env: { TRUSTED_PROXIES: '127.0.0.0/8' } })
  const { settings, log } = service.app
  const opened = withDatabase(settings, log, { ...database, close: () => Promise.resolve() })
  const close = async (): Promise<void> => {
    await opened.close()
    await service.close()
  }
  return { service, second: opened.app, close }
}

/** Calls the API with a tenant's key, and expects success. */
export const callOf =
  (service: TestService, of: TestTenant) =>
  async (method: string, path: string, body?: unknown, more: object = {}): Promise<TestResponse['json']> =>
    service.ok(method, path, body, { 'x-api-key': of.apiKey, ...more })

/** Uses a tenant: threads, reactions, reports, endpoints, readers. */
export async function useTenant(service: TestService, of: TestTenant, pages = 3): Promise<void> {
  const call = callOf(service, of)
  const [ada, bob] = [await of.as('ada'), await of.as('bob')]
  const { id: endpoint } = await call('POST', '/webhooks', { url: 'https://receiver.example/' })
  await service.app.db.query(unnamed("UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1"), [endpoint])
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

const HURRY = unnamed('UPDATE tenants SET removal_due_at = now() - make_interval(secs => 1) WHERE id = $1')

/** Makes the next batch of a removal due: a worker that died holds its lease until it ends. */
export const hurryRemoval = async ({ db }: App, id: Id): Promise<void> => void (await db.query(HURRY, [id]))

/** Deletes a tenant, so that workers need not wait until every process knows. */
export async function deleteNow(app: App, id: Id): Promise<void> {
  await suspendTenant(app, id)
  await deleteTenant(app, id)
  await hurryRemoval(app, id)
}

const FIND = unnamed('SELECT id FROM tenants WHERE id = $1')

export const isTenantThere = async ({ db }: App, id: Id): Promise<boolean> => (await db.query(FIND, [id])).length > 0
