import { z } from 'zod'

import { requireMember, requireSecondFactor } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Role } from '../../core/capabilities.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import type { Id } from '../../core/ids.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import type { Account, Tenant } from '../../generated/prisma/client.ts'
import { checkPassword, emailForm, lockUnchanged, password, requireAccount } from './accounts.ts'
import { requireActive } from '../tenants/tenants.ts'
import { withinLoginLimits } from './login-limits.ts'
import { checkSecondFactor, codeSchema, hasSecondFactor, type UseCode } from './second-factor.ts'
import { type AdminToken, beginSignIn, requireSignedIn } from './sign-ins.ts'

export const tenantSlug = noNul(atMost(63, z.string().min(1)))

export const loginSchema = z.object({
  email: noNul(atMost(320, z.string().min(1))),
  password,
  code: codeSchema.nullish(),
  tenant: tenantSlug.nullish(),
})

export interface LoginInput {
  email: string
  password: string
  code?: string | null | undefined
  tenant?: string | null | undefined
}

const WRONG = { detail: 'The e-mail address or the password is wrong.' }

/**
 * A token for the console (docs/guides/console.md). Throws `invalid_admin_token`, with the same
 * text for a wrong address and a wrong password, `second_factor_required`, `invalid_second_factor`,
 * `tenant_required`, `tenant_suspended`, `sign_on_required` and `rate_limited`.
 */
export async function login(ctx: Ctx, input: LoginInput): Promise<AdminToken> {
  const { email, password: given, code = null, tenant = null } = validate(loginSchema, input)
  const { app, address } = ctx
  const lowerCase = emailForm(email)
  const found = await withinLoginLimits(app, { email: lowerCase, address }, async () => {
    const account = await checkPassword(app, lowerCase, given)
    return account && { account, useCode: await checkSecondFactor(app, account.id, code) }
  })
  if (found === null) throw new ServiceError('invalid_admin_token', WRONG)
  const membership = chosen(await membershipsOf(app, found.account.id), tenant)
  return signIn(app, found.account, membership, found.useCode)
}

export interface Membership {
  tenantId: Id
  id: Id
  role: Role
  tenant: Pick<Tenant, 'slug' | 'settings' | 'suspendedAt' | 'suspensionReason'>
}

const TENANT = { slug: true, settings: true, suspendedAt: true, suspensionReason: true } as const

/** The tenants of an account where it is not disabled, by their slugs. */
export const membershipsOf = ({ prisma }: App, accountId: Id): Promise<Membership[]> =>
  prisma.member.findMany({
    where: { accountId, disabledAt: null },
    select: { tenantId: true, id: true, role: true, tenant: { select: TENANT } },
    orderBy: { tenant: { slug: 'asc' } },
  })

/** The tenants, without suspended ones, as people choose them. A slug is also the name. */
export const choicesOf = (all: readonly Membership[]) =>
  all.filter(isActive).map(({ tenant: { slug: name } }) => ({ slug: name, name }))

const isActive = ({ tenant }: Membership): boolean => tenant.suspendedAt === null

function chosen(all: readonly Membership[], wanted: string | null): Membership {
  const some = wanted === null ? all : all.filter(({ tenant }) => tenant.slug === wanted)
  const first = some.find(isActive) ?? some[0]
  if (first === undefined) throw new ServiceError('invalid_admin_token', WRONG)
  const tenants = choicesOf(some)
  if (tenants.length > 1) throw new ServiceError('tenant_required', { more: { tenants } })
  return first
}

/** Throws `sign_on_required` where the tenant takes passwords of owners alone. */
export function requirePasswords(settings: unknown, role: Role): void {
  if (role !== 'owner' && tenantSettings(settings).staff.oidc?.only === true) throw new ServiceError('sign_on_required')
}

/** Begins a sign-in, if neither the account nor the member has changed meanwhile. */
const signIn = (
  app: App,
  account: Account,
  { tenantId, id, tenant, role }: Membership,
  useCode: UseCode,
): Promise<AdminToken> =>
  app.db.transaction(async (sql) => {
    requireActive(tenant)
    requirePasswords(tenant.settings, role)
    const isUnchanged = await lockUnchanged(sql, account)
    // This locks the member, too, so that disabling them ends this sign-in.
    const { count } = await sql.prisma.member.updateMany({
      where: { tenantId, id, disabledAt: null, accountId: account.id },
      data: { lastSeenAt: new Date() },
    })
    if (!isUnchanged || count === 0) throw new ServiceError('invalid_admin_token', WRONG)
    if (!(await useCode(sql))) throw new ServiceError('invalid_second_factor')
    return beginSignIn(sql, app, { tenantId, id }, tenantSettings(tenant.settings).staff.signInHours)
  })

export const switchSchema = z.object({ tenant: tenantSlug })

/**
 * A token of another tenant of the same account. Throws `not_found`, `password_required`,
 * `tenant_suspended`, `sign_on_required`, and `second_factor_setup_required` if that tenant
 * requires a second factor that the account lacks.
 */
export async function switchTenant(ctx: Ctx, input: { tenant: string }): Promise<AdminToken> {
  requireSecondFactor(requireMember(ctx))
  const { tenant } = validate(switchSchema, input)
  const accountId = requireAccount(ctx)
  const account = await ctx.app.prisma.account.findUnique({ where: { id: accountId } })
  const all = account === null ? [] : await membershipsOf(ctx.app, account.id)
  const membership = all.find(({ tenant: { slug: name } }) => name === tenant)
  if (account === null || membership === undefined) {
    throw new ServiceError('not_found', { detail: 'You are no member of this tenant.' })
  }
  const { requireTwoFactor } = tenantSettings(membership.tenant.settings).staff
  if (requireTwoFactor && !(await hasSecondFactor(ctx.app, account.id)))
    throw new ServiceError('second_factor_setup_required')
  return signIn(ctx.app, account, membership, async (sql) => {
    await requireSignedIn(sql, ctx)
    return true
  })
}
