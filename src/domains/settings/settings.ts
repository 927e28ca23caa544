import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { recordAudit, recordAuditOfImport } from '../../core/audit.ts'
import { CHANNELS } from '../../core/bus.ts'
import { type App, type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/sql.ts'
import {
  type PUBLIC_SETTINGS,
  type TenantSettings,
  tenantSettings,
  tenantSettingsSchema,
} from '../../core/tenant-settings.ts'
import { validate } from '../../core/validate.ts'
import type { Prisma } from '../../generated/prisma/client.ts'
import { followKeySet } from '../readers/key-sets.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { outboundUrl, type UrlSettings } from '../webhooks/urls.ts'
import { differenceDeep, mergeDeep, patchStored } from './merge.ts'

/**
 * The tenant's settings in force, read from the database: whoever has just changed them sees the
 * change.
 */
export async function findSettings(ctx: Ctx): Promise<TenantSettings> {
  const { tenant } = requireCaller(ctx)
  const row = await ctx.app.prisma.tenant.findUnique({ where: { id: tenant.id }, select: { settings: true } })
  return tenantSettings(row?.settings)
}

export type PublicSettings = Pick<TenantSettings, (typeof PUBLIC_SETTINGS)[number]>

/**
 * What readers may know of the settings: from the cache that admits every request, as it is asked
 * for with each page.
 */
export const findPublicSettings = (ctx: Ctx): PublicSettings => requireCaller(ctx).tenant.settings

/**
 * Changes what `patch` gives, and nothing else. Only what differs from the defaults is stored, so
 * that a tenant follows a default until it decides otherwise. What a newer release has stored
 * stays. Throws `validation_failed` where the settings would not be sound.
 */
export async function updateSettings(ctx: Ctx, patch: Record<string, unknown>): Promise<TenantSettings> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const change = await app.db.transaction(async (sql) => {
    // Under the lock, so that two who change different settings at once both succeed.
    const { settings: stored } = await lockTenant(sql, tenant.id)
    const before = tenantSettings(stored)
    const after = validate(tenantSettingsSchema, mergeDeep(before, patch))
    const next = storedAfter(stored, patch, after)
    if (isDeepStrictEqual(next, stored)) return { before, after }
    checkUrls(before, after, app.settings)
    await sql.prisma.tenant.update({ where: { id: tenant.id }, data: { settings: next as Prisma.InputJsonObject } })
    const { jwksUrl } = after.identity
    if (jwksUrl !== before.identity.jwksUrl) await followKeySet(sql, tenant.id, jwksUrl)
    await recordAudit(sql, ctx, {
      action: 'settings.update',
      targetType: 'settings',
      targetId: tenant.id,
      before: differenceDeep(before, after),
      after: differenceDeep(after, before),
    })
    return { before, after }
  })
  announceChange(app, { kind: 'tenant', tenantId: tenant.id })
  const { jwksUrl } = change.after.identity
  if (jwksUrl !== null && jwksUrl !== change.before.identity.jwksUrl) app.bus.publish(CHANNELS.work, tenant.id)
  return change.after
}

/**
 * Gives a tenant that has set nothing the stored settings of another one. `other`: it has set
 * something else. Who calls announces the change after the commit. Throws `validation_failed`.
 */
export async function adoptSettings(
  { settings }: Pick<App, 'settings'>,
  sql: TxSql,
  of: { tenantId: Id; importId: Id },
  given: Record<string, unknown>,
): Promise<'taken' | 'same' | 'other'> {
  const { tenantId } = of
  const { settings: stored } = await lockTenant(sql, tenantId)
  if (isDeepStrictEqual(stored, given)) return 'same'
  if (!isDeepStrictEqual(stored, {})) return 'other'
  const before = tenantSettings({})
  const after = validate(tenantSettingsSchema, mergeDeep(before, given))
  checkUrls(before, after, settings)
  await sql.prisma.tenant.update({ where: { id: tenantId }, data: { settings: given as Prisma.InputJsonObject } })
  if (after.identity.jwksUrl !== null) await followKeySet(sql, tenantId, after.identity.jwksUrl)
  await recordAuditOfImport(sql, of, {
    action: 'settings.update',
    targetType: 'settings',
    targetId: tenantId,
    before: differenceDeep(before, after),
    after: differenceDeep(after, before),
  })
  return 'taken'
}

/** What is stored of the settings, such that `after` is read from it again. */
function storedAfter(stored: unknown, patch: Record<string, unknown>, after: TenantSettings): Record<string, unknown> {
  const defaults: Record<string, unknown> = tenantSettings({})
  const next = patchStored(stored, patch, after, defaults)
  const read: Record<string, unknown> = tenantSettings(next)
  for (const [name, value] of Object.entries(after)) {
    // What a newer release has stored does not fit the change: then the change counts.
    if (!isDeepStrictEqual(read[name], value)) Object.assign(next, differenceDeep({ [name]: value }, defaults))
  }
  return next
}

/**
 * Refuses new addresses that workers must not call. One that was set under other rules does not
 * block other changes.
 */
function checkUrls(before: TenantSettings, after: TenantSettings, settings: UrlSettings): void {
  const url = outboundUrl(settings).optional()
  const schema = z.object({
    classifier: z.object({ url }),
    identity: z.object({ jwksUrl: url }),
  })
  const changed = (now: string | null | undefined, then: string | null | undefined) =>
    now === then ? undefined : (now ?? undefined)
  validate(schema, {
    classifier: { url: changed(after.classifier?.url, before.classifier?.url) },
    identity: { jwksUrl: changed(after.identity.jwksUrl, before.identity.jwksUrl) },
  })
}
