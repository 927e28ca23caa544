import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { roomOf } from '../../core/cache.ts'
import { requireCaller } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { atMost, counted, noNul, shownOrNull } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { requiredRow, rowPerRequest } from '../../core/per-request.ts'
import { announceChange, createReadCache, followCacheNews } from '../../core/read-cache.ts'
import { newPublicKey } from '../../core/secrets/crypto.ts'
import { exactOrigin } from '../../core/settings/tenant.ts'
import type { TxSql } from '../../core/database/database.ts'
import { isDistinct, wrong } from '../../core/input/schemas.ts'
import type { Site } from '../../generated/prisma/client.ts'
import type { SiteGuests } from '../../generated/prisma/enums.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { keepEndedKey } from './ended-keys.ts'

export type { Site }

/** The most sites of a tenant. */
export const MAX_SITES = 50

const PUBLIC_KEY = /^pk_[0-9a-f]{64}$/

export const siteFields = z.object({
  name: noNul(atMost(80, z.string().trim().min(1))).refine(
    (text) => text === '' || shownOrNull(text) !== null,
    wrong('invalid', 'must have a visible character'),
  ),
  origins: z.array(exactOrigin).min(1).max(20).refine(isDistinct, wrong('repeated', 'must not repeat one')),
  posting: z.boolean().optional(),
  guests: z.enum(['off', 'email']).optional(),
})

/** What an export has of a site. */
export const storedSite = siteFields.required().extend({
  // Exports of earlier releases have none.
  guests: siteFields.shape.guests.default('off'),
  publicKey: z.string().regex(PUBLIC_KEY, 'must be pk_ and 64 hex'),
})

/** The fields that a change has. */
export const siteChange = siteFields.partial()

export interface SiteInput {
  name?: string | null | undefined
  origins?: readonly string[] | null | undefined
  posting?: boolean | null | undefined
  guests?: SiteGuests | null | undefined
}

const FULL = `There can be ${counted(MAX_SITES, 'site')}.`

const siteWhere = (tenantId: Id, id: Id) => ({ tenantId_id: { tenantId, id } })

/** The form of a site in the audit log. */
export const shown = ({ name, origins, publicKey, posting, guests }: Omit<Site, 'createdAt'>) => ({
  name,
  origins,
  publicKey,
  posting,
  guests,
})

/** Creates a site. Throws `validation_failed`, `site_budget_exhausted`. */
export async function createSite(ctx: Ctx, input: SiteInput): Promise<Site> {
  const { tenant } = requireCaller(ctx)
  const { name, origins, posting = true, guests = 'off' } = validate(siteFields, input)
  return ctx.app.db.transaction(async (sql) => {
    if (!(await hasRoom(sql, tenant.id))) throw new ServiceError('site_budget_exhausted', { detail: FULL })
    const data = { tenantId: tenant.id, id: newId(), name, origins, posting, guests, publicKey: newPublicKey() }
    const site = await sql.prisma.site.create({ data })
    await recordAudit(sql, ctx, { action: 'site.create', targetId: site.id, after: shown(site) })
    return site
  })
}

/** The tenant's lock serialises creations, so that two cannot take the last place. */
export async function hasRoom(sql: TxSql, tenantId: Id): Promise<boolean> {
  await lockTenant(sql, tenantId)
  return (await sql.prisma.site.count({ where: { tenantId } })) < MAX_SITES
}

/** A site of the tenant by its id, or null. */
export const findSite = rowPerRequest<Site>((ctx, where) => ctx.app.prisma.site.findMany({ where }))

/** A site of the tenant. One statement serves all sites of a request. Throws `not_found`. */
export const getSite = requiredRow(findSite)

/** The tenant's sites, newest first. */
export const listSites = (ctx: Ctx, { where, ...query }: PageQuery): Promise<Site[]> =>
  ctx.app.prisma.site.findMany({ ...query, where: { ...where, tenantId: requireCaller(ctx).tenant.id } })

