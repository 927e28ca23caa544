import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { recordAudit, recordAuditOfImport } from '../../core/audit.ts'
import { CHANNELS } from '../../core/bus.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'
import {
  type PUBLIC_SETTINGS,
  type TenantSettings,
  tenantSettings,
  tenantSettingsSchema,
  wordListSchema,
} from '../../core/settings/tenant.ts'
import { validate } from '../../core/input/validate.ts'
import { invalid, ServiceError, validationFailed } from '../../core/errors.ts'
import type { Prisma } from '../../generated/prisma/client.ts'
import { entryErrors } from '../comments/text/word-entries.ts'
import { tryWords, type WordMatches } from '../comments/history/word-matches.ts'
import { followKeySet } from '../readers/key-sets.ts'
import { announceEnded } from '../staff/sign-ins.ts'
import { followStaff, withoutSecret } from '../staff/sign-on/settings.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { outboundUrl, type UrlSettings } from '../webhooks/rules/urls.ts'
import { differenceDeep, mergeDeep, patchStored } from './merge.ts'

/**
 * The tenant's settings in force, read from the database, so that a caller sees its own latest
 * change.
 */
export async function findSettings(ctx: Ctx): Promise<TenantSettings> {
  const { tenant } = requireCaller(ctx)
  const row = await ctx.app.prisma.tenant.findUnique({ where: { id: tenant.id }, select: { settings: true } })
  return tenantSettings(row?.settings)
}

export type PublicSettings = Pick<TenantSettings, (typeof PUBLIC_SETTINGS)[number]>

/**
 * The settings that readers may know, from the cache that serves every request, because each page
 * needs them.
 */
export const findPublicSettings = (ctx: Ctx): PublicSettings => requireCaller(ctx).tenant.settings

/**
 * Changes only the fields of `patch`. Only values that differ from the defaults are stored, so that
 * a tenant follows a default until it sets its own value. Fields stored by a newer release stay.
 * Throws `validation_failed` if the settings would be inconsistent.
 */
export async function updateSettings(ctx: Ctx, patch: Record<string, unknown>): Promise<TenantSettings> {
  const { app } = ctx
  const { tenant, actor } = requireCaller(ctx)
  const change = await app.db.transaction(async (sql) => {
    // Under the lock, so that concurrent changes of different settings both succeed.
    const { settings: stored } = await lockTenant(sql, tenant.id)
    const before = tenantSettings(stored)
    const { settings: after, clientSecret } = withoutSecret(validate(tenantSettingsSchema, mergeDeep(before, patch)))
    const isOwner = actor.kind === 'admin' && actor.role === 'owner'
    if (!isOwner && (clientSecret !== undefined || !isDeepStrictEqual(after.staff, before.staff)))
      throw new ServiceError('admin_only', { detail: 'Only an owner may change `staff`, by an admin token.' })
    const next = storedAfter(stored, patch, after)
    if (isDeepStrictEqual(next, stored) && clientSecret === undefined) return { before, after, ended: [] }
    checkUrls(before, after, app.settings)
    checkWords(before, after)
    await sql.prisma.tenant.update({ where: { id: tenant.id }, data: { settings: next as Prisma.InputJsonObject } })
    const { jwksUrl } = after.identity
    if (jwksUrl !== before.identity.jwksUrl) await followKeySet(sql, tenant.id, jwksUrl)
    const ended = isOwner
      ? await followStaff(
          sql,
          app,
          { tenantId: tenant.id, signInId: actor.signInId },
          { before: before.staff, after: after.staff, clientSecret },
        )
      : []
    const replaced = clientSecret === undefined ? {} : { staff: { oidc: { clientSecret: 'replaced' } } }
    await recordAudit(sql, ctx, {
      action: 'settings.update',
      targetId: tenant.id,
      before: differenceDeep(before, after),
      after: mergeDeep(differenceDeep(after, before), replaced),
    })
    return { before, after, ended }
  })
  announceEnded(app, change.ended)
  announceChange(app, { kind: 'tenant', tenantId: tenant.id })
  const { jwksUrl } = change.after.identity
  if (jwksUrl !== null && jwksUrl !== change.before.identity.jwksUrl) app.bus.publish(CHANNELS.work, tenant.id)
  return change.after
}

