import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { COMMENT_COLUMNS, type CommentRow } from './sql.ts'

const LOCK = statement(
  'lock_comment',
  `SELECT ${COMMENT_COLUMNS}, d.state::text AS "discussionState"
   FROM comments c
   JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
   LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
   WHERE c.tenant_id = $1 AND c.id = $2
   FOR NO KEY UPDATE OF d, c`,
)

/** A comment whose discussion and row are locked until the transaction ends, in the order in which all writers lock. */
export const lockComment = async (
  sql: Sql,
  tenantId: Id,
  id: Id,
): Promise<(CommentRow & { discussionState: DiscussionState }) | undefined> =>
  (await sql<CommentRow & { discussionState: DiscussionState }>(LOCK, [tenantId, id]))[0]

const REVISE = statement(
  'revise_comment',
  `WITH old AS (
     INSERT INTO comment_revisions (tenant_id, comment_id, revision, body)
     SELECT tenant_id, id, revision, body FROM comments WHERE tenant_id = $1 AND id = $2
   )
   UPDATE comments SET body = $3, body_html = $4, status = $5::comment_status, edited_at = $6, revision = revision + 1,
     pinned_at = CASE WHEN $5 = 'approved' THEN pinned_at END
   WHERE tenant_id = $1 AND id = $2`,
)

/** Gives a comment a new body, and keeps the old one. */
export const reviseComment = async (
  sql: Sql,
  tenantId: Id,
  id: Id,
  { body, bodyHtml, status, now }: { body: string; bodyHtml: string; status: 'approved' | 'pending'; now: Date },
): Promise<void> => void (await sql(REVISE, [tenantId, id, body, bodyHtml, status, now]))

const TOMBSTONE = statement(
  'delete_comment',
  `UPDATE comments SET status = 'deleted', deleted_at = $3, pinned_at = NULL WHERE tenant_id = $1 AND id = $2`,
)

export const tombstoneComment = async (sql: Sql, tenantId: Id, id: Id, now: Date): Promise<void> =>
  void (await sql(TOMBSTONE, [tenantId, id, now]))

const COUNT = statement(
  'count_comments',
  'UPDATE discussions SET comment_count = comment_count + $3 WHERE tenant_id = $1 AND id = $2',
)

/** Changes the number of approved comments of a discussion. */
export const addToCommentCount = async (sql: Sql, tenantId: Id, discussionId: Id, by: 1 | -1): Promise<void> =>
  void (await sql(COUNT, [tenantId, discussionId, by]))

const REPLIES = statement(
  'count_replies',
  `UPDATE comments SET reply_count = reply_count - 1 WHERE tenant_id = $1 AND id = $2
   RETURNING parent_id AS "parentId", status::text, reply_count AS "replyCount"`,
)

/**
 * A comment leaves the view: its parent has a reply less in view. A parent that is a tombstone without replies leaves
 * with it, and so on upwards.
 */
export async function leaveView(sql: Sql, tenantId: Id, parentId: Id | null): Promise<void> {
  let next = parentId
  while (next !== null) {
    const [parent] = await sql<{ parentId: Id | null; status: string; replyCount: number }>(REPLIES, [tenantId, next])
    next = parent?.status === 'deleted' && parent.replyCount === 0 ? parent.parentId : null
  }
}
