import { z } from 'zod'

import { recordAuditOf } from '../../../core/audit.ts'
import type { App } from '../../../core/app.ts'
import type { Ctx } from '../../../core/context.ts'
import { type Id, newId } from '../../../core/ids.ts'
import { ofTenant } from '../../../core/queues/patience.ts'
import { seal, unseal } from '../../../core/secrets/seals.ts'
import type { TxSql } from '../../../core/database/database.ts'
import { type OidcSettings, tenantSettings } from '../../../core/settings/tenant.ts'
import type { Member } from '../../../generated/prisma/client.ts'
import { lockTenant } from '../../tenants/tenants.ts'
import { tenantSlug } from '../login.ts'
import { keyOf, shownMember } from '../membership.ts'
import { type AdminToken, announceEnded, beginSignIn, type EndedSignIns, endSignIns } from '../sign-ins.ts'
import { withinSignOnLimits } from './limits.ts'
import { type Person, personOf } from './person.ts'
import { beginAt, finishAt } from './provider.ts'
import { refuseSignOn } from './refusals.ts'

/** How long a person may take at the provider. */
const MAX_MS = 10 * 60_000
const SEAL = 'sign-on'

const TENANT = { id: true, settings: true, suspendedAt: true } as const

const begunSchema = z.object({
  tenantId: z.string(),
  issuer: z.string(),
  clientId: z.string(),
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  until: z.number(),
})

/** A browser on its way to the provider. */
export interface Departure {
  url: string
  /** Sealed, for a cookie that no script can read. */
  begun: string
  expiresAt: Date
}

/**
 * Begins a sign-on at the provider of a tenant, by its slug. The provider sends the browser back to
 * `callback`. Rejects with SignOnRefused.
 */
export function beginSignOn(
  { app, address }: Pick<Ctx, 'app' | 'address'>,
  slug: string,
  callback: string,
): Promise<Departure> {
  return withinSignOnLimits(app, address, async () => {
    const found = tenantSlug.safeParse(slug).success
      ? await app.prisma.tenant.findUnique({ where: { slug }, select: TENANT })
      : null
    const oidc = found === null ? null : tenantSettings(found.settings).staff.oidc
    if (found === null || oidc === null) throw refuseSignOn('unknown_tenant')
    if (found.suspendedAt !== null) throw refuseSignOn('tenant_suspended')
    const { url, begun } = await beginAt(app, found.id, oidc, callback)
    const until = Date.now() + MAX_MS
    const { issuer, clientId } = oidc
    const kept = { tenantId: found.id, issuer, clientId, ...begun, until } satisfies z.infer<typeof begunSchema>
    const sealed = seal(app.settings, JSON.stringify(kept), SEAL).toString('base64url')
    return { url: url.href, begun: sealed, expiresAt: new Date(until) }
  })
}

/**
 * Ends a sign-on: `url` is the callback with the query with which the provider sent the browser
 * back, and `sealed` what the browser kept. Rejects with SignOnRefused.
 */
export async function finishSignOn(
  { app, address }: Pick<Ctx, 'app' | 'address'>,
  url: URL,
  sealed: string | undefined,
): Promise<AdminToken> {
  const begun = open(app, sealed)
  const { tenantId } = begun
  return withinSignOnLimits(app, address, async () => {
    const tenant = await app.prisma.tenant.findUnique({ where: { id: tenantId }, select: TENANT })
    const oidc = tenant === null ? null : tenantSettings(tenant.settings).staff.oidc
    if (tenant?.suspendedAt != null) throw refuseSignOn('tenant_suspended')
    // An answer of one provider is never taken to another.
    if (oidc === null || oidc.issuer !== begun.issuer || oidc.clientId !== begun.clientId) throw refuseSignOn('expired')
    const claims = await finishAt(app, tenantId, oidc, url, begun)
    const person = personOf(claims, oidc)
    return signOn(app, tenantId, oidc, person)
  })
}

function open({ settings }: App, sealed: string | undefined): z.infer<typeof begunSchema> {
  try {
    const begun = begunSchema.parse(JSON.parse(unseal(settings, Buffer.from(sealed ?? '', 'base64url'), SEAL)))
    if (begun.until > Date.now()) return begun
  } catch {
    // Altered, of another key, or none.
  }
  throw refuseSignOn('expired')
}

async function signOn(app: App, tenantId: Id, { issuer, clientId }: OidcSettings, person: Person): Promise<AdminToken> {
  // Many people of a tenant sign in at the beginning of a shift, and each locks the tenant.
  const { token, ended } = await ofTenant(app, tenantId).db.transaction(async (sql) => {
    const { settings } = await lockTenant(sql, tenantId)
    const { staff } = tenantSettings(settings)
    // Changed meanwhile: what was begun under it ends with it.
    if (staff.oidc?.issuer !== issuer || staff.oidc.clientId !== clientId) throw refuseSignOn('expired')
    const { member, ended: signIns } = await memberFor(sql, tenantId, issuer, person)
    return {
      token: await beginSignIn(sql, app, member, staff.signInHours, { bySignOn: true }),
      ended: signIns,
    }
  })
  announceEnded(app, ended)
  return token
}

/** The member who signs in, with the role of now. Another role ends what they have open. */
async function memberFor(
  sql: TxSql,
  tenantId: Id,
  issuer: string,
  { subject, email, name, role }: Person,
): Promise<{ member: Member; ended: EndedSignIns[] }> {
  const { prisma } = sql
  const bound = await prisma.member.findFirst({ where: { tenantId, oidcIssuer: issuer, oidcSubject: subject } })
  const before = bound ?? (await prisma.member.findFirst({ where: { tenantId, email } }))
  const own = { role, oidcIssuer: issuer, oidcSubject: subject, lastSeenAt: new Date() }
  const actorOf = (id: Id) => ({ tenantId, actor: { kind: 'admin', id } }) as const
  if (before === null) {
    const data = { tenantId, id: newId(), email, name, ...own }
    const [member] = await prisma.member.createManyAndReturn({ data, skipDuplicates: true })
    // An invitation, which does not lock the tenant, has just made one of this address.
    if (member === undefined) return memberFor(sql, tenantId, issuer, { subject, email, name, role })
    const record = { action: 'member.sign_on', targetId: member.id, after: shownMember(member) } as const
    await recordAuditOf(sql, actorOf(member.id), record)
    return { member, ended: [] }
  }
  if (before.role === 'owner') throw refuseSignOn('owner')
  if (before.disabledAt !== null) throw refuseSignOn('disabled')
  if (bound === null && before.oidcIssuer === issuer) throw refuseSignOn('other_person')
  const member = await prisma.member.update({
    where: keyOf(before),
    data: { ...own, name: before.name ?? name, invitationDigest: null, invitationExpiresAt: null },
  })
  if (bound !== null && bound.role === role) return { member, ended: [] }
  const target = { action: 'member.sign_on', targetId: member.id } as const
  await recordAuditOf(sql, actorOf(member.id), { ...target, before: shownMember(before), after: shownMember(member) })
  const ended = before.role === role ? [] : await endSignIns(sql, { tenantId, memberId: member.id })
  return { member, ended }
}