/** Changes the given fields. Throws `not_found`, `validation_failed`. */
export async function updateSite(ctx: Ctx, { id, ...input }: SiteInput & { id: Id }): Promise<Site> {
  const { tenant } = requireCaller(ctx)
  const { name, origins, posting, guests } = validate(siteChange, input)
  const change = {
    ...(name !== undefined && { name }),
    ...(origins !== undefined && { origins }),
    ...(posting !== undefined && { posting }),
    ...(guests !== undefined && { guests }),
  }
  // Streams end with what they were opened under, but not for another name. Pages learn of guests
  // from the settings.
  let isOther = false
  const site = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant.id, id)
    const after = await sql.prisma.site.update({ where: siteWhere(tenant.id, id), data: change })
    isOther =
      after.origins.join() !== before.origins.join() ||
      after.posting !== before.posting ||
      after.guests !== before.guests
    await recordAudit(sql, ctx, { action: 'site.update', targetId: id, before: shown(before), after: shown(after) })
    return after
  })
  if (isOther) announceChange(ctx.app, { kind: 'site', siteId: site.id, publicKey: site.publicKey })
  return site
}

/**
 * Deletes a site: its public key ends on every node. Returns its last state. Throws `not_found`.
 */
export async function deleteSite(ctx: Ctx, { id }: { id: Id }): Promise<Site> {
  const { tenant } = requireCaller(ctx)
  const site = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant.id, id)
    await sql.prisma.site.delete({ where: siteWhere(tenant.id, id) })
    await keepEndedKey(sql.prisma, tenant.id, before.publicKey)
    await recordAudit(sql, ctx, { action: 'site.delete', targetId: id, before: shown(before) })
    return before
  })
  announceChange(ctx.app, { kind: 'site', siteId: site.id, publicKey: site.publicKey })
  return site
}

/** A site of the tenant, as it is under the tenant's lock. Throws `not_found`. */
async function lock(sql: TxSql, tenantId: Id, id: Id): Promise<Site> {
  if (!isId(id)) throw new ServiceError('not_found')
  await lockTenant(sql, tenantId)
  const site = await sql.prisma.site.findUnique({ where: siteWhere(tenantId, id) })
  if (site === null) throw new ServiceError('not_found')
  return site
}

const byPublicKey = perApp((app) => {
  const cache = createReadCache<Site | null>({
    room: roomOf(app, 'sites'),
    part: 0.5,
    read: (publicKey) => app.prisma.site.findUnique({ where: { publicKey } }),
    // As with API keys: made-up ones must not evict real ones, and a new one works at once.
    keep: (site) => site !== null,
  })
  followCacheNews(app, { kind: 'site', forget: ({ publicKey }) => cache.forget(publicKey), clear: cache.clear })
  return cache
})

/**
 * The site with a public key, or null. `beforeLookUp` runs before the database is
 * queried for a key that this process has never found, and may refuse.
 */
export async function findSiteByKey(app: App, publicKey: string, beforeLookUp: () => void): Promise<Site | null> {
  if (!PUBLIC_KEY.test(publicKey)) return null
  if (byPublicKey(app).isNew(publicKey)) beforeLookUp()
  return byPublicKey(app).get(publicKey)
}

const byId = perApp((app) => {
  const cache = createReadCache<Site | null>({
    room: roomOf(app, 'sites'),
    part: 0.5,
    read: (key) => {
      const [tenantId = '', id = ''] = key.split(' ')
      return app.prisma.site.findUnique({ where: siteWhere(tenantId, id) })
    },
    groupOf: (key) => key.split(' ')[1],
  })
  followCacheNews(app, { kind: 'site', forget: ({ siteId }) => cache.forgetGroup(siteId), clear: cache.clear })
  return cache
})

/** The site whose page minted a ticket; null if it was deleted. */
export const findSiteOf = (app: App, { tenantId, id }: { tenantId: Id; id: Id }): Promise<Site | null> =>
  byId(app).get(`${tenantId} ${id}`)
