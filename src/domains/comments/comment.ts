import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { NO_TEXT } from '../../core/withdrawal.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import type { Reader } from '../readers/readers.ts'

/** A comment's state in an answer. Only the public gets `withheld`: pending or rejected. */
export type ShownStatus = CommentStatus | 'withheld'

/** A comment as everybody gets it: REST, GraphQL, streams and webhooks. Times are RFC 3339. */
export interface Comment {
  id: Id
  discussionId: Id
  parentId: Id | null
  depth: number
  author: Reader | null
  body: string | null
  bodyHtml: string | null
  status: ShownStatus
  pinnedAt: string | null
  editedAt: string | null
  deletedAt: string | null
  revision: number
  replyCount: number
  reactionCounts: Record<string, number>
  /**
   * Absent where it is still to be looked up; null in events, which are the same for all viewers.
   */
  viewerReaction?: string | null
  createdAt: string
}

/** Strings of a comment that are no text of its author. */
type NoText =
  | 'id'
  | 'discussionId'
  | 'parentId'
  | 'pinnedAt'
  | 'editedAt'
  | 'deletedAt'
  | 'viewerReaction'
  | 'createdAt'

type StringField = { [Name in keyof Comment]-?: string extends Comment[Name] ? Name : never }[keyof Comment]

/**
 * The text of a comment. A string must be in `NO_TEXT`, or in `NoText`: else it would stay in what
 * is told of a comment without its text, and after an erasure.
 */
export type CommentText = Record<Exclude<StringField, NoText>, string | null>

const WITHOUT_TEXT: Record<keyof CommentText, null> = NO_TEXT

/** Instants are texts in the JSON, dates in a row. */
type Instant = 'pinnedAt' | 'editedAt' | 'deletedAt'

/** A comment's row, with its author's profile. */
export interface CommentRow extends Omit<Comment, 'author' | 'status' | 'viewerReaction' | 'createdAt' | Instant> {
  authorId: Id | null
  authorExternalId: string | null
  authorName: string | null
  authorAvatarUrl: string | null
  authorProfileUrl: string | null
  status: CommentStatus
  /** Only the author's ban in shadow holds it: to them it is approved. */
  inShadow: boolean
  pinnedAt: Date | null
  editedAt: Date | null
  deletedAt: Date | null
  createdAt: Date
}

/** SQL: whether only its author's ban in shadow holds a row of `comments`. */
export const inShadow = (comment: string): string =>
  `(${comment}.status = 'pending' AND ${comment}.hold_reason IS NOT DISTINCT FROM 'shadow_ban')`

const COLUMNS = {
  id: 'c.id',
  discussionId: 'c.discussion_id',
  parentId: 'c.parent_id',
  depth: 'c.depth',
  authorId: 'c.author_id',
  authorExternalId: 'r.external_id',
  authorName: 'r.name',
  authorAvatarUrl: 'r.avatar_url',
  authorProfileUrl: 'r.profile_url',
  body: 'c.body',
  bodyHtml: 'c.body_html',
  status: 'c.status::text',
  inShadow: inShadow('c'),
  pinnedAt: 'c.pinned_at',
  editedAt: 'c.edited_at',
  deletedAt: 'c.deleted_at',
  revision: 'c.revision',
  replyCount: 'c.reply_count',
  reactionCounts: 'c.reaction_counts',
  createdAt: 'c.created_at',
} satisfies Record<keyof CommentRow, string>

/** SQL: these columns of `comments c` and its author `readers r`, named as in CommentRow. */
export const columnsOf = (names: readonly (keyof CommentRow)[]): string =>
  names.map((name) => `${COLUMNS[name]} AS "${name}"`).join(', ')

export const COMMENT_FIELDS = Object.keys(COLUMNS) as (keyof CommentRow)[]

export const COMMENT_COLUMNS = columnsOf(COMMENT_FIELDS)

/** The bytes of a row's long texts; the other columns are short. */
export const COMMENT_BYTES = `octet_length(coalesce(body, '')) + octet_length(coalesce("bodyHtml", ''))`

export const COMMENT_FROM = 'comments c LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id'

/**
 * The same where a statement may join many comments: with statistics PostgreSQL would join all of a
 * long level with all readers before it sorts and limits it.
 */
export const COMMENT_FROM_ONE_BY_ONE = `comments c
   LEFT JOIN LATERAL (SELECT * FROM readers WHERE tenant_id = c.tenant_id AND id = c.author_id LIMIT 1) r ON true`

/** Whether the public sees a comment: it is approved, or a tombstone with replies in view. */
export const isInView = ({ status, replyCount }: Pick<CommentRow, 'status' | 'replyCount'>): boolean =>
  status === 'approved' || replyCount > 0

/** SQL: whether a row of `comments` is in view, in the form that its partial indexes use. */
export const inView = (comment: string): string => `(${comment}.status = 'approved' OR ${comment}.reply_count > 0)`

/**
 * A comment as the public sees it: one that is not approved as a tombstone. Nothing in a tombstone
 * tells a pending comment from a rejected one: an edit would, so `editedAt` and `revision` are
 * those of a comment that was never edited. Reactions stay: they were public, and give the
 * tombstone its place in the order `top`.
 */
export function publicForm(comment: Comment): Comment {
  if (comment.status === 'approved') return comment
  const status = comment.status === 'deleted' ? 'deleted' : 'withheld'
  return { ...comment, status, author: null, ...WITHOUT_TEXT, pinnedAt: null, editedAt: null, revision: 1 }
}

/** A comment as its author sees it. */
export const toAuthorsComment = (row: CommentRow): Comment =>
  row.inShadow ? { ...toComment(row), status: 'approved' } : toComment(row)

export const toPublicComment = (row: CommentRow): Comment => publicForm(toComment(row))

export function toComment(row: CommentRow): Comment {
  const comment: Comment = {
    id: row.id,
    discussionId: row.discussionId,
    parentId: row.parentId,
    depth: row.depth,
    author: authorOf(row),
    body: row.body,
    bodyHtml: row.bodyHtml,
    status: row.status,
    pinnedAt: row.pinnedAt?.toISOString() ?? null,
    editedAt: row.editedAt?.toISOString() ?? null,
    deletedAt: row.deletedAt?.toISOString() ?? null,
    revision: row.revision,
    replyCount: row.replyCount,
    reactionCounts: row.reactionCounts,
    createdAt: row.createdAt.toISOString(),
  }
  return row.status === 'deleted' ? { ...comment, author: null, ...WITHOUT_TEXT } : comment
}

function authorOf(row: CommentRow): Reader | null {
  const { authorId: id, authorExternalId: externalId } = row
  if (id === null || externalId === null) return null
  return { id, externalId, name: row.authorName, avatarUrl: row.authorAvatarUrl, profileUrl: row.authorProfileUrl }
}

const BY_ID = statement(
  'comment_by_id',
  `SELECT ${COMMENT_COLUMNS} FROM ${COMMENT_FROM} WHERE c.tenant_id = $1 AND c.id = $2`,
)

export const selectComment = async (sql: Sql, tenantId: Id, id: Id): Promise<CommentRow | undefined> =>
  (await sql<CommentRow>(BY_ID, [tenantId, id]))[0]

const BY_IDS = statement(
  'comments_by_ids',
  `SELECT ${COMMENT_COLUMNS} FROM ${COMMENT_FROM_ONE_BY_ONE}
   WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[])`,
)

/** The comments with these ids, in no order; unknown ids are left out. */
export const selectComments = (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<CommentRow[]> =>
  sql(BY_IDS, [tenantId, ids])
