import { columnOf, inJson, type InJson } from '../../core/fields.ts'
import type { Id } from '../../core/ids.ts'
import { statement } from '../../core/database/statements.ts'
import { NO_TEXT } from '../../core/withdrawal.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { FIELDS as READER_FIELDS, PROFILE, type Reader } from '../readers/fields.ts'
import type { Decision } from './decision.ts'
import {
  type Column,
  COLUMNS,
  FIELDS,
  JSON_FIELDS,
  type NamesOf,
  SHOWN_COLUMNS,
  type ShownColumn,
  type Stored,
  VIEWERS_FIELDS,
  type ViewersField,
} from './fields.ts'

/** A comment's state in an answer. Only the public gets `withheld`: pending or rejected. */
export type ShownStatus = CommentStatus | 'withheld'

type Shown = { [Name in ShownColumn]: InJson<Stored[Name]> }

/** A comment as everybody gets it: REST, GraphQL, streams and webhooks. Times are RFC 3339. */
export interface Comment extends Omit<Shown, 'status'> {
  author: Reader | null
  status: ShownStatus
  // Absent while they are still to be looked up; null in events, the same for all viewers.
  viewerReaction?: string | null
  authorMuted?: true | null
  decision?: Decision | null
}

/** The text of a comment. */
export type CommentText = Pick<Shown, NamesOf<{ isText: true }>>

const WITHOUT_TEXT: Record<keyof CommentText, null> = NO_TEXT

type Profile = Omit<Reader, 'id'>

type AuthorColumn<Name extends keyof Profile> = `author${Capitalize<Name>}`

/** The author's profile beside `authorId`. */
type AuthorColumns = { [Name in keyof Profile as AuthorColumn<Name>]: Profile[Name] | null }

const AUTHOR_COLUMNS = PROFILE.filter((name) => name !== 'id').map(
  (name) => [name, `author${name.charAt(0).toUpperCase()}${name.slice(1)}` as AuthorColumn<typeof name>] as const,
)

/** A comment's row, with its author's profile. */
export interface CommentRow extends Pick<Stored, ShownColumn | 'authorId'>, AuthorColumns {
  /** Only the author's ban in shadow holds it: to them it is approved. */
  inShadow: boolean
}

/** SQL: whether only its author's ban in shadow holds a row of `comments`. */
export const inShadow = (comment: string): string =>
  `(${comment}.status = 'pending' AND ${comment}.hold_reason IS NOT DISTINCT FROM 'shadow_ban')`

const BESIDE = {
  ...(Object.fromEntries(
    AUTHOR_COLUMNS.map(([name, column]) => [column, columnOf(READER_FIELDS, name, 'r')]),
  ) as Record<keyof AuthorColumns, string>),
  inShadow: inShadow('c'),
} satisfies Record<Exclude<keyof CommentRow, Column>, string>

const SQL_OF = {
  ...(Object.fromEntries(COLUMNS.map((name) => [name, columnOf(FIELDS, name, 'c')])) as Record<Column, string>),
  ...BESIDE,
}

/** SQL: these columns of `comments c` and its author `readers r`, under these names. */
export const columnsOf = (names: readonly (keyof typeof SQL_OF)[]): string =>
  names.map((name) => `${SQL_OF[name]} AS "${name}"`).join(', ')

const FIELDS_OF_ROW: readonly (keyof CommentRow)[] = [
  ...SHOWN_COLUMNS,
  'authorId',
  ...(Object.keys(BESIDE) as (keyof typeof BESIDE)[]),
]

export const COMMENT_COLUMNS = columnsOf(FIELDS_OF_ROW)

/** The bytes of a row's long texts; the other columns are short. */
export const COMMENT_BYTES = `octet_length(coalesce(body, '')) + octet_length(coalesce("bodyHtml", ''))`

export const COMMENT_FROM = 'comments c LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id'

/**
 * `COMMENT_FROM` for statements that may join many comments: with statistics PostgreSQL would join
 * all of a long level with all readers before it sorts and limits it.
 */
export const COMMENT_FROM_ONE_BY_ONE = `comments c
   LEFT JOIN LATERAL (SELECT * FROM readers WHERE tenant_id = c.tenant_id AND id = c.author_id LIMIT 1) r ON true`

/** Whether the public sees a comment: it is approved, or a tombstone with replies in view. */
export const isInView = ({ status, replyCount }: Pick<CommentRow, 'status' | 'replyCount'>): boolean =>
  status === 'approved' || replyCount > 0

/** Whether a comment waits for a moderator, or was rejected by one. */
export const isHeld = ({ status }: Pick<CommentRow, 'status'>): boolean => status === 'pending' || status === 'rejected'

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

const OF_ROW = JSON_FIELDS.filter((name): name is Exclude<typeof name, ViewersField> => !(name in VIEWERS_FIELDS))

/** The fields that a comment may lack. */
export const NULLS = Object.fromEntries(
  SHOWN_COLUMNS.filter((name) => 'isNullable' in FIELDS[name]).map((name) => [name, null]),
) as Record<Extract<ShownColumn, NamesOf<{ isNullable: true }>>, null>

export function toComment(row: CommentRow): Comment {
  const json: Partial<Record<keyof Comment, unknown>> = {}
  for (const name of OF_ROW) {
    json[name] = name === 'author' ? authorOf(row) : inJson(row[name])
  }
  const comment = json as Comment
  return row.status === 'deleted' ? { ...comment, author: null, ...WITHOUT_TEXT } : comment
}

function authorOf(row: CommentRow): Reader | null {
  if (row.authorId === null || row.authorExternalId === null) return null
  const author: Partial<Record<keyof Reader, unknown>> = { id: row.authorId }
  for (const [name, column] of AUTHOR_COLUMNS) author[name] = row[column]
  return author as Reader
}

export const selectComment = statement(
  'comment_by_id',
  `SELECT ${COMMENT_COLUMNS} FROM ${COMMENT_FROM} WHERE c.tenant_id = $1 AND c.id = $2`,
).first<[tenantId: Id, id: Id], CommentRow>()

/** The comments with these ids, in no order; unknown ids are left out. */
export const selectComments = statement(
  'comments_by_ids',
  `SELECT ${COMMENT_COLUMNS} FROM ${COMMENT_FROM_ONE_BY_ONE}
   WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[])`,
).rows<[tenantId: Id, ids: readonly Id[]], CommentRow>()
