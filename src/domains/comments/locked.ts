import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { type BanKind, banIn } from '../readers/bans.ts'
import { COMMENT_COLUMNS, type CommentRow } from './comment.ts'
import type { HoldReason } from './rules.ts'

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
  authorBan: BanKind | null
}

const COMMENT = `SELECT ${COMMENT_COLUMNS}, d.state::text AS "discussionState", c.first_approved_at AS "firstApprovedAt",
     c.report_count AS "reportCount", c.reports_answered AS "reportsAnswered", c.hold_reason AS "holdReason", c.flagged,
     EXISTS (SELECT 1 FROM classifier_requests q WHERE q.tenant_id = c.tenant_id AND q.comment_id = c.id) AS "isAsked",
     ${banIn('r', '$3')} AS "authorBan"
   FROM comments c
   JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
   LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
   WHERE c.tenant_id = $1 AND c.id = $2`

const PEEK = statement('comment_to_change', COMMENT)

/** A comment as a change would find it. It may be another by the time of the change. */
export const peekComment = async (sql: Sql, tenantId: Id, id: Id, now: Date): Promise<LockedComment | undefined> =>
  (await sql<LockedComment>(PEEK, [tenantId, id, now]))[0]

const LOCK = statement(
  'lock_comment',
  `SELECT c.id FROM comments c JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
   WHERE c.tenant_id = $1 AND c.id = $2 FOR NO KEY UPDATE OF d, c`,
)

/**
 * A comment whose discussion and row are locked until the transaction ends, in the order in which
 * all writers lock. It is read after that: a statement that has waited for a lock has what is
 * locked as it is now, but the author whom the row named before.
 */
export async function lockComment(sql: Sql, tenantId: Id, id: Id, now: Date): Promise<LockedComment | undefined> {
  const locked = await sql<{ id: Id }>(LOCK, [tenantId, id])
  return locked.length === 0 ? undefined : peekComment(sql, tenantId, id, now)
}
