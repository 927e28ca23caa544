import { type App, perApp, type Tenant } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { createReadCache, followCacheNews } from '../../core/read-cache.ts'
import type { Sql } from '../../core/sql.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import { countProfileChangeIn, findTenant, lockTenantRow, type TenantRow } from './sql.ts'

const tenants = perApp((app) => {
  const cache = createReadCache<Tenant | null>({
    max: 10_000,
    read: async (id) => {
      const row = await findTenant(app.db.query, id)
      return row === undefined ? null : { id: row.id, slug: row.slug, settings: tenantSettings(row.settings) }
    },
    keep: (tenant) => tenant !== null,
  })
  followCacheNews(app, { kind: 'tenant', forget: ({ tenantId }) => cache.forget(tenantId), clear: cache.clear })
  return cache
})

/** A tenant with its settings in force, at most 4 s old. Throws `not_found`. */
export async function loadTenant(app: App, tenantId: Id): Promise<Tenant> {
  const tenant = await tenants(app).get(tenantId)
  if (tenant === null) throw new ServiceError('not_found')
  return tenant
}

/** The same synchronously, if cached; else undefined. */
export const recallTenant = (app: App, tenantId: Id): Tenant | undefined => tenants(app).peek(tenantId) ?? undefined

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

/** All tenants, oldest first. For operators only. */
export const listTenants = async ({ prisma }: App) =>
  prisma.tenant.findMany({ select: { id: true, slug: true, createdAt: true }, orderBy: { id: 'asc' } })

export const findTenantBySlug = async ({ prisma }: App, slug: string) =>
  prisma.tenant.findUnique({ where: { slug }, select: { id: true, slug: true } })
