import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { toSnakeCase } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { TEXTS } from '../../core/withdrawal.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import type { CommentText } from './comment.ts'
import type { Decision } from './decision.ts'
import type { HoldDetail } from './hold-details.ts'
import type { HoldReason, Ruling } from './rules.ts'

const REVISE = statement(
  'revise_comment',
  `WITH old AS (
     INSERT INTO comment_revisions (tenant_id, comment_id, revision, body, created_at, was_public)
     SELECT tenant_id, id, revision, body, $4, status = 'approved' FROM comments WHERE tenant_id = $1 AND id = $2
   )
   UPDATE comments SET status = $3::comment_status, edited_at = $4, revision = revision + 1,
     hold_reason = $5, flagged = $6, text_digest = $7, decision = NULL, reviewed_at = NULL,
     hold_details = $${8 + TEXTS.length}::jsonb, pinned_at = CASE WHEN $3 = 'approved' THEN pinned_at END,
     ${TEXTS.map((name, n) => `${toSnakeCase(name)} = $${8 + n}`).join(', ')}
   WHERE tenant_id = $1 AND id = $2`,
)

interface Revision extends Omit<Ruling, 'asks'>, CommentText {
  textDigest: string | null
  details: HoldDetail[] | null
  now: Date
}

/**
 * Replaces a comment's text, and keeps the old body as a revision: as a public one if the comment
 * was approved. A text that was taken out of view before is not public again.
 */
export const reviseComment = async (sql: Sql, tenantId: Id, id: Id, to: Revision): Promise<void> => {
  const { status, now, holdReason, flagged, textDigest, details } = to
  const rest = [...TEXTS.map((name) => to[name]), details && JSON.stringify(details)]
  await sql(REVISE, [tenantId, id, status, now, holdReason, flagged, textDigest, ...rest])
}

const TOMBSTONE = statement(
  'delete_comment',
  `WITH released AS (DELETE FROM comment_claims WHERE tenant_id = $1 AND comment_id = $2)
   UPDATE comments SET status = 'deleted', deleted_at = $3, pinned_at = NULL, decision = $4::jsonb
   WHERE tenant_id = $1 AND id = $2`,
)

interface Deletion {
  now: Date
  /** Null for a deletion by the author. */
  decision: Decision | null
}

export async function tombstoneComment(sql: Sql, tenantId: Id, id: Id, { now, decision }: Deletion): Promise<void> {
  await sql(TOMBSTONE, [tenantId, id, now, decision && JSON.stringify(decision)])
  await forgetClassifierRequest(sql, tenantId, id)
}

const MODERATE = statement(
  'moderate_comment',
  `WITH released AS (DELETE FROM comment_claims WHERE tenant_id = $1 AND comment_id = $2 AND $6)
   UPDATE comments SET status = $3::comment_status, pinned_at = $4,
     first_approved_at = CASE WHEN $3 = 'approved' THEN coalesce(first_approved_at, $5) ELSE first_approved_at END,
     reports_answered = CASE WHEN $6 THEN report_count ELSE reports_answered END,
     hold_details = CASE WHEN hold_reason = $7 THEN hold_details END, hold_reason = $7, flagged = flagged AND NOT $6, decision = CASE WHEN $8 THEN $9::jsonb ELSE decision END,
     reviewed_at = CASE WHEN $10 THEN $5 ELSE reviewed_at END
   WHERE tenant_id = $1 AND id = $2`,
)

export interface JudgedComment {
  status: CommentStatus
  pinnedAt: Date | null
  now: Date
  /** A moderator has judged the comment: earlier reports and rules no longer bring it to one. */
  answersReports: boolean
  /** A moderator has looked at it. */
  isReviewed: boolean
  holdReason: HoldReason | null
  /** Undefined: the present one stays. */
  decision: Decision | null | undefined
}

/**
 * Changes a comment's state; a pending question to the classifier is dropped. `changeView` updates
 * the counters.
 */
export async function setCommentState(sql: Sql, tenantId: Id, id: Id, to: JudgedComment): Promise<void> {
  const { status, pinnedAt, now, answersReports, isReviewed, holdReason, decision } = to
  const decided = [decision !== undefined, decision == null ? null : JSON.stringify(decision)]
  await sql(MODERATE, [tenantId, id, status, pinnedAt, now, answersReports, holdReason, ...decided, isReviewed])
  await forgetClassifierRequest(sql, tenantId, id)
}

const COUNT = statement(
  'count_comments',
  `UPDATE discussions SET comment_count = comment_count + $3,
     last_commented_at = CASE WHEN $3 > 0 THEN greatest(last_commented_at, $4) ELSE last_commented_at END,
     active_at = CASE WHEN $3 > 0 THEN greatest(active_at, date_trunc('minute', $4::timestamptz)) ELSE active_at END
   WHERE tenant_id = $1 AND id = $2`,
)

/** Changes a discussion's number of approved comments by one comment, posted at `createdAt`. */
export const addToCommentCount = async (
  sql: Sql,
  tenantId: Id,
  { discussionId, createdAt }: { discussionId: Id; createdAt: Date },
  by: 1 | -1,
): Promise<void> => void (await sql(COUNT, [tenantId, discussionId, by, createdAt]))

const REPLIES = statement(
  'count_replies',
  `UPDATE comments SET reply_count = reply_count + $3 WHERE tenant_id = $1 AND id = $2
   RETURNING parent_id AS "parentId", status::text, reply_count AS "replyCount"`,
)

/**
 * A comment comes into view (1) or leaves it (-1): changes its parent's number of replies in view.
 * A parent that is not approved comes into view with its first such reply, as a tombstone, and
 * leaves with its last, and so on upwards. Returns the ids of those that have come or gone, the
 * deepest first.
 */
export async function addToReplyCount(sql: Sql, tenantId: Id, parentId: Id | null, by: 1 | -1): Promise<Id[]> {
  const crossed: Id[] = []
  let next = parentId
  while (next !== null) {
    const [parent] = await sql<{ parentId: Id | null; status: string; replyCount: number }>(REPLIES, [
      tenantId,
      next,
      by,
    ])
    if (parent === undefined || parent.status === 'approved' || parent.replyCount !== (by === 1 ? 1 : 0)) break
    crossed.push(next)
    next = parent.parentId
  }
  return crossed
}

/**
 * Has a worker ask about a comment's new text. An answer about the text before counts for nothing.
 */
export const askClassifier = statement(
  'ask_classifier',
  `INSERT INTO classifier_requests (tenant_id, comment_id, revision, due_at) VALUES ($1, $2, $3, now())
   ON CONFLICT (tenant_id, comment_id) DO UPDATE SET revision = excluded.revision, due_at = excluded.due_at`,
).run<[tenantId: Id, commentId: Id, revision: number]>()

/**
 * Somebody else has decided: an answer that is still to come counts for nothing. The comment's row
 * is locked.
 */
export const forgetClassifierRequest = statement(
  'forget_classifier_request',
  'DELETE FROM classifier_requests WHERE tenant_id = $1 AND comment_id = $2',
).run<[tenantId: Id, commentId: Id]>()
