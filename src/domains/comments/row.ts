import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'

export interface CommentRow {
  id: Id
  discussionId: Id
  parentId: Id | null
  depth: number
  authorId: Id | null
  authorExternalId: string | null
  authorName: string | null
  authorAvatarUrl: string | null
  authorProfileUrl: string | null
  body: string | null
  bodyHtml: string | null
  status: CommentStatus
  pinnedAt: Date | null
  editedAt: Date | null
  deletedAt: Date | null
  revision: number
  replyCount: number
  reactionCounts: Record<string, number>
  createdAt: Date
}

export const COMMENT_COLUMNS = `c.id, c.discussion_id AS "discussionId", c.parent_id AS "parentId", c.depth, c.author_id AS "authorId",
  r.external_id AS "authorExternalId", r.name AS "authorName", r.avatar_url AS "authorAvatarUrl",
  r.profile_url AS "authorProfileUrl", c.body, c.body_html AS "bodyHtml", c.status::text, c.pinned_at AS "pinnedAt",
  c.edited_at AS "editedAt", c.deleted_at AS "deletedAt", c.revision, c.reply_count AS "replyCount",
  c.reaction_counts AS "reactionCounts", c.created_at AS "createdAt"`

/** The bytes of a row of them that count; all else is short. */
export const COMMENT_BYTES = `octet_length(coalesce(body, '')) + octet_length(coalesce("bodyHtml", ''))`

export const COMMENT_FROM = 'comments c LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id'

/** Whether the public sees it: approved, or a tombstone with replies in view. */
export const isInView = ({ status, replyCount }: Pick<CommentRow, 'status' | 'replyCount'>): boolean =>
  status === 'approved' || (status === 'deleted' && replyCount > 0)

/** SQL: the same of a row of `comments`, in the form that its partial indexes know. */
export const inView = (comment: string): string =>
  `${comment}.status IN ('approved', 'deleted') AND (${comment}.status = 'approved' OR ${comment}.reply_count > 0)`

const BY_ID = statement(
  'comment_by_id',
  `SELECT ${COMMENT_COLUMNS} FROM ${COMMENT_FROM} WHERE c.tenant_id = $1 AND c.id = $2`,
)

export const selectComment = async (sql: Sql, tenantId: Id, id: Id): Promise<CommentRow | undefined> =>
  (await sql<CommentRow>(BY_ID, [tenantId, id]))[0]

const BY_IDS = statement(
  'comments_by_ids',
  `SELECT ${COMMENT_COLUMNS} FROM ${COMMENT_FROM} WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[])`,
)

/** Those of the comments that there are, in no order. */
export const selectComments = (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<CommentRow[]> =>
  sql(BY_IDS, [tenantId, ids])