/**
 * Copies the stored settings of another tenant to one that has set nothing. `other`: the tenant has
 * set different values. The caller announces the change after the commit. Throws
 * `validation_failed`.
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
  const { settings: after, clientSecret } = withoutSecret(validate(tenantSettingsSchema, mergeDeep(before, given)))
  // No export has it, and it would be stored and logged as it is.
  if (clientSecret !== undefined) throw invalid('/staff/oidc/clientSecret', 'not_supported', 'is not taken from a file')
  checkUrls(before, after, settings)
  await sql.prisma.tenant.update({ where: { id: tenantId }, data: { settings: given as Prisma.InputJsonObject } })
  if (after.identity.jwksUrl !== null) await followKeySet(sql, tenantId, after.identity.jwksUrl)
  await recordAuditOfImport(sql, of, {
    action: 'settings.update',
    targetId: tenantId,
    before: differenceDeep(before, after),
    after: differenceDeep(after, before),
  })
  return 'taken'
}

/** The settings to store, so that they are read back as `after`. */
function storedAfter(stored: unknown, patch: Record<string, unknown>, after: TenantSettings): Record<string, unknown> {
  const defaults: Record<string, unknown> = tenantSettings({})
  const next = patchStored(stored, patch, after, defaults)
  const read: Record<string, unknown> = tenantSettings(next)
  for (const [name, value] of Object.entries(after)) {
    // If a value stored by a newer release conflicts with the change, the change wins.
    if (!isDeepStrictEqual(read[name], value)) Object.assign(next, differenceDeep({ [name]: value }, defaults))
  }
  return next
}

/**
 * Refuses new addresses that workers must not call. An address accepted under earlier rules does
 * not block other changes.
 */
function checkUrls(before: TenantSettings, after: TenantSettings, settings: UrlSettings): void {
  const url = outboundUrl(settings).optional()
  const schema = z.object({
    classifier: z.object({ url }),
    identity: z.object({ jwksUrl: url }),
    staff: z.object({ oidc: z.object({ issuer: url }) }),
    guests: z.object({ mailUrl: url }),
  })
  const changed = (now: string | null | undefined, then: string | null | undefined) =>
    now === then ? undefined : (now ?? undefined)
  validate(schema, {
    classifier: { url: changed(after.classifier?.url, before.classifier?.url) },
    identity: { jwksUrl: changed(after.identity.jwksUrl, before.identity.jwksUrl) },
    staff: { oidc: { issuer: changed(after.staff.oidc?.issuer, before.staff.oidc?.issuer) } },
    guests: { mailUrl: changed(after.guests.mailUrl, before.guests.mailUrl) },
  })
}

/** Refuses new entries that would match nothing or nearly everything, as `checkUrls` does. */
function checkWords(before: TenantSettings, after: TenantSettings): void {
  const errors = (['bannedWords', 'suspectWords'] as const).flatMap((name) =>
    entryErrors(after[name], `/${name}`, before[name]),
  )
  if (errors.length > 0) throw validationFailed(errors)
}

const trialSchema = z.object({ words: wordListSchema })

/**
 * How many of the tenant's latest comments a list of words would have caught. Throws
 * `validation_failed`, `unavailable`.
 */
export async function tryWordList(ctx: Ctx, input: { words: readonly string[] }): Promise<WordMatches> {
  const { words } = validate(trialSchema, input)
  const errors = entryErrors(words, '/words')
  if (errors.length > 0) throw validationFailed(errors)
  return tryWords(ctx, words)
}
