import { z } from 'zod'

import { requireCaller } from '../../../core/access.ts'
import { afterCommit } from '../../../core/app.ts'
import type { MemberActor } from '../../../core/caller.ts'
import type { Ctx } from '../../../core/context.ts'
import { ServiceError } from '../../../core/errors.ts'
import { type Id, isId } from '../../../core/ids.ts'
import { validate } from '../../../core/input/validate.ts'
import { perRequest } from '../../../core/per-request.ts'
import { tellModerators } from '../../comments/change.ts'
import { MODERATING, takeClaims } from './claims-sql.ts'

const MAX_CLAIMS = 50

export const claimInput = z.object({ ids: z.array(z.string()).min(1).max(MAX_CLAIMS) })

export const releaseInput = z.object({ ids: claimInput.shape.ids.nullish() })

/** The member who works on a comment. */
export interface Holder {
  id: Id
  name: string | null
}

/** What became of a claim of one comment. */
export interface ClaimOutcome {
  id: Id
  /** Whether the caller holds it now. */
  held: boolean
  /** Null for a comment that does not exist. */
  claimedBy: Holder | null
}

/**
 * Claims comments for the signed-in member for 5 minutes, so that no colleague works on the same
 * ones: those that nobody else holds. Those that they hold are prolonged. Returns an outcome for
 * each id, in their order. Throws `validation_failed`, `admin_only`.
 */
export async function claimComments(ctx: Ctx, input: { ids: readonly Id[] }): Promise<ClaimOutcome[]> {
  const { ids } = validate(claimInput, input)
  const { id: memberId } = requireClaimant(ctx)
  const { app } = ctx
  const { id: tenantId } = requireCaller(ctx).tenant
  const known = [...new Set(ids.filter(isId))]
  const taken = known.length === 0 ? [] : await takeClaims(app.db.query, tenantId, known, memberId)
  if (taken.length > 0) afterCommit(app, () => tellModerators(app, tenantId))
  return Promise.all(
    ids.map(async (id) => {
      const claimedBy = isId(id) ? await findHolder(ctx, id) : null
      return { id, held: claimedBy?.id === memberId, claimedBy }
    }),
  )
}

/**
 * Gives claims of the signed-in member back: of these comments, or all of them. Returns how many
 * these were. Throws `validation_failed`, `admin_only`.
 */
export async function releaseClaims(ctx: Ctx, input: { ids?: readonly Id[] | null | undefined }): Promise<number> {
  const { ids } = validate(releaseInput, input)
  const { id: memberId } = requireClaimant(ctx)
  const { app } = ctx
  const { id: tenantId } = requireCaller(ctx).tenant
  const some = ids == null ? {} : { commentId: { in: ids.filter(isId) } }
  const { count } = await app.db.transaction((sql) =>
    sql.prisma.commentClaim.deleteMany({ where: { tenantId, memberId, ...some } }),
  )
  if (count > 0) afterCommit(app, () => tellModerators(app, tenantId))
  return count
}

function requireClaimant(ctx: Ctx): MemberActor {
  const { actor } = requireCaller(ctx)
  if (actor.kind === 'admin') return actor
  const detail = 'Only a member who has signed in can claim comments: send an admin token. A key stands for no person.'
  throw new ServiceError('admin_only', { detail })
}

/** Who holds a comment; null if nobody does. One statement serves all comments of a request. */
export const findHolder = perRequest<Id, Holder | null>(async (ctx, commentIds) => {
  const claims = await ctx.app.prisma.commentClaim.findMany({
    where: {
      tenantId: requireCaller(ctx).tenant.id,
      commentId: { in: [...new Set(commentIds)] },
      expiresAt: { gt: new Date() },
      member: { disabledAt: null, role: { in: MODERATING } },
    },
    select: { commentId: true, member: { select: { id: true, name: true } } },
  })
  const holders = new Map(claims.map(({ commentId, member }) => [commentId, member]))
  return commentIds.map((id) => holders.get(id) ?? null)
})
