import { typesOf } from '../../core/fields.ts'
import type { Id } from '../../core/ids.ts'
import { columns } from '../../core/database/lists.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement, type Value } from '../../core/database/statements.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { type Column, COLUMNS, FIELDS, type Stored } from '../../domains/comments/fields.ts'
import { IS_HERE } from '../../domains/discussions/row.ts'
import { arraysOf, type Columns, insertion } from './columns-sql.ts'
import { type ImportedComment, isOfPlace, type PlaceColumn } from './imported.ts'

/** The facts about a comment that its replies and reports need. */
export interface CommentFacts {
  id: Id
  discussionId: Id
  parentId: Id | null
  depth: number
  createdAt: Date
  authorId: Id | null
}

/** Those of these comments that exist. */
export const selectFacts = statement(
  'import_comment_facts',
  `SELECT c.* FROM unnest($2::uuid[]) AS k (id) CROSS JOIN LATERAL (
     SELECT id, discussion_id AS "discussionId", parent_id AS "parentId", depth, created_at AS "createdAt", author_id AS "authorId"
     FROM comments WHERE tenant_id = (SELECT $1::uuid) AND id = k.id LIMIT 1) c`,
).rows<[tenantId: Id, ids: readonly Id[]], CommentFacts>()

const LOCK_DISCUSSIONS = statement(
  'lock_import_discussions',
  `SELECT d.id FROM (SELECT id FROM unnest($2::uuid[]) AS t (id) ORDER BY id) k CROSS JOIN LATERAL (
     SELECT id FROM discussions
     WHERE tenant_id = (SELECT $1::uuid) AND id = k.id AND ${IS_HERE} LIMIT 1 FOR NO KEY UPDATE) d`,
)

