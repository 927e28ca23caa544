import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { validate } from '../../core/validate.ts'
import { changeComment } from '../comments/change.ts'
import type { LockedComment } from '../comments/locked.ts'
import type { Comment } from '../comments/comment.ts'
import { applyVerb } from './judge.ts'
import type { CommentVerb } from './transitions.ts'

interface Target {
  commentId: Id
}

/** Of a comment's text, counted from 1. */
export const revisionSchema = z.int().min(1).max(1_000_000)

export const approveInput = z.object({ revision: revisionSchema.nullish() })

/**
 * Puts a comment in view, and answers the reports on it. At its first time in view, its parent's
 * author is told. `revision`: the text that was judged; where the author has written another one
 * since, it is not put in view unread. Throws `validation_failed`, `not_found`,
 * `discussion_archived`, `invalid_transition`.
 */
export function approveComment(
  ctx: Ctx,
  { commentId, revision }: Target & { revision?: number | null | undefined },
): Promise<Comment> {
  validate(approveInput, { revision })
  return judgeComment(ctx, commentId, 'approve', revision ?? null)
}

/** Takes a comment out of view. Throws `not_found`, `discussion_archived`, `invalid_transition`. */
export const rejectComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> =>
  judgeComment(ctx, commentId, 'reject')

/**
 * Puts an approved comment before all others of its level. Throws `not_found`,
 * `discussion_archived`, `invalid_transition`.
 */
export const pinComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> => judgeComment(ctx, commentId, 'pin')

/** Puts it back in its place. Throws `not_found`, `discussion_archived`, `invalid_transition`. */
export const unpinComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> => judgeComment(ctx, commentId, 'unpin')

const MODERATOR = { kind: 'moderator' } as const

function judgeComment(ctx: Ctx, commentId: Id, verb: CommentVerb, judged: number | null = null): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  return changeComment(ctx, commentId, async (sql, comment, now) => {
    const change = await applyVerb(sql, comment, { tenantId: tenant.id, verb, judged, now, actor: MODERATOR })
    if (change === null) return { comment, events: [] }
    const target = { action: `comment.${verb}`, targetType: 'comment', targetId: comment.id } as const
    await recordAudit(sql, ctx, { ...target, before: stateOf(comment), after: stateOf(change.comment) })
    return change
  })
}

const stateOf = ({ status, pinnedAt }: LockedComment) => ({ status, pinnedAt })
