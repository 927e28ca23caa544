import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { requireCaller, requireMember, requireSecondFactor } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { validate } from '../../core/input/validate.ts'
import { hashPassword } from '../../core/secrets/crypto.ts'
import type { Member } from '../../generated/prisma/client.ts'
import { checkPassword, lockAccount, lockUnchanged, newPassword, password, requireAccount } from './accounts.ts'
import { choicesOf, membershipsOf } from './login.ts'
import { withinLoginLimits } from './login-limits.ts'
import { findMember } from './members.ts'
import { type AdminToken, announceEnded, beginSignIn, endSignIns, requireSignedIn } from './sign-ins.ts'

/** What the request's token stands for. */
export interface Me {
  memberId: Id
  accountId: Id | null
  tenant: { id: Id; slug: string }
  /** When the token expires. */
  expiresAt: Date
}

/** The sign-in of the request's token. Throws `admin_only`. */
export function findMe(ctx: Ctx): Me {
  const { id: memberId, accountId, expiresAt } = requireMember(ctx)
  const { id, slug } = requireCaller(ctx).tenant
  return { memberId, accountId, tenant: { id, slug }, expiresAt }
}

/** The member of the token. Throws `invalid_admin_token` if they were removed meanwhile. */
export async function memberOf(ctx: Ctx, { memberId }: Me): Promise<Member> {
  const member = await findMember(ctx, memberId)
  if (member === null) throw new ServiceError('invalid_admin_token')
  return member
}

/** The tenants where the member may sign in with the same password. */
export const tenantsOf = async (ctx: Ctx, { accountId }: Me) =>
  accountId === null ? [] : choicesOf(await membershipsOf(ctx.app, accountId))

export const passwordSchema = z.object({ current: password, new: newPassword })

/**
 * Changes the member's password, in every tenant of theirs, and ends all their sign-ins; the answer
 * has the token of a new one. Throws `invalid_admin_token` if the present password is wrong,
 * `password_required`, `second_factor_setup_required` and `rate_limited`.
 */
export async function changePassword(ctx: Ctx, input: { current: string; new: string }): Promise<AdminToken> {
  requireSecondFactor(requireMember(ctx))
  const { current, new: next } = validate(passwordSchema, input)
  const { app, address } = ctx
  const { tenant } = requireCaller(ctx)
  const accountId = requireAccount(ctx)
  const { id, email } = requireMember(ctx)
  const account = await withinLoginLimits(app, { email, address }, () => checkPassword(app, email, current))
  // An account of the same address may be another person.
  if (account === null || account.id !== accountId)
    throw new ServiceError('invalid_admin_token', { detail: 'The present password is wrong.' })
  const passwordHash = await hashPassword(next)
  const { token, ended } = await app.db.transaction(async (sql) => {
    if (!(await lockUnchanged(sql, account))) throw new ServiceError('invalid_admin_token')
    await requireSignedIn(sql, ctx)
    await sql.prisma.account.update({ where: { id: account.id }, data: { passwordHash } })
    const signIns = await endSignIns(sql, { member: { accountId: account.id } })
    await recordAudit(sql, ctx, { action: 'member.change_password', targetId: id })
    const { signInHours } = tenant.settings.staff
    return { token: await beginSignIn(sql, app, { tenantId: tenant.id, id }, signInHours), ended: signIns }
  })
  announceEnded(app, ended)
  return token
}

/** Ends the sign-in of the request's token. */
export const logout = async (ctx: Ctx): Promise<void> => end(ctx, { id: requireMember(ctx).signInId })

/** Ends all sign-ins of the member, in every tenant of theirs. */
export async function logoutEverywhere(ctx: Ctx): Promise<void> {
  const { id, accountId } = requireMember(ctx)
  await end(ctx, accountId === null ? { memberId: id } : { member: { accountId } })
}

async function end(ctx: Ctx, which: { id: Id } | { memberId: Id } | { member: { accountId: Id } }): Promise<void> {
  const { id: tenantId } = requireCaller(ctx).tenant
  const where = 'member' in which ? which : { tenantId, ...which }
  const ended = await ctx.app.db.transaction(async (sql) => {
    const { id, accountId } = requireMember(ctx)
    if (accountId !== null) await lockAccount(sql, accountId)
    await recordAudit(sql, ctx, { action: 'id' in which ? 'member.logout' : 'member.logout_everywhere', targetId: id })
    return endSignIns(sql, where)
  })
  announceEnded(ctx.app, ended)
}
