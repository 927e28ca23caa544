import { z } from 'zod'

import { recorderFor } from '../../core/audit.ts'
import { isAllowed, requireAdmin, requireCaller, requireMember } from '../../core/access.ts'
import type { Role } from '../../core/capabilities.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { validate } from '../../core/input/validate.ts'
import { rowPerRequest } from '../../core/per-request.ts'
import type { Member } from '../../generated/prisma/client.ts'
import {
  changeMember,
  type Changer,
  invite,
  inviteAgain,
  type Invitation,
  type MemberChange,
  memberEmail,
  memberName,
  memberRole,
  removeMember,
} from './membership.ts'

export const inviteSchema = z.object({ email: memberEmail, role: memberRole, name: memberName.nullish() })

export const changeSchema = z.object({
  id: z.string(),
  role: memberRole.optional(),
  name: memberName.nullish(),
  state: z.enum(['active', 'disabled']).optional(),
})

/** The caller, who is an owner or admin. Only owners make, change or end owners. */
function changerOf(ctx: Ctx): Changer {
  const { role: own } = requireAdmin(ctx)
  const requireMay = (role: Role): void => {
    if (role === 'owner' && own !== 'owner')
      throw new ServiceError('admin_only', { detail: 'Only an owner may make, change or remove an owner.' })
  }
  return { tenantId: requireCaller(ctx).tenant.id, record: recorderFor(ctx), requireMay }
}

/** By an id. Throws `not_found` for a text that is no id, as for an unknown one. */
function byId(id: string): { id: string } {
  if (!isId(id)) throw new ServiceError('not_found')
  return { id }
}

/** Invites a person. Throws `admin_only`, `validation_failed`. */
export async function inviteMember(
  ctx: Ctx,
  input: { email: string; role: Role; name?: string | null | undefined },
): Promise<{ member: Member; invitation: Invitation }> {
  const { name = null, ...given } = validate(inviteSchema, input)
  return invite(ctx.app, changerOf(ctx), { ...given, name })
}

/** A new invitation. Throws `not_found`, `admin_only`, `invalid_transition`. */
export const renewInvitation = (
  ctx: Ctx,
  { id }: { id: string },
): Promise<{ member: Member; invitation: Invitation }> => inviteAgain(ctx.app, changerOf(ctx), byId(id))

/** Throws `not_found`, `admin_only`, `last_owner`, `invalid_transition`. */
export async function updateMember(ctx: Ctx, input: MemberChange & { id: string }): Promise<Member> {
  const { id, ...change } = validate(changeSchema, input)
  return changeMember(ctx.app, changerOf(ctx), byId(id), change)
}

/** Throws `not_found`, `admin_only`, `last_owner`. */
export const deleteMember = (ctx: Ctx, { id }: { id: string }): Promise<Member> =>
  removeMember(ctx.app, changerOf(ctx), byId(id))

/** The tenant's members, newest first. */
export const listMembers = (ctx: Ctx, { where, ...query }: PageQuery): Promise<Member[]> =>
  ctx.app.prisma.member.findMany({ ...query, where: { ...where, tenantId: requireCaller(ctx).tenant.id } })

/** A member, or null. One statement serves all members of a request. */
export const findMember = rowPerRequest<Member>((ctx, where) => ctx.app.prisma.member.findMany({ where }))

/**
 * A member in view of the caller: members see themselves alone, unless they are an owner or admin.
 */
export const findMemberInView = async (ctx: Ctx, id: Id): Promise<Member | null> =>
  isAllowed(ctx, 'admin') || requireMember(ctx).id === id ? findMember(ctx, id) : null
