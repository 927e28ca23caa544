import { z } from 'zod'

import { recordAuditOf } from '../../core/audit.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { hashPassword } from '../../core/secrets/crypto.ts'
import type { TxSql } from '../../core/database/database.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import type { Account, Member, Tenant } from '../../generated/prisma/client.ts'
import { addAccount, checkPassword, lockUnchanged, newPassword, password } from './accounts.ts'
import { requireActive } from '../tenants/tenants.ts'
import { requirePasswords } from './login.ts'
import { withinLoginLimits } from './login-limits.ts'
import { digestOf, keyOf, memberName, shownMember } from './membership.ts'
import { checkSecondFactor, codeSchema } from './second-factor.ts'
import { type AdminToken, beginSignIn } from './sign-ins.ts'

export const acceptSchema = z.object({
  token: noNul(atMost(100, z.string().min(1))),
  name: memberName.nullish(),
  password,
  code: codeSchema.nullish(),
})

export interface AcceptInput {
  token: string
  name?: string | null | undefined
  password: string
  code?: string | null | undefined
}

const INVALID = { detail: 'The invitation is unknown, has been used, or has expired.' }
const WRONG = { detail: 'The address of the invitation has an account already, and this is not its password.' }

/**
 * Accepts an invitation, and signs in. Where the address has no account, the password becomes its
 * own; where it has one, the password and the second factor must be the present ones, and nothing
 * of the account changes. Throws `not_found`, `invalid_admin_token`, `second_factor_required`,
 * `invalid_second_factor`, `tenant_suspended`, `sign_on_required`, `validation_failed`,
 * `rate_limited`.
 */
export async function acceptInvitation(ctx: Ctx, input: AcceptInput): Promise<AdminToken> {
  const { token, name = null, password: given, code = null } = validate(acceptSchema, input)
  const { app, address } = ctx
  const member = await withinLoginLimits(app, { email: `invitation ${token}`, address }, () => findInvited(app, token))
  if (member === null) throw new ServiceError('not_found', INVALID)
  const { email, tenantId } = member
  requireActive(member.tenant)
  requirePasswords(member.tenant.settings, member.role)
  const isKnown = (await app.prisma.account.count({ where: { email } })) > 0
  if (!isKnown) validate(z.object({ password: newPassword }), { password: given })
  if (!isKnown && name === null && member.name === null) throw invalid('/name', 'required', 'is required')
  const found = await withinLoginLimits(app, { email, address }, async () => {
    if (!isKnown) return { account: { email, passwordHash: await hashPassword(given) }, useCode: null }
    const account = await checkPassword(app, email, given)
    return account && { account, useCode: await checkSecondFactor(app, account.id, code) }
  })
  if (found === null) throw new ServiceError('invalid_admin_token', WRONG)
  return app.db.transaction(async (sql) => {
    const { account, useCode } = found
    const accountId = 'id' in account ? await knownId(sql, account) : await addAccount(sql, account)
    // Somebody else made the account, or changed its password, meanwhile.
    if (accountId === null) throw new ServiceError('invalid_admin_token', WRONG)
    if (useCode !== null && !(await useCode(sql))) throw new ServiceError('invalid_second_factor')
    const { count } = await sql.prisma.member.updateMany({
      where: { tenantId, id: member.id, invitationDigest: digestOf(token), accountId: null, disabledAt: null },
      data: {
        accountId,
        invitationDigest: null,
        invitationExpiresAt: null,
        name: name ?? member.name,
        lastSeenAt: new Date(),
      },
    })
    if (count === 0) throw new ServiceError('not_found', INVALID)
    const after = await sql.prisma.member.findUniqueOrThrow({ where: keyOf(member) })
    await recordAuditOf(
      sql,
      { tenantId, actor: { kind: 'admin', id: member.id } },
      {
        action: 'member.accept',
        targetId: member.id,
        before: shownMember(member),
        after: shownMember(after),
      },
    )
    return beginSignIn(sql, app, member, tenantSettings(member.tenant.settings).staff.signInHours)
  })
}

const knownId = async (sql: TxSql, account: Account) => ((await lockUnchanged(sql, account)) ? account.id : null)

const findInvited = ({ prisma }: App, token: string): Promise<(Member & { tenant: Tenant }) | null> =>
  prisma.member.findFirst({
    where: {
      invitationDigest: digestOf(token),
      invitationExpiresAt: { gt: new Date() },
      accountId: null,
      disabledAt: null,
    },
    include: { tenant: true },
  })
