import { type App, perApp } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { roomOf } from '../../core/cache.ts'
import { createReadCache, followCacheNews } from '../../core/read-cache.ts'
import type { Sql } from '../../core/database/database.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import { countProfileChangeIn, findTenant, lockTenantRow, type TenantRow } from './sql.ts'

const tenants = perApp((app) => {
  const cache = createReadCache<Tenant | null>({
    room: roomOf(app, 'tenants'),
    read: async (id) => {
      const row = await findTenant(app.db.query, id)
      return row === undefined ? null : { ...row, settings: tenantSettings(row.settings) }
    },
    keep: (tenant) => tenant !== null,
  })
  for (const kind of ['tenant', 'discussion', 'suspension'] as const)
    followCacheNews(app, { kind, forget: (news: { tenantId: Id }) => cache.forget(news.tenantId), clear: cache.clear })
  return cache
})

/** A tenant with its settings in force, at most 4 s old. Throws `not_found`. */
export async function loadTenant(app: App, tenantId: Id): Promise<Tenant> {
  const tenant = await tenants(app).get(tenantId)
  if (tenant === null) throw new ServiceError('not_found')
  return tenant
}

/** The tenant of a request's credentials. Throws `not_found`, `tenant_suspended`. */
export async function admitTenant(app: App, tenantId: Id): Promise<Tenant> {
  const tenant = await loadTenant(app, tenantId)
  requireActive(tenant)
  return tenant
}

/** The tenant if it is cached and not suspended; else undefined. */
export function recallTenant(app: App, tenantId: Id): Tenant | undefined {
  const tenant = tenants(app).peek(tenantId)
  return tenant?.suspendedAt === null ? tenant : undefined
}

/** Throws `tenant_suspended`. */
export function requireActive(tenant: Pick<Tenant, 'suspendedAt' | 'suspensionReason'>): void {
  if (tenant.suspendedAt === null) return
  const { suspensionReason: reason } = tenant
  throw new ServiceError('tenant_suspended', {
    detail: reason === null ? undefined : `The tenant is suspended: ${reason}`,
  })
}

/**
 * A tenant and its stored settings, locked until the transaction ends: others that decide by its
 * keys, endpoints or settings wait. Throws `not_found`.
 */
export async function lockTenant(sql: Sql, tenantId: Id): Promise<TenantRow> {
  const row = await lockTenantRow(sql, tenantId)
  if (row === undefined) throw new ServiceError('not_found')
  return row
}

/**
 * Tells cached pages that they may be stale. Last in a transaction, because it locks one row for
 * the whole tenant.
 */
export const touchPages = countProfileChangeIn

export const findTenantBySlug = async ({ prisma }: App, slug: string) =>
  prisma.tenant.findUnique({ where: { slug, deletedAt: null }, select: { id: true, slug: true } })
