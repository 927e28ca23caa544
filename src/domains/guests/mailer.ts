import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { ServiceError } from '../../core/errors.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import type { Site } from '../sites/sites.ts'
import { refuseUrl, type UrlSettings } from '../webhooks/rules/urls.ts'

export const MAILER_STATES = {
  none: { description: 'The setting guests.mailUrl is null: no site takes guests.' },
  refused: {
    description:
      'The service may not call guests.mailUrl, which is no https address, or a private one: no site takes guests.',
  },
  unsigned: { description: 'There is no mail secret to sign with: no site takes guests.' },
  failing: { description: 'The last mail was not taken. It is tried again.' },
  ready: { description: 'Nothing is missing, and the last mail was taken, if there was one.' },
} as const

/** What mails for guests need. */
interface Needs {
  url: string | null
  hasSecret: boolean
}

/** Why no mail can be handed out at all; null if nothing is missing. */
function lackOf(settings: UrlSettings, { url, hasSecret }: Needs): 'none' | 'refused' | 'unsigned' | null {
  if (url === null) return 'none'
  if (refuseUrl(url, settings) !== null) return 'refused'
  return hasSecret ? null : 'unsigned'
}

/**
 * Whether people can become guests on the pages of a site: what pages, the console and the routes
 * of guests go by.
 */
export function takesGuests(
  { settings }: Pick<App, 'settings'>,
  site: Pick<Site, 'posting' | 'guests'>,
  tenant: Pick<Tenant, 'settings' | 'mailSecretUntil'>,
): boolean {
  const needs = { url: tenant.settings.guests.mailUrl, hasSecret: (tenant.mailSecretUntil ?? 0) > Date.now() }
  return keepsGuests(site, tenant) && lackOf(settings, needs) === null
}

/**
 * Whether guests who have confirmed their address write on. They need no mail: the end of a secret
 * signs nobody out.
 */
export const keepsGuests = (
  { posting, guests }: Pick<Site, 'posting' | 'guests'>,
  { settings }: Pick<Tenant, 'settings'>,
): boolean => posting && guests === 'email' && settings.guests.mailUrl !== null

/** Throws `guests_disabled`. */
export function requireGuests(app: App, site: Site, tenant: Tenant): void {
  if (!takesGuests(app, site, tenant)) throw new ServiceError('guests_disabled')
}

/** The tenant's mailer, and whether it takes mails. */
export interface Mailer {
  url: string | null
  state: keyof typeof MAILER_STATES
  lastFailureAt: Date | null
  lastFailure: string | null
  recoveredAt: Date | null
}

/** The state of the tenant's mailer, from the database: a caller sees its own change. */
export async function getMailer(ctx: Ctx): Promise<Mailer> {
  const { tenant } = requireCaller(ctx)
  const { app } = ctx
  const row = await app.prisma.tenant.findUnique({
    where: { id: tenant.id },
    select: {
      settings: true,
      guestMailer: true,
      mailSecrets: { where: { OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] }, take: 1 },
    },
  })
  const { mailUrl: url } = tenantSettings(row?.settings).guests
  const last = row?.guestMailer?.url === url ? row.guestMailer : null
  const { lastFailureAt = null, lastFailure = null, recoveredAt = null } = last ?? {}
  const found = { url, lastFailureAt, lastFailure, recoveredAt }
  const lack = lackOf(app.settings, { url, hasSecret: (row?.mailSecrets.length ?? 0) > 0 })
  const isFailing = lastFailureAt !== null && recoveredAt === null
  return { ...found, state: lack ?? (isFailing ? 'failing' : 'ready') }
}

/** Notes that a mail was not taken at an address. */
export function noteFailure(
  { prisma }: App,
  { tenantId, url, error }: { tenantId: Id; url: string; error: string },
): Promise<unknown> {
  const data = { url, lastFailureAt: new Date(), lastFailure: error, recoveredAt: null }
  return prisma.guestMailer.upsert({ where: { tenantId }, create: { tenantId, ...data }, update: data })
}

/** Notes that a mail was taken at an address. Where none failed before, nothing is written. */
export const noteSuccess = ({ prisma }: App, { tenantId, url }: { tenantId: Id; url: string }): Promise<unknown> =>
  prisma.guestMailer.updateMany({ where: { tenantId, url, recoveredAt: null }, data: { recoveredAt: new Date() } })
