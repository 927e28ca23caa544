import type { App } from './app.ts'
import { type Actor, type Caller, type Identity, type MemberActor, hasCapability, isAdmin } from './caller.ts'
import type { Capability } from './capabilities.ts'
import type { Ctx } from './context.ts'
import { ServiceError } from './errors.ts'

/**
 * What an operation requires of its caller: any key or member, an asserted reader, a member for
 * themself, an owner or admin, or a capability.
 */
export type Access = 'public' | 'key' | 'reader' | 'member' | 'admin' | Capability

/** The caller of a request that needs one. Throws `missing_credentials`, `tenant_suspended`. */
export function requireCaller(ctx: Ctx): Caller {
  if (ctx.caller === null) throw ctx.refused ?? new ServiceError('missing_credentials')
  return ctx.caller
}

/** The request without its reader. */
export const anonymous = (ctx: Ctx): Ctx => ({ ...ctx, caller: { ...requireCaller(ctx), identity: null } })

/** The reader for whom the caller vouches. Throws `missing_credentials`, `identity_required`. */
export function requireIdentity(ctx: Ctx): Identity {
  const { identity, actor } = requireCaller(ctx)
  if (identity !== null) return identity
  if (actor.kind === 'client') throw new ServiceError('identity_required', { detail: NAMES_NO_READER })
  if (actor.kind === 'site') throw new ServiceError('identity_required', { detail: SIGNS_NOBODY_IN })
  const detail = `This needs the header ${identityHeader(ctx.app)}: an assertion that vouches for the reader.`
  throw new ServiceError('identity_required', { detail })
}

/** The member whose token the request carries. Throws `missing_credentials`, `admin_only`. */
export function requireMember(ctx: Ctx): MemberActor {
  if (ctx.caller === null) throw ctx.refused ?? new ServiceError('missing_credentials', { detail: NEEDS_TOKEN })
  const { actor } = ctx.caller
  if (actor.kind !== 'admin') throw new ServiceError('admin_only', { detail: NEEDS_TOKEN })
  return actor
}

/** The member, who must be an owner or admin. Throws `missing_credentials`, `admin_only`. */
export function requireAdmin(ctx: Ctx): MemberActor {
  const member = requireMember(ctx)
  requireSecondFactor(member)
  if (isAdmin(member)) return member
  const detail = `This needs the role owner or admin; yours is ${member.role}.`
  throw new ServiceError('admin_only', { detail })
}

/** Throws `second_factor_setup_required`. */
export function requireSecondFactor(actor: Actor): void {
  if (actor.kind === 'admin' && actor.lacksSecondFactor) throw new ServiceError('second_factor_setup_required')
}

const NAMES_NO_READER = 'The client token names no reader: mint one with an identity assertion.'
const SIGNS_NOBODY_IN = "This needs a token of the tenant's issuer, or of a guest, in Authorization (Bearer)."
const NEEDS_TOKEN = 'This needs an admin token in Authorization (Bearer).'

/** The header that carries an assertion, as it is written. */
export const identityHeader = ({ settings }: App): string => `${settings.HEADER_PREFIX}Identity`

/** The header in which a page names its site to GraphQL, as it is written. */
export const siteHeader = ({ settings }: App): string => `${settings.HEADER_PREFIX}Site`

/**
 * Refuses callers without `access`: `missing_credentials`, `identity_required`, `admin_only`,
 * `missing_capability`.
 */
export function requireAccess(ctx: Ctx, access: Access): void {
  if (access === 'public') return
  if (access === 'admin') return void requireAdmin(ctx)
  if (access === 'member') return void requireMember(ctx)
  const { actor } = requireCaller(ctx)
  requireSecondFactor(actor)
  if (access === 'key') return
  if (access === 'reader') return void requireIdentity(ctx)
  if (hasCapability(actor, access)) return
  const who = actor.kind === 'admin' ? `The role ${actor.role}` : 'The key in X-API-Key'
  throw new ServiceError('missing_capability', { detail: `${who} lacks the capability ${access}.` })
}

/** Whether `requireAccess` lets the caller through. */
export function isAllowed(ctx: Ctx, access: Access): boolean {
  if (access === 'public' || ctx.caller === null) return access === 'public'
  const { actor, identity } = ctx.caller
  if (access === 'member') return actor.kind === 'admin'
  if (actor.kind === 'admin' && actor.lacksSecondFactor) return false
  if (access === 'key') return true
  if (access === 'admin') return isAdmin(actor)
  return access === 'reader' ? identity !== null : hasCapability(actor, access)
}
