import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import { refuseUrl, type UrlSettings } from '../webhooks/sending/urls.ts'

export const MAILER_STATES = {
  none: { description: 'The setting guests.mailUrl is null: no site takes guests.' },
  refused: { description: 'The service may not call guests.mailUrl: it is no https address, or a private one.' },
  unsigned: { description: 'There is no mail secret to sign with: mails wait.' },
  failing: { description: 'The last mail was not taken. It is tried again.' },
  ready: { description: 'Nothing is missing, and the last mail was taken, if there was one.' },
} as const

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
  return { ...found, state: stateOf(app.settings, found, (row?.mailSecrets.length ?? 0) > 0) }
}

function stateOf(
  settings: UrlSettings,
  { url, lastFailureAt, recoveredAt }: Omit<Mailer, 'state'>,
  hasSecret: boolean,
): Mailer['state'] {
  if (url === null) return 'none'
  if (refuseUrl(url, settings) !== null) return 'refused'
  if (!hasSecret) return 'unsigned'
  return lastFailureAt !== null && recoveredAt === null ? 'failing' : 'ready'
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
