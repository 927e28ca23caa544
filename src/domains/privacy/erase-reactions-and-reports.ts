import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import type { NewEvent } from '../discussions/append-events.ts'
import { BATCH, eraseAt, type Erasure } from './erase-batches.ts'
import type { CommentLocation } from './sql.ts'

/** Takes a batch of the reader's reactions back. False where none was left. */
export async function eraseReactions(erasure: Erasure): Promise<boolean> {
  const { app, tenantId, readerId } = erasure
  const theirs = await selectTheirReactions(app.db.query, tenantId, readerId, BATCH)
  if (theirs.length === 0) return false
  await eraseAt(erasure, theirs, async (sql, commentIds) => {
    await lockComments(sql, tenantId, commentIds)
    const taken = await takeReactions(sql, tenantId, readerId, commentIds)
    return taken.map(
      ({ discussionId, status, replyCount, commentId, type: previousType, reactionCounts }): NewEvent => {
        const isPublic = status === 'approved' || (status === 'deleted' && replyCount > 0)
        const data = JSON.stringify({ commentId, type: null, previousType, reactionCounts, reader: null })
        const audience = isPublic ? 'public' : 'tenant'
        return { tenantId, discussionId, type: 'reaction_toggled', audience, actor: { kind: 'system' }, data }
      },
    )
  })
  return true
}

/**
 * Takes a batch of the reader's reports back. False where none was left. No event tells of reports.
 */
export async function eraseReports(erasure: Erasure): Promise<boolean> {
  const { app, tenantId, readerId } = erasure
  const theirs = await selectTheirReports(app.db.query, tenantId, readerId, BATCH)
  if (theirs.length === 0) return false
  await eraseAt(erasure, theirs, async (sql, commentIds) => {
    await lockComments(sql, tenantId, commentIds)
    await takeReports(sql, tenantId, readerId, commentIds)
    return []
  })
  return true
}

const theirs = <Table extends 'reactions' | 'reports'>(table: Table) =>
  statement(
    `${table}_of_reader`,
    `SELECT t.comment_id AS "commentId", c.discussion_id AS "discussionId"
     FROM ${table} t JOIN comments c ON c.tenant_id = t.tenant_id AND c.id = t.comment_id
     WHERE t.tenant_id = $1 AND t.reader_id = $2 ORDER BY t.comment_id LIMIT $3`,
  )

const REACTIONS = theirs('reactions')
const REPORTS = theirs('reports')

/** Comments that the reader has reacted to, also where nothing is held any more. */
const selectTheirReactions = (sql: Sql, tenantId: Id, readerId: Id, limit: number): Promise<CommentLocation[]> =>
  sql<CommentLocation>(REACTIONS, [tenantId, readerId, limit])

/** Comments that the reader has reported. */
const selectTheirReports = (sql: Sql, tenantId: Id, readerId: Id, limit: number): Promise<CommentLocation[]> =>
  sql<CommentLocation>(REPORTS, [tenantId, readerId, limit])

const LOCK_COMMENTS = statement(
  'lock_comments',
  'SELECT 1 FROM comments WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR NO KEY UPDATE',
)

/** Locks comments, whose discussions are locked already. What comes after sees them as they are. */
const lockComments = async (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<void> =>
  void (await sql(LOCK_COMMENTS, [tenantId, ids]))

export interface TakenReaction {
  commentId: Id
  discussionId: Id
  status: CommentStatus
  replyCount: number
  /** What the reader held. */
  type: string
  reactionCounts: Record<string, number>
}

const TAKE_REACTIONS = statement(
  'take_reactions_back',
  `WITH gone AS (
     DELETE FROM reactions WHERE tenant_id = $1 AND reader_id = $2 AND comment_id = ANY($3::uuid[])
     RETURNING comment_id, type
   )
   UPDATE comments c SET reaction_counts = coalesce((
     SELECT jsonb_object_agg(key, n) FROM (
       SELECT key, value::int - (key = g.type)::int AS n FROM jsonb_each_text(c.reaction_counts)
     ) left_over WHERE n > 0
   ), '{}')
   FROM gone g
   WHERE g.type IS NOT NULL AND c.tenant_id = $1 AND c.id = g.comment_id
   RETURNING c.id AS "commentId", c.discussion_id AS "discussionId", c.status::text, c.reply_count AS "replyCount", g.type,
     c.reaction_counts AS "reactionCounts"`,
)

/**
 * Removes what the reader holds on these comments, which are locked; gives those whose counts have
 * changed.
 */
const takeReactions = (sql: Sql, tenantId: Id, readerId: Id, commentIds: readonly Id[]): Promise<TakenReaction[]> =>
  sql<TakenReaction>(TAKE_REACTIONS, [tenantId, readerId, commentIds])

// Moderators have answered the first `reports_answered` of a comment's counted reports.
const TAKE_REPORTS = statement(
  'take_reports_back',
  `WITH theirs AS MATERIALIZED (
     SELECT p.comment_id, p.counted, (
       SELECT count(*) FROM reports o
       WHERE o.tenant_id = $1 AND o.comment_id = p.comment_id AND o.counted
         AND (o.created_at, o.reader_id) <= (p.created_at, p.reader_id)
     ) AS place
     FROM reports p WHERE p.tenant_id = $1 AND p.reader_id = $2 AND p.comment_id = ANY($3::uuid[])
   ),
   gone AS (
     DELETE FROM reports p USING theirs t WHERE p.tenant_id = $1 AND p.reader_id = $2 AND p.comment_id = t.comment_id
   )
   UPDATE comments c SET report_count = c.report_count - 1,
     reports_answered = least(c.reports_answered - (t.place <= c.reports_answered)::int, c.report_count - 1)
   FROM theirs t WHERE t.counted AND c.tenant_id = $1 AND c.id = t.comment_id AND c.report_count > 0`,
)

/**
 * Removes the reader's reports on these comments, which are locked, and takes them out of their
 * counts.
 */
const takeReports = async (sql: Sql, tenantId: Id, readerId: Id, commentIds: readonly Id[]): Promise<void> =>
  void (await sql(TAKE_REPORTS, [tenantId, readerId, commentIds]))
