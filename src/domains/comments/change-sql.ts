import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { CommentStatus, DiscussionState } from '../../generated/prisma/enums.ts'
import { isBanned } from '../readers/sql.ts'
import { forgetClassifierRequest } from './classifier-sql.ts'
import type { Decision, HoldReason } from './rules.ts'
import { COMMENT_COLUMNS, type CommentRow } from './sql.ts'

/** A comment and what decides on its changes, beside what everybody sees. */
export interface LockedComment extends CommentRow {
  discussionState: DiscussionState
  firstApprovedAt: Date | null
  reportCount: number
  reportsAnswered: number
  /** Why it waits or is flagged. */
  holdReason: HoldReason | null
  /** In view, and before moderators because of a rule. */
  flagged: boolean
  /** Whether the tenant's classifier is still to decide. */
  isAsked: boolean
  /** The author's ban that is in force now. */
  authorBan: 'open' | 'shadow' | null
}

const COMMENT = `SELECT ${COMMENT_COLUMNS}, d.state::text AS "discussionState", c.first_approved_at AS "firstApprovedAt",
     c.report_count AS "reportCount", c.reports_answered AS "reportsAnswered", c.hold_reason AS "holdReason", c.flagged,
     EXISTS (SELECT 1 FROM classifier_requests q WHERE q.tenant_id = c.tenant_id AND q.comment_id = c.id) AS "isAsked",
     CASE WHEN ${isBanned('r', '$3')} THEN CASE WHEN r.shadow_banned THEN 'shadow' ELSE 'open' END END AS "authorBan"
   FROM comments c
   JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
   LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
   WHERE c.tenant_id = $1 AND c.id = $2`

const PEEK = statement('comment_to_change', COMMENT)

/** A comment as a change would find it. It may be another by the time of the change. */
export const peekComment = async (sql: Sql, tenantId: Id, id: Id, now: Date): Promise<LockedComment | undefined> =>
  (await sql<LockedComment>(PEEK, [tenantId, id, now]))[0]

const LOCK = statement('lock_comment', `${COMMENT} FOR NO KEY UPDATE OF d, c`)

/**
 * A comment whose discussion and row are locked until the transaction ends, in the order in which
 * all writers lock.
 */
export const lockComment = async (sql: Sql, tenantId: Id, id: Id, now: Date): Promise<LockedComment | undefined> =>
  (await sql<LockedComment>(LOCK, [tenantId, id, now]))[0]

const REVISE = statement(
  'revise_comment',
  `WITH old AS (
     INSERT INTO comment_revisions (tenant_id, comment_id, revision, body, created_at)
     SELECT tenant_id, id, revision, body, $6 FROM comments WHERE tenant_id = $1 AND id = $2
   )
   UPDATE comments SET body = $3, body_html = $4, status = $5::comment_status, edited_at = $6, revision = revision + 1,
     hold_reason = $7, flagged = $8, text_digest = $9, pinned_at = CASE WHEN $5 = 'approved' THEN pinned_at END
   WHERE tenant_id = $1 AND id = $2`,
)

interface Revision extends Omit<Decision, 'asks'> {
  body: string
  bodyHtml: string
  textDigest: string | null
  now: Date
}

/** Gives a comment a new body, and keeps the old one. */
export const reviseComment = async (sql: Sql, tenantId: Id, id: Id, to: Revision): Promise<void> => {
  const { body, bodyHtml, status, now, holdReason, flagged, textDigest } = to
  await sql(REVISE, [tenantId, id, body, bodyHtml, status, now, holdReason, flagged, textDigest])
}

const TOMBSTONE = statement(
  'delete_comment',
  `UPDATE comments SET status = 'deleted', deleted_at = $3, pinned_at = NULL WHERE tenant_id = $1 AND id = $2`,
)

export async function tombstoneComment(sql: Sql, tenantId: Id, id: Id, now: Date): Promise<void> {
  await sql(TOMBSTONE, [tenantId, id, now])
  await forgetClassifierRequest(sql, tenantId, id)
}

const MODERATE = statement(
  'moderate_comment',
  `UPDATE comments SET status = $3::comment_status, pinned_at = $4,
     first_approved_at = CASE WHEN $3 = 'approved' THEN coalesce(first_approved_at, $5) ELSE first_approved_at END,
     reports_answered = CASE WHEN $6 THEN report_count ELSE reports_answered END,
     hold_reason = $7, flagged = flagged AND NOT $6
   WHERE tenant_id = $1 AND id = $2`,
)

interface Moderation {
  status: CommentStatus
  pinnedAt: Date | null
  now: Date
  /**
   * A moderator has judged it: the reports and rules until now do not bring it before one again.
   */
  answersReports: boolean
  holdReason: HoldReason | null
}

/**
 * Gives a comment another state; a classifier is not waited for any longer. The counters are
 * `changeView`'s.
 */
export async function setCommentState(sql: Sql, tenantId: Id, id: Id, to: Moderation): Promise<void> {
  await sql(MODERATE, [tenantId, id, to.status, to.pinnedAt, to.now, to.answersReports, to.holdReason])
  await forgetClassifierRequest(sql, tenantId, id)
}

const COUNT = statement(
  'count_comments',
  `UPDATE discussions SET comment_count = comment_count + $3,
     last_commented_at = CASE WHEN $3 > 0 THEN greatest(last_commented_at, $4) ELSE last_commented_at END,
     active_at = CASE WHEN $3 > 0 THEN greatest(active_at, date_trunc('minute', $4::timestamptz)) ELSE active_at END
   WHERE tenant_id = $1 AND id = $2`,
)

/**
 * Changes the number of approved comments of a discussion by one that was posted at `createdAt`.
 */
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
 * A comment enters the view (1) or leaves it (-1): its parent has a reply more or less there. A
 * parent that is a tombstone enters with its first reply in view and leaves with its last one, and
 * so on upwards.
 */
export async function addToReplyCount(sql: Sql, tenantId: Id, parentId: Id | null, by: 1 | -1): Promise<void> {
  let next = parentId
  while (next !== null) {
    const [parent] = await sql<{ parentId: Id | null; status: string; replyCount: number }>(REPLIES, [
      tenantId,
      next,
      by,
    ])
    const crosses = parent?.status === 'deleted' && parent.replyCount === (by === 1 ? 1 : 0)
    next = crosses ? parent.parentId : null
  }
}
