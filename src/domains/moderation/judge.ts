import { ServiceError } from '../../core/errors.ts'
import type { EventActor } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { audienceOf, type CommentChange, type ChangeEvent, setState, WAS_APPROVED } from '../comments/change.ts'
import { decisionBy, type Explanation, givenIn, keptFor } from '../comments/decision.ts'
import type { LockedComment } from '../comments/locked.ts'
import type { HoldReason } from '../comments/rules.ts'
import { mentionsIn } from '../comments/text/mentions.ts'
import { notifyOfMentions } from '../comments/notify-mentioned.ts'
import { notifyOfDecision, notifyOfReply } from '../comments/notify.ts'
import { type CommentVerb, nextComment } from './transitions.ts'

const EVENTS = {
  approve: 'comment_approved',
  reject: 'comment_rejected',
  pin: 'comment_pinned',
  unpin: 'comment_unpinned',
} as const

interface Judge {
  tenantId: Id
  verb: CommentVerb
  /** The judged revision, if the caller gives it. */
  judged?: number | null
  /** What the author is told. */
  explanation?: Explanation
  now: Date
  /**
   * A classifier's verdict is by the system: reports and flags of the comment stay for moderators
   * to answer.
   */
  actor: Extract<EventActor, { kind: 'moderator' | 'system' }>
}

/**
 * Applies `verb` to a locked comment, with its events; null if nothing changes. Throws
 * `discussion_archived`, `invalid_transition`.
 */
export async function applyVerb(
  sql: TxSql,
  comment: LockedComment,
  { tenantId, verb, judged = null, explanation = {}, now, actor }: Judge,
): Promise<CommentChange | null> {
  const { status, pinnedAt, reportCount, reportsAnswered, flagged } = comment
  if (comment.discussionState === 'archived') throw new ServiceError('discussion_archived')
  const isPinned = pinnedAt !== null
  const next = nextComment(verb, { status, isPinned, awaitsAnswer: reportCount > reportsAnswered || flagged })
  if (next === null) return null
  requireRevision(comment, judged)
  const answersReports = next.answersReports && actor.kind === 'moderator'
  const isAnswerAlone = next.status === status && next.isPinned === isPinned
  // Its author must not learn of reports, unless the moderator has something to tell them.
  const isTold = isDecision(verb) && (!isAnswerAlone || Object.keys(givenIn(explanation)).length > 0)
  const decision = isTold ? keptFor(decisionBy(actor, verb, explanation, now), comment) : undefined
  const { after, tombstones } = await setState(sql, tenantId, comment, {
    status: next.status,
    pinnedAt: next.isPinned ? (pinnedAt ?? now) : null,
    holdReason: reasonAfter(comment, verb, answersReports),
    answersReports,
    isReviewed: actor.kind === 'moderator',
    decision,
    now,
  })
  if (decision != null) {
    await notifyOfDecision(sql, { tenantId, readerId: comment.authorId, commentId: comment.id, now })
  }
  const event = { type: EVENTS[verb], audience: audienceOf(comment, after), actor }
  if (isAnswerAlone) {
    const isForAuthor = decision != null && comment.authorId !== null
    const own = { ...event, audience: 'own', recipientId: comment.authorId, data: WAS_APPROVED } as const
    return { comment: after, events: isForAuthor ? [own] : [] }
  }
  const replies = await replyEvents(sql, tenantId, after, actor, now)
  if (after.status === 'approved' && status !== 'approved') {
    const { id: commentId, authorId, bodyHtml } = after
    await notifyOfMentions(sql, { tenantId, readerIds: mentionsIn(bodyHtml), commentId, authorId, now })
  }
  return { comment: after, events: [event, ...replies], tombstones }
}

/** Throws `invalid_transition` for a comment that its author has edited since it was read. */
export function requireRevision({ revision }: LockedComment, read: number | null): void {
  if (read === null || read === revision) return
  throw new ServiceError('invalid_transition', {
    detail: `The comment was edited: it has revision ${revision}, not ${read}.`,
  })
}

export const isDecision = (verb: CommentVerb): verb is 'approve' | 'reject' => verb === 'approve' || verb === 'reject'

function reasonAfter(comment: LockedComment, verb: CommentVerb, answersReports: boolean): HoldReason | null {
  if (answersReports) return null
  if (verb === 'reject') return 'classifier'
  return verb === 'approve' && !comment.flagged ? null : comment.holdReason
}

/**
 * Notifies the author of the parent when a reply comes into view for the first time, as at its
 * posting. Not for replies to oneself, nor if the parent is deleted.
 */
async function replyEvents(
  sql: TxSql,
  tenantId: Id,
  reply: LockedComment,
  actor: EventActor,
  now: Date,
): Promise<readonly ChangeEvent[]> {
  const { status, firstApprovedAt, parentId } = reply
  if (status !== 'approved' || firstApprovedAt !== null || parentId === null) return []
  const parent = { tenantId, id: parentId, status: { not: 'deleted' } } as const
  const found = await sql.prisma.comment.findFirst({ where: parent, select: { author: true } })
  if (found?.author == null || found.author.id === reply.authorId) return []
  const recipient = { readerId: found.author.id, externalId: found.author.externalId }
  await notifyOfReply(sql, { tenantId, readerId: recipient.readerId, commentId: reply.id, now }, reply.authorId)
  const data = { parentCommentId: parentId, recipient }
  const to = { audience: 'recipient', recipientId: recipient.readerId } as const
  return [{ type: 'notification_reply', ...to, actor, data }]
}