/** Locks discussions, in the order that all writers use. Returns those that are not deleted. */
export const lockDiscussions = async (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<Set<Id>> =>
  new Set((await sql<{ id: Id }>(LOCK_DISCUSSIONS, [tenantId, ids])).map(({ id }) => id))

// Comments, reactions and reports, whose discussions are locked.

/** A new comment: what the file says of it, in its place. */
export interface NewComment extends Pick<Stored, Exclude<PlaceColumn, 'reactionCounts'>> {
  row: ImportedComment
  /** JSON text. */
  reactionCounts: string
}

const COMMENT = typesOf(FIELDS, COLUMNS)

const INSERT_COMMENTS = insertion('import_comments', 'comments', COMMENT)

export const insertImportedComments = (sql: Sql, tenantId: Id, comments: readonly NewComment[]): Promise<unknown> =>
  sql(INSERT_COMMENTS, [tenantId, ...COLUMNS.map((name) => comments.map((comment) => valueOf(comment, name)))])

function valueOf(comment: NewComment, name: Column): Value {
  const value = isOfPlace(name) ? comment[name] : comment.row[name]
  return value instanceof Date || typeof value !== 'object' || value === null ? value : JSON.stringify(value)
}

export interface NewRevision {
  commentId: Id
  revision: number
  body: string
  createdAt: Date
  wasPublic: boolean
}

const REVISION = {
  commentId: 'uuid',
  revision: 'int',
  body: 'text',
  createdAt: 'timestamptz',
  wasPublic: 'bool',
} as const satisfies Columns<NewRevision>

const INSERT_REVISIONS = insertion('import_revisions', 'comment_revisions', REVISION)

export const insertRevisions = (sql: Sql, tenantId: Id, rows: readonly NewRevision[]): Promise<unknown> =>
  sql(INSERT_REVISIONS, [tenantId, ...arraysOf(REVISION, rows)])

export interface NewReaction {
  commentId: Id
  readerId: Id
  type: string
  updatedAt: Date
}

const REACTION = {
  commentId: 'uuid',
  readerId: 'uuid',
  type: 'text',
  updatedAt: 'timestamptz',
} as const satisfies Columns<NewReaction>

const INSERT_REACTIONS = insertion(
  'import_reactions',
  'reactions',
  REACTION,
  'ON CONFLICT DO NOTHING RETURNING comment_id AS "commentId", type',
)

/** Returns new ones: a reader's present or removed reaction stays. */
export const insertReactions = (
  sql: Sql,
  tenantId: Id,
  rows: readonly NewReaction[],
): Promise<Pick<NewReaction, 'commentId' | 'type'>[]> =>
  sql<Pick<NewReaction, 'commentId' | 'type'> & { type: string }>(INSERT_REACTIONS, [
    tenantId,
    ...arraysOf(REACTION, rows),
  ])

export interface NewShadowReaction extends Omit<NewReaction, 'type'> {
  /** Null for a removed one. */
  type: string | null
}

const INSERT_SHADOW_REACTIONS = insertion(
  'import_shadow_reactions',
  'shadow_reactions',
  REACTION,
  'ON CONFLICT DO NOTHING RETURNING comment_id AS "commentId"',
)

/** Returns new ones: what a reader has chosen here stays. */
export const insertShadowReactions = (
  sql: Sql,
  tenantId: Id,
  rows: readonly NewShadowReaction[],
): Promise<Pick<NewReaction, 'commentId'>[]> => sql(INSERT_SHADOW_REACTIONS, [tenantId, ...arraysOf(REACTION, rows)])

const ADD_REACTIONS = statement(
  'import_add_reactions',
  `UPDATE comments c SET reaction_counts = (
     SELECT jsonb_object_agg(key, n) FROM (
       SELECT key, sum(value::int) AS n FROM (
         SELECT * FROM jsonb_each_text(c.reaction_counts) UNION ALL SELECT * FROM jsonb_each_text(a.counts)
       ) parts GROUP BY key
     ) sums)
   FROM unnest($2::uuid[], $3::jsonb[]) AS a (id, counts)
   WHERE c.tenant_id = $1 AND c.id = a.id`,
)

export type ReactionCounts = ReadonlyMap<string, number>

/** Adds to comments' reaction counts. */
export const addReactions = (sql: Sql, tenantId: Id, added: ReadonlyMap<Id, ReactionCounts>): Promise<unknown> =>
  sql(ADD_REACTIONS, [
    tenantId,
    [...added.keys()],
    [...added.values()].map((counts) => JSON.stringify(Object.fromEntries(counts))),
  ])

export interface NewReport {
  commentId: Id
  readerId: Id
  reason: string
  note: string | null
  counted: boolean
  createdAt: Date
}

const REPORT = {
  commentId: 'uuid',
  readerId: 'uuid',
  reason: 'text',
  note: 'text',
  counted: 'bool',
  createdAt: 'timestamptz',
} as const satisfies Columns<NewReport>

const INSERT_REPORTS = insertion(
  'import_reports',
  'reports',
  REPORT,
  'ON CONFLICT DO NOTHING RETURNING comment_id AS "commentId", reader_id AS "readerId"',
)

/** Returns new ones: a reader reports a comment once. */
export const insertReports = (
  sql: Sql,
  tenantId: Id,
  rows: readonly NewReport[],
): Promise<Pick<NewReport, 'commentId' | 'readerId'>[]> => sql(INSERT_REPORTS, [tenantId, ...arraysOf(REPORT, rows)])

export interface ReportNumbers {
  reports: number
  answered: number
}

const ADD_REPORTS = statement(
  'import_add_reports',
  `UPDATE comments c SET report_count = c.report_count + a.reports, reports_answered = c.reports_answered + a.answered
   FROM unnest($2::uuid[], $3::int[], $4::int[]) AS a (id, reports, answered)
   WHERE c.tenant_id = $1 AND c.id = a.id`,
)

/** Adds to comments' numbers of reports. */
export const addReports = (sql: Sql, tenantId: Id, added: ReadonlyMap<Id, ReportNumbers>): Promise<unknown> =>
  sql(ADD_REPORTS, [tenantId, [...added.keys()], ...columns([...added.values()], 'reports', 'answered')])

const ADD_REPLIES = statement(
  'import_add_replies',
  `UPDATE comments c SET reply_count = c.reply_count + a.replies
   FROM unnest($2::uuid[], $3::int[]) AS a (id, replies)
   WHERE c.tenant_id = $1 AND c.id = a.id
   RETURNING c.parent_id AS "parentId", c.status::text, c.reply_count AS "replyCount", a.replies`,
)

interface Replied {
  parentId: Id | null
  status: CommentStatus
  replyCount: number
  replies: number
}

/**
 * Adds to comments' numbers of replies in view. A comment that is not approved comes into view
 * with its first such reply and leaves with its last, which changes its own parent's number, and so
 * on upwards.
 */
export async function addReplies(sql: Sql, tenantId: Id, added: ReadonlyMap<Id, number>): Promise<void> {
  for (let next = added; next.size > 0;) {
    const rows = await sql<Replied>(ADD_REPLIES, [tenantId, [...next.keys()], [...next.values()]])
    const above = new Map<Id, number>()
    for (const { parentId, status, replyCount, replies } of rows) {
      const by = Number(replyCount > 0) - Number(replyCount - replies > 0)
      if (status !== 'approved' && parentId !== null && by !== 0) above.set(parentId, (above.get(parentId) ?? 0) + by)
    }
    next = new Map([...above].filter(([, by]) => by !== 0))
  }
}

export interface DiscussionChange {
  /** The change in approved comments. */
  approved: number
  /** When the latest of the new comments was written. */
  lastAt: Date
  /** When the latest approved one was written. */
  lastApprovedAt: Date | null
}

const ADD_COMMENTS = statement(
  'import_add_comments',
  `UPDATE discussions d SET comment_count = d.comment_count + a.approved, updated_at = greatest(d.updated_at, a.last_at),
     last_commented_at = greatest(d.last_commented_at, a.last_approved_at),
     active_at = greatest(d.active_at, date_trunc('minute', a.last_approved_at))
   FROM unnest($2::uuid[], $3::int[], $4::timestamptz[], $5::timestamptz[]) AS a (id, approved, last_at, last_approved_at)
   WHERE d.tenant_id = $1 AND d.id = a.id`,
)

/** Counts new comments in their discussions. */
export const addComments = (sql: Sql, tenantId: Id, added: ReadonlyMap<Id, DiscussionChange>): Promise<unknown> =>
  sql(ADD_COMMENTS, [
    tenantId,
    [...added.keys()],
    ...columns([...added.values()], 'approved', 'lastAt', 'lastApprovedAt'),
  ])
