import { recordAudit } from '../../core/audit.ts'
import { CHANNELS } from '../../core/bus.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import { invalid } from '../../core/errors.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { Sql } from '../../core/sql.ts'
import { type TenantSettings, tenantSettings, tenantSettingsSchema } from '../../core/tenant-settings.ts'
import { validate } from '../../core/validate.ts'
import { deleteKeySet, putKeySet } from '../readers/key-set-sql.ts'
import { findTenant, lockTenant, updateTenantSettings } from '../tenants/sql.ts'
import { differenceDeep, mergeDeep } from './merge.ts'

/** The tenant's settings in force, read from the database: whoever has just changed them sees the change. */
export async function findSettings(ctx: Ctx): Promise<TenantSettings> {
  const { tenant } = requireCaller(ctx)
  return tenantSettings((await findTenant(ctx.app.db.query, tenant.id))?.settings)
}

export type PublicSettings = Pick<TenantSettings, 'reactionTypes' | 'editWindowSeconds' | 'maxDepth'>

/** What readers may know of the settings: from the cache that admits every request, as it is asked for with each page. */
export const findPublicSettings = (ctx: Ctx): PublicSettings => requireCaller(ctx).tenant.settings

/**
 * Changes what `patch` gives, and nothing else. Only what differs from the defaults is stored, so that a tenant follows
 * a default until it decides otherwise. Throws `validation_failed` where the settings would not be sound.
 */
export async function updateSettings(ctx: Ctx, patch: Record<string, unknown>): Promise<TenantSettings> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const change = await app.db.transaction(async (sql) => {
    // Under the lock, so that two who change different settings at once both succeed.
    const before = tenantSettings((await lockTenant(sql, tenant.id))?.settings)
    const after = validate(tenantSettingsSchema, mergeDeep(before, patch))
    const changed = differenceDeep(after, before)
    if (Object.keys(changed).length === 0) return { before, after }
    if (!app.settings.WEBHOOK_ALLOW_HTTP) requireHttps(before, after)
    await updateTenantSettings(sql, tenant.id, differenceDeep(after, tenantSettings({})))
    await followKeySet(sql, tenant.id, before, after)
    await recordAudit(sql, ctx, {
      action: 'settings.update',
      targetType: 'settings',
      targetId: tenant.id,
      before: differenceDeep(before, after),
      after: changed,
    })
    return { before, after }
  })
  announceChange(app, { kind: 'tenant', tenantId: tenant.id })
  const { jwksUrl } = change.after.identity
  if (jwksUrl !== null && jwksUrl !== change.before.identity.jwksUrl) app.bus.publish(CHANNELS.work, tenant.id)
  return change.after
}

const outboundUrls = ({ classifier, identity }: TenantSettings) => ({
  '/classifier/url': classifier?.url ?? null,
  '/identity/jwksUrl': identity.jwksUrl,
})

/** Refuses a change to an address that would be called over http. */
function requireHttps(before: TenantSettings, after: TenantSettings): void {
  const known = Object.values(outboundUrls(before))
  for (const [pointer, url] of Object.entries(outboundUrls(after))) {
    if (url === null || known.includes(url) || new URL(url).protocol === 'https:') continue
    throw invalid(pointer, 'https_required', 'must be an https URL')
  }
}

/** Has a worker fetch the keys of a new JWKS address; API processes never call out. */
async function followKeySet(sql: Sql, tenantId: string, before: TenantSettings, after: TenantSettings): Promise<void> {
  const { jwksUrl } = after.identity
  if (jwksUrl === before.identity.jwksUrl) return
  await (jwksUrl === null ? deleteKeySet(sql, tenantId) : putKeySet(sql, tenantId, jwksUrl, new Date()))
}
