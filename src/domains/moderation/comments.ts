import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { audienceOf, changeComment, changeView, type ChangeEvent } from '../comments/change.ts'
import { type LockedComment, setCommentState } from '../comments/change-sql.ts'
import type { Comment } from '../comments/comments.ts'
import { findParentAuthor } from './sql.ts'
import { type CommentVerb, nextComment } from './transitions.ts'

interface Target {
  commentId: Id
}

/**
 * Puts a comment in view, and answers the reports on it. At its first time in view, its parent's author is told.
 * Throws `not_found`, `discussion_archived`, `invalid_transition`.
 */
export const approveComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> =>
  judgeComment(ctx, commentId, 'approve')

/** Takes a comment out of view. Throws `not_found`, `discussion_archived`, `invalid_transition`. */
export const rejectComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> =>
  judgeComment(ctx, commentId, 'reject')

/** Puts an approved comment before all others of its level. Throws `not_found`, `discussion_archived`, `invalid_transition`. */
export const pinComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> => judgeComment(ctx, commentId, 'pin')

/** Puts it back in its place. Throws `not_found`, `discussion_archived`, `invalid_transition`. */
export const unpinComment = (ctx: Ctx, { commentId }: Target): Promise<Comment> => judgeComment(ctx, commentId, 'unpin')

const EVENTS = {
  approve: 'comment_approved',
  reject: 'comment_rejected',
  pin: 'comment_pinned',
  unpin: 'comment_unpinned',
} as const

const MODERATOR = { kind: 'moderator' } as const

function judgeComment(ctx: Ctx, commentId: Id, verb: CommentVerb): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  return changeComment(ctx, commentId, async (sql, comment, now) => {
    if (comment.discussionState === 'archived') throw new ServiceError('discussion_archived')
    const { status, pinnedAt, reportCount, reportsAnswered } = comment
    const next = nextComment(verb, {
      status,
      isPinned: pinnedAt !== null,
      hasOpenReports: reportCount > reportsAnswered,
    })
    if (next === null) return { comment, events: [] }
    const after = { ...comment, status: next.status, pinnedAt: next.isPinned ? (pinnedAt ?? now) : null }
    const { answersReports } = next
    await setCommentState(sql, tenant.id, comment.id, {
      status: after.status,
      pinnedAt: after.pinnedAt,
      now,
      answersReports,
    })
    await changeView(sql, tenant.id, comment, after)
    const target = { action: `comment.${verb}`, targetType: 'comment', targetId: comment.id }
    await recordAudit(sql, ctx, { ...target, before: stateOf(comment), after: stateOf(after) })
    // That reports are answered, only moderators see.
    if (after.status === status && after.pinnedAt === pinnedAt) return { comment, events: [] }
    const event = { type: EVENTS[verb], audience: audienceOf(comment, after), actor: MODERATOR }
    return { comment: after, events: [event, ...(await replyEvents(sql, ctx, after))] }
  })
}

const stateOf = ({ status, pinnedAt }: LockedComment) => ({ status, pinnedAt })

/**
 * Tells the author of the comment above of a reply that comes into view for the first time, as its posting would have.
 * Not one who answers to themselves, nor one whose comment is deleted.
 */
async function replyEvents(sql: Sql, ctx: Ctx, reply: LockedComment): Promise<ChangeEvent[]> {
  const { status, firstApprovedAt, parentId } = reply
  if (status !== 'approved' || firstApprovedAt !== null || parentId === null) return []
  const recipient = await findParentAuthor(sql, requireCaller(ctx).tenant.id, parentId)
  if (recipient === undefined || recipient.readerId === reply.authorId) return []
  const data = { parentCommentId: parentId, recipient }
  const to = { audience: 'recipient', recipientId: recipient.readerId } as const
  return [{ type: 'notification_reply', ...to, actor: MODERATOR, data }]
}
