import type { Id } from '../../core/ids.ts'
import type { IfLocked } from '../../core/queues/shared-writer.ts'
import type { Sql } from '../../core/database/database.ts'
import { toSnakeCase } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { queueDeliveries } from '../discussions/append-events.ts'
import { writableState } from '../discussions/row.ts'
import { inShadow } from '../comments/comment.ts'
import { banIn } from '../readers/bans.ts'

/**
 * `toggle`: the same type again removes the reaction. `set` and `remove` are idempotent. `remove`
 * with a type removes a reaction of this type alone.
 */
export type ReactionMode = 'toggle' | 'set' | 'remove'

/**
 * One change of a reader's reaction on a comment. Arrays of these, column by column, are the
 * statement's parameters.
 */
export interface ReactionRow {
  tenantId: Id
  commentId: Id
  readerId: Id
  mode: ReactionMode
  type: string | null
  eventId: Id
  /** JSON text. */
  actor: string
  /** The reader's profile, JSON text. */
  reader: string
  /** The request's trace; null if it has none. */
  trace: string | null
}

export interface ReactionResult {
  outcome:
    | 'written'
    /**
     * The discussion is locked by another transaction, and nothing was written. Only with `skip`.
     */
    | 'busy'
    | 'not_found'
    /** The reader's record was removed: see `asReader`. */
    | 'unavailable'
    | 'discussion_archived'
    | 'discussion_locked'
    | 'reader_banned'
    /** The reader is banned in shadow: nothing was written. */
    | 'in_shadow'
  /** Null if there is no such comment. */
  discussionId: Id | null
  type: string | null
  /** The counts over all readers after this change; null if it was refused. */
  reactionCounts: Record<string, number> | null
  /** Null if nothing changed, so that there is no event. */
  seq: number | null
  /** The event's data, JSON text. */
  data: string | null
  /** For the whole batch. */
  deliveries: number
}

const INPUT = Object.entries({
  tenantId: 'uuid',
  commentId: 'uuid',
  readerId: 'uuid',
  mode: 'text',
  type: 'text',
  eventId: 'uuid',
  actor: 'text',
  reader: 'text',
  trace: 'text',
} satisfies Record<keyof ReactionRow, string>) as [keyof ReactionRow, string][]
const NOW = `$${INPUT.length + 1}`

/**
 * Writes any number of reactions in one statement, which is one transaction: reactions, counts,
 * numbers, events, deliveries. No two of them have the same reader and comment. Discussions are
 * locked in the order of their ids and before comments, so that two batches never deadlock. A
 * refused row has its own outcome and does not affect the others.
 *
 * The earlier reaction is read where the new one is written: ON CONFLICT sees the newest version,
 * whatever the statement's snapshot. The counts in an event are those after it: the comment's, plus
 * the changes of the batch up to that one.
 *
 * LATERAL with LIMIT, and the input in subselects: as in `createComments`.
 */
