import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { DiscussionState, ModerationMode, ReaderTrust } from '../../generated/prisma/enums.ts'
import { writableState } from '../discussions/row.ts'
import { type BanKind, banIn } from '../readers/bans.ts'
import { COMMENT_COLUMNS, type CommentRow } from './comment.ts'
import type { HoldReason } from './rules.ts'

/** A comment with the fields that decide on its changes. */
export interface LockedComment extends CommentRow {
  /** See `writableState`. */
  discussionState: DiscussionState
  discussionUrl: string | null
  /** The discussion's own; null for the tenant's. */
  moderationMode: ModerationMode | null
  firstApprovedAt: Date | null
  /** When a moderator last judged or looked at its present text. */
  reviewedAt: Date | null
  reportCount: number
  reportsAnswered: number
  /** Why it is held or flagged. */
  holdReason: HoldReason | null
  /** In view, but in a moderation queue because of a rule. */
  flagged: boolean
  /** Whether the classifier's verdict is still awaited. */
  isAsked: boolean
  /** The author's ban in force. */
  authorBan: BanKind | null
  /** `normal` without an author. */
  authorTrust: ReaderTrust
}

/** Whether only its author's ban in shadow holds a comment, also after a change. */
export const isInShadow = ({ status, holdReason }: Pick<LockedComment, 'status' | 'holdReason'>): boolean =>
  status === 'pending' && holdReason === 'shadow_ban'

const COMMENT = `SELECT ${COMMENT_COLUMNS}, (${writableState('d', '$3')})::text AS "discussionState", d.url AS "discussionUrl",
     d.moderation_mode::text AS "moderationMode", c.first_approved_at AS "firstApprovedAt", c.reviewed_at AS "reviewedAt",
     c.report_count AS "reportCount", c.reports_answered AS "reportsAnswered", c.hold_reason AS "holdReason", c.flagged,
     EXISTS (SELECT 1 FROM classifier_requests q WHERE q.tenant_id = c.tenant_id AND q.comment_id = c.id) AS "isAsked",
     ${banIn('r', '$3')} AS "authorBan",
     coalesce(r.trust, 'normal')::text AS "authorTrust"
   FROM comments c
   JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
   LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
   WHERE c.tenant_id = $1 AND c.id = $2`

/** A comment as a change would find it now, without a lock: it may change before the change. */
export const peekComment = statement('comment_to_change', COMMENT).first<
  [tenantId: Id, id: Id, now: Date],
  LockedComment
>()

const LOCK = statement(
  'lock_comment',
  `SELECT c.id FROM comments c JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
   WHERE c.tenant_id = $1 AND c.id = $2 FOR NO KEY UPDATE OF d, c`,
)

/**
 * Reads a comment after locking its discussion and row, in the order in which all writers lock,
 * until the transaction ends. It is a second statement: one that waited for a lock would return the
 * locked rows' new state, but joined to the author that the row named before.
 */
export async function lockComment(sql: Sql, tenantId: Id, id: Id, now: Date): Promise<LockedComment | undefined> {
  const locked = await sql<{ id: Id }>(LOCK, [tenantId, id])
  return locked.length === 0 ? undefined : peekComment(sql, tenantId, id, now)
}
