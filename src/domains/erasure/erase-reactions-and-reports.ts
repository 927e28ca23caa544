import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { eachOf } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { isInView } from '../comments/comment.ts'
import type { NewEvent } from '../discussions/append-events.ts'
import { type ReaderWork, workThrough } from './erase-batches.ts'

/** Removes a batch of the reader's reactions. Returns false if none was left. */
export const eraseReactions = (work: ReaderWork): Promise<boolean> =>
  workThrough(work, 'reactions', (sql, ids) => takeReactionsBack(sql, work, ids))

/**
 * Removes the reader's reactions to these comments, whose discussion is locked. Returns the events
 * that report it.
 */
export async function takeReactionsBack(
  sql: Sql,
  { tenantId, readerId }: Pick<ReaderWork, 'tenantId' | 'readerId'>,
  commentIds: readonly Id[],
): Promise<NewEvent[]> {
  await lockComments(sql, tenantId, commentIds)
  const taken = await takeReactions(sql, tenantId, readerId, commentIds)
  return taken.map(({ discussionId, commentId, type: previousType, reactionCounts, ...comment }): NewEvent => {
    const data = JSON.stringify({ commentId, type: null, previousType, reactionCounts, reader: null })
    const audience = isInView(comment) ? 'public' : 'tenant'
    return { tenantId, discussionId, type: 'reaction_toggled', audience, actor: { kind: 'system' }, data }
  })
}

/**
 * Removes a batch of the reactions that only the reader has seen. Returns false if none was left.
 */
export const eraseShadowReactions = (work: ReaderWork): Promise<boolean> =>
  workThrough(work, 'shadowReactions', async (sql, ids) => {
    await sql(ERASE_SHADOW, [work.tenantId, work.readerId, ids])
    return []
  })

/**
 * Removes a batch of the reader's reports. Returns false if none was left. Reports have no events.
 */
export const eraseReports = (work: ReaderWork): Promise<boolean> =>
  workThrough(work, 'reports', async (sql, ids) => {
    await takeReportsBack(sql, work, ids)
    return []
  })

/** Removes the reader's reports of these comments, whose discussion is locked. */
export async function takeReportsBack(
  sql: Sql,
  { tenantId, readerId }: Pick<ReaderWork, 'tenantId' | 'readerId'>,
  commentIds: readonly Id[],
): Promise<void> {
  await lockComments(sql, tenantId, commentIds)
  await takeReports(sql, tenantId, readerId, commentIds)
}

/**
 * Locks comments whose discussions are locked already. Later statements see their present state.
 */
const lockComments = statement(
  'lock_comments',
  'SELECT 1 FROM comments WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR NO KEY UPDATE',
).run<[tenantId: Id, ids: readonly Id[]]>()

const THEIRS = 'tenant_id = $1 AND reader_id = $2 AND comment_id = k.key'

const ERASE_SHADOW = statement(
  'erase_shadow_reactions',
  `DELETE FROM shadow_reactions WHERE ${eachOf('shadow_reactions', '$3::uuid[]', THEIRS)}`,
)

export interface TakenReaction {
  commentId: Id
  discussionId: Id
  status: CommentStatus
  replyCount: number
  /** The type of the removed reaction. */
  type: string
  reactionCounts: Record<string, number>
}

/**
 * Removes the reader's reactions on these locked comments. Returns those whose counts have changed.
 */
const takeReactions = statement(
  'take_reactions_back',
  `WITH gone AS (
     DELETE FROM reactions WHERE ${eachOf('reactions', '$3::uuid[]', THEIRS)}
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
).rows<[tenantId: Id, readerId: Id, commentIds: readonly Id[]], TakenReaction>()

// The first `reports_answered` of a comment's counted reports have been answered by moderators.
// Later ones are not counted.
/** Removes the reader's reports on these locked comments, and updates their counts. */
const takeReports = statement(
  'take_reports_back',
  `WITH theirs AS MATERIALIZED (
     SELECT p.comment_id, p.counted, (SELECT count(*) FROM (
       SELECT 1 FROM reports o
       WHERE o.tenant_id = $1 AND o.comment_id = p.comment_id AND o.counted
         AND (o.created_at, o.reader_id) <= (p.created_at, p.reader_id)
       LIMIT 1 + (SELECT reports_answered FROM comments WHERE tenant_id = $1 AND id = p.comment_id)
     ) bounded) AS place
     FROM unnest($3::uuid[]) AS k (key) CROSS JOIN LATERAL (SELECT * FROM reports WHERE ${THEIRS} LIMIT 1) p
   ),
   gone AS (
     DELETE FROM reports WHERE ${eachOf('reports', '$3::uuid[]', THEIRS)}
   )
   UPDATE comments c SET report_count = c.report_count - 1,
     reports_answered = least(c.reports_answered - (t.place <= c.reports_answered)::int, c.report_count - 1)
   FROM theirs t WHERE t.counted AND c.tenant_id = $1 AND c.id = t.comment_id AND c.report_count > 0`,
).run<[tenantId: Id, readerId: Id, commentIds: readonly Id[]]>()