const writeAll = <Name extends string>(name: Name, ifLocked: '' | 'SKIP LOCKED', otherwise: string) =>
  statement(
    name,
    `WITH input AS (
     SELECT * FROM unnest(${INPUT.map(([, type], index) => `(SELECT $${index + 1}::${type}[])`).join(', ')}) WITH ORDINALITY
     AS t (${INPUT.map(([field]) => toSnakeCase(field)).join(', ')}, n)
   ),
   placed AS MATERIALIZED (
     SELECT i.*, c.discussion_id FROM input i LEFT JOIN LATERAL (
       SELECT discussion_id FROM comments WHERE tenant_id = i.tenant_id AND id = i.comment_id LIMIT 1
     ) c ON true
   ),
   locked AS MATERIALIZED (
     SELECT l.* FROM (SELECT DISTINCT tenant_id, discussion_id FROM placed ORDER BY 1, 2) p
     CROSS JOIN LATERAL (
       SELECT d.tenant_id, d.id, ${writableState('d', NOW)} AS state, d.seq FROM discussions d
       WHERE d.tenant_id = p.tenant_id AND d.id = p.discussion_id FOR NO KEY UPDATE OF d ${ifLocked}
     ) l
   ),
   targets AS MATERIALIZED (
     SELECT l.state, l.seq AS last_seq, c.* FROM placed p
     JOIN locked l ON l.tenant_id = p.tenant_id AND l.id = p.discussion_id
     CROSS JOIN LATERAL (
       SELECT p.n, c.status, c.reaction_counts, c.author_id = p.reader_id AND ${inShadow('c')} AS is_theirs FROM comments c
       WHERE c.tenant_id = p.tenant_id AND c.id = p.comment_id FOR NO KEY UPDATE OF c
     ) c
   ),
   judged AS MATERIALIZED (
     SELECT p.*, t.last_seq, t.reaction_counts,
       CASE
         WHEN p.discussion_id IS NULL THEN 'not_found'
         WHEN t.n IS NULL THEN ${otherwise}
         WHEN t.status <> 'approved' AND NOT (r.ban IS NOT DISTINCT FROM 'shadow' AND t.is_theirs) THEN 'not_found'
         WHEN r.id IS NULL THEN 'unavailable'
         WHEN t.state = 'archived' THEN 'discussion_archived'
         WHEN t.state = 'locked' THEN 'discussion_locked'
         WHEN r.ban = 'open' THEN 'reader_banned'
         WHEN r.ban = 'shadow' THEN 'in_shadow'
         ELSE 'written'
       END AS outcome
     FROM placed p
     LEFT JOIN targets t ON t.n = p.n
     LEFT JOIN LATERAL (
       SELECT id, ${banIn('readers', NOW)} AS ban FROM readers
       WHERE tenant_id = p.tenant_id AND id = p.reader_id AND erasing_at IS NULL LIMIT 1
     ) r ON true
   ),
   held AS (
     INSERT INTO reactions AS r (tenant_id, comment_id, reader_id, type, previous_type, updated_at)
     SELECT tenant_id, comment_id, reader_id, CASE WHEN mode <> 'remove' THEN type END, NULL, ${NOW}
     FROM judged WHERE outcome = 'written'
     ON CONFLICT (tenant_id, comment_id, reader_id) DO UPDATE SET
       type = CASE
         WHEN (r.tenant_id, r.comment_id, r.reader_id, r.type) IN (
           SELECT tenant_id, comment_id, reader_id, type FROM judged WHERE mode <> 'set'
         ) THEN NULL
         WHEN (r.tenant_id, r.comment_id, r.reader_id) IN (
           SELECT tenant_id, comment_id, reader_id FROM judged WHERE mode = 'remove' AND type IS NOT NULL
         ) THEN r.type
         ELSE excluded.type
       END,
       previous_type = r.type,
       updated_at = ${NOW}
     RETURNING tenant_id, comment_id, reader_id, type, previous_type
   ),
   changes AS MATERIALIZED (
     SELECT j.n, j.tenant_id, j.discussion_id, j.comment_id, j.reaction_counts, j.last_seq, j.event_id, j.actor, j.reader,
       j.trace, h.type, h.previous_type, h.type IS DISTINCT FROM h.previous_type AS changed
     FROM judged j JOIN held h
       ON h.tenant_id = j.tenant_id AND h.comment_id = j.comment_id AND h.reader_id = j.reader_id
   ),
   numbered AS MATERIALIZED (
     SELECT c.n, c.tenant_id, c.discussion_id, c.comment_id, c.event_id, c.actor, c.reader, c.trace, c.type, c.previous_type,
       c.changed,
       CASE WHEN c.changed
         THEN last_seq + count(*) FILTER (WHERE changed) OVER (PARTITION BY tenant_id, discussion_id ORDER BY n) END AS seq,
       coalesce((
         SELECT jsonb_object_agg(key, n) FROM (
           SELECT key, sum(n) AS n FROM (
             SELECT key, value::int AS n FROM jsonb_each_text(c.reaction_counts)
             UNION ALL
             SELECT v.type, v.n FROM changes b CROSS JOIN LATERAL (VALUES (b.type, 1), (b.previous_type, -1)) v(type, n)
             WHERE b.tenant_id = c.tenant_id AND b.comment_id = c.comment_id AND b.n <= c.n AND v.type IS NOT NULL
           ) parts GROUP BY key
         ) sums WHERE n > 0
       ), '{}') AS reaction_counts
     FROM changes c
   ),
   counted AS (
     UPDATE comments c SET reaction_counts = l.reaction_counts
     FROM (
       SELECT DISTINCT ON (tenant_id, comment_id) tenant_id, comment_id, reaction_counts FROM numbered
       WHERE changed ORDER BY tenant_id, comment_id, n DESC
     ) l
     WHERE c.tenant_id = l.tenant_id AND c.id = l.comment_id
   ),
   bumped AS (
     UPDATE discussions d SET seq = d.seq + s.events, updated_at = ${NOW}
     FROM (
       SELECT tenant_id, discussion_id, count(*) AS events FROM numbered WHERE changed GROUP BY tenant_id, discussion_id
     ) s
     WHERE d.tenant_id = s.tenant_id AND d.id = s.discussion_id
   ),
   happened AS MATERIALIZED (
     SELECT n, tenant_id, discussion_id, seq, event_id, 'reaction_toggled' AS type, 'public' AS audience,
       '{"commentId":' || to_json(comment_id) || ',"type":' || coalesce(to_json(type)::text, 'null')
         || ',"previousType":' || coalesce(to_json(previous_type)::text, 'null')
         || ',"reactionCounts":' || reaction_counts || ',"reader":' || reader || '}' AS data, actor, trace
     FROM numbered WHERE changed
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data, trace)
     SELECT tenant_id, discussion_id, seq, event_id, type, audience, ${NOW}, actor::json, data::json, trace FROM happened
   ),
   queued AS (${queueDeliveries('happened')})
   SELECT j.outcome, j.discussion_id AS "discussionId", w.type, w.seq, h.data, w.reaction_counts AS "reactionCounts",
     (SELECT count(*) FROM queued) AS deliveries
   FROM judged j LEFT JOIN numbered w ON w.n = j.n LEFT JOIN happened h ON h.n = j.n
   ORDER BY j.n`,
  )

const WRITE = {
  wait: writeAll('write_reactions', '', "'not_found'"),
  skip: writeAll('write_unlocked_reactions', 'SKIP LOCKED', "'busy'"),
} as const

/**
 * See `writeAll`. With `skip`, reactions in a locked discussion are `busy`, and delay no others.
 * The results are in the order of `rows`.
 */
export const writeReactions = (
  sql: Sql,
  rows: readonly ReactionRow[],
  now: Date,
  ifLocked: IfLocked,
): Promise<ReactionResult[]> => sql(WRITE[ifLocked], [...INPUT.map(([field]) => rows.map((row) => row[field])), now])
