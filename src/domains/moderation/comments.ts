import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { validate } from '../../core/input/validate.ts'
import { changeComment } from '../comments/change.ts'
import type { LockedComment } from '../comments/locked.ts'
import type { Comment } from '../comments/comment.ts'
import { applyVerb } from './judge.ts'
import type { CommentVerb } from './transitions.ts'

interface Target {
  commentId: Id
}

/** The revision of a comment's text, counted from 1. */
export const revisionSchema = z.int().min(1).max(1_000_000)

export const approveInput = z.object({ revision: revisionSchema.nullish() })

/**
 * Approves a comment: brings it into view, and answers its reports. At its first time in view, the
 * parent's author is notified. `revision`: the judged text; if the author has edited it since, it
 * is refused, so that no unread text comes into view. Throws `validation_failed`, `not_found`,
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
 * Pins an approved comment to the top of its level. Throws `not_found`, `discussion_archived`,
 * `invalid_transition`.
 */
export const pinComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> => judgeComment(ctx, commentId, 'pin')

/** Unpins a comment. Throws `not_found`, `discussion_archived`, `invalid_transition`. */
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
