import { z } from 'zod'

import { type Doer, doerOf, recordAuditOf } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { validate } from '../../core/input/validate.ts'
import { changeComment, type CommentChange } from '../comments/change.ts'
import { type Explanation, explanationSchema, givenIn } from '../comments/decision.ts'
import { recordDecision } from '../comments/decided.ts'
import type { LockedComment } from '../comments/locked.ts'
import type { Comment } from '../comments/comment.ts'
import { applyVerb, isDecision, requireRevision } from './judge.ts'
import type { CommentVerb } from './transitions.ts'

interface Target {
  commentId: Id
}

/** The revision of a comment's text, counted from 1. */
export const revisionSchema = z.int().min(1).max(1_000_000)

export const reviewInput = z.object({ revision: revisionSchema.nullish() })

export const approveInput = explanationSchema.extend(reviewInput.shape)

/**
 * Approves a comment: brings it into view, and answers its reports. At its first time in view, the
 * parent's author is notified. `revision`: the judged text; if the author has edited it since, it
 * is refused, so that no unread text comes into view. Throws `validation_failed`, `not_found`,
 * `discussion_archived`, `invalid_transition`.
 */
export function approveComment(
  ctx: Ctx,
  { commentId, ...input }: Target & Explanation & { revision?: number | null | undefined },
): Promise<Comment> {
  const { revision, ...explanation } = validate(approveInput, input)
  return judgeComment(ctx, commentId, 'approve', { judged: revision ?? null, explanation })
}

/**
 * Takes a comment out of view. Throws `validation_failed`, `not_found`, `discussion_archived`,
 * `invalid_transition`.
 */
export function rejectComment(ctx: Ctx, { commentId, ...input }: Target & Explanation): Promise<Comment> {
  return judgeComment(ctx, commentId, 'reject', { explanation: validate(explanationSchema, input) })
}

/**
 * Pins an approved comment to the top of its level. Throws `not_found`, `discussion_archived`,
 * `invalid_transition`.
 */
export const pinComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> => judgeComment(ctx, commentId, 'pin')

/** Unpins a comment. Throws `not_found`, `discussion_archived`, `invalid_transition`. */
export const unpinComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> => judgeComment(ctx, commentId, 'unpin')

/**
 * Marks an approved comment as looked at by a moderator, once. `revision`: the text that they have
 * read, as for `approveComment`. Throws `validation_failed`, `not_found`, `invalid_transition`.
 */
export function reviewComment(
  ctx: Ctx,
  { commentId, ...input }: Target & { revision?: number | null | undefined },
): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const { revision } = validate(reviewInput, input)
  return changeComment(ctx, commentId, async (sql, comment, now) => {
    const { id, status } = comment
    if (status !== 'approved') {
      throw new ServiceError('invalid_transition', { detail: `The comment is ${status}.` })
    }
    requireRevision(comment, revision ?? null)
    const unreviewed = { tenantId: tenant.id, id, reviewedAt: null }
    const { count } = await sql.prisma.comment.updateMany({ where: unreviewed, data: { reviewedAt: now } })
    await sql.prisma.commentClaim.deleteMany({ where: { tenantId: tenant.id, commentId: id } })
    const after = { reviewedAt: now.toISOString() }
    if (count === 0) return { comment, events: [] }
    const doer = doerOf(ctx)
    await recordAuditOf(sql, doer, { action: 'comment.review', targetId: id, after })
    await recordDecision(sql, doer, comment, { action: 'review', now })
    return { comment, events: [] }
  })
}

const MODERATOR = { kind: 'moderator' } as const

interface Judging {
  judged?: number | null
  explanation?: Explanation
}

const judgeComment = (ctx: Ctx, commentId: Id, verb: CommentVerb, judging: Judging = {}): Promise<Comment> =>
  changeComment(ctx, commentId, (sql, comment, now) =>
    judgeLocked(sql, doerOf(ctx), comment, { verb, now, ...judging }),
  )

/**
 * Applies a moderator's verb to a locked comment, and writes the audit entry. `decider`: who has
 * decided on this comment, if not the one whom the audit log names.
 */
export async function judgeLocked(
  sql: TxSql,
  doer: Doer,
  comment: LockedComment,
  { verb, now, decider = doer, ...judging }: Judging & { verb: CommentVerb; now: Date; decider?: Doer },
): Promise<CommentChange> {
  const judge = { tenantId: doer.tenantId, verb, now, actor: MODERATOR }
  const change = await applyVerb(sql, comment, { ...judge, ...judging })
  if (change === null) return { comment, events: [] }
  const target = { action: `comment.${verb}`, targetId: comment.id } as const
  const after = { ...stateOf(change.comment), ...givenIn(judging.explanation ?? {}) }
  await recordAuditOf(sql, doer, { ...target, before: stateOf(comment), after })
  if (isDecision(verb)) await recordDecision(sql, decider, comment, { action: verb, now })
  return change
}

const stateOf = ({ status, pinnedAt }: LockedComment) => ({ status, pinnedAt })
