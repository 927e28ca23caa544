import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { queueDeliveries } from '../discussions/append-events.ts'
import { banIn } from '../readers/bans.ts'

/** `toggle`: the same type again removes it. `set` and `remove` may be repeated without harm. */
export type ReactionMode = 'toggle' | 'set' | 'remove'

export interface ReactionWrite {
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
  now: Date
}

export interface ReactionResult {
  /** `unavailable`: the reader's record is gone, see `asReader`. */
  outcome: 'written' | 'not_found' | 'unavailable' | 'discussion_archived' | 'discussion_locked' | 'reader_banned'
  discussionId: Id | null
  type: string | null
  reactionCounts: Record<string, number> | null
  /** Null where nothing changed, and so nothing was said. */
  seq: number | null
  /** The event's data, JSON text. */
  data: string | null
  deliveries: number
}

/**
 * Changes what a reader holds on a comment, in one statement: reaction, counts, number, event,
 * deliveries. The reader's own row is the place where concurrent toggles of one reader meet: ON
 * CONFLICT works on its newest version, whatever the statement's snapshot says. Locks in the order
 * discussion, comment, reaction.
 */
const WRITE = statement(
  'write_reaction',
  `WITH target AS MATERIALIZED (
     SELECT c.tenant_id, c.id, c.discussion_id, c.status, d.state
     FROM discussions d JOIN comments c ON c.tenant_id = d.tenant_id AND c.discussion_id = d.id
     WHERE c.tenant_id = $1 AND c.id = $2
     FOR NO KEY UPDATE OF d, c
   ),
   judged AS MATERIALIZED (
     SELECT t.*,
       CASE
         WHEN t.status <> 'approved' THEN 'not_found'
         WHEN r.id IS NULL THEN 'unavailable'
         WHEN t.state = 'archived' THEN 'discussion_archived'
         WHEN t.state = 'locked' THEN 'discussion_locked'
         WHEN ${banIn('r', '$9')} = 'open' THEN 'reader_banned'
         ELSE 'written'
       END AS outcome
     FROM target t LEFT JOIN readers r ON r.tenant_id = t.tenant_id AND r.id = $3 AND r.erasing_at IS NULL
   ),
   held AS (
     INSERT INTO reactions AS r (tenant_id, comment_id, reader_id, type, previous_type, updated_at)
     SELECT tenant_id, id, $3, CASE WHEN $4 = 'remove' THEN NULL ELSE $5 END, NULL, $9 FROM judged WHERE outcome = 'written'
     ON CONFLICT (tenant_id, comment_id, reader_id) DO UPDATE SET
       type = CASE WHEN $4 = 'toggle' AND r.type = excluded.type THEN NULL ELSE excluded.type END,
       previous_type = r.type,
       updated_at = $9
     RETURNING type, previous_type, type IS DISTINCT FROM previous_type AS changed
   ),
   counted AS (
     UPDATE comments c SET reaction_counts = coalesce((
       SELECT jsonb_object_agg(key, n) FROM (
         SELECT key, sum(n) AS n FROM (
           SELECT key, value::int AS n FROM jsonb_each_text(c.reaction_counts)
           UNION ALL SELECT h.type, 1 WHERE h.type IS NOT NULL
           UNION ALL SELECT h.previous_type, -1 WHERE h.previous_type IS NOT NULL
         ) parts GROUP BY key
       ) sums WHERE n > 0
     ), '{}')
     FROM held h
     WHERE h.changed AND c.tenant_id = $1 AND c.id = $2
     RETURNING c.tenant_id, c.discussion_id, c.reaction_counts
   ),
   bumped AS (
     UPDATE discussions d SET seq = d.seq + 1, updated_at = $9
     FROM counted c WHERE d.tenant_id = c.tenant_id AND d.id = c.discussion_id
     RETURNING d.seq
   ),
   happened AS MATERIALIZED (
     SELECT c.tenant_id, c.discussion_id, b.seq, $6::uuid AS event_id, 'reaction_toggled' AS type,
       '{"commentId":' || to_json($2::uuid) || ',"type":' || coalesce(to_json(h.type)::text, 'null')
         || ',"previousType":' || coalesce(to_json(h.previous_type)::text, 'null')
         || ',"reactionCounts":' || c.reaction_counts || ',"reader":' || $8 || '}' AS data
     FROM counted c, bumped b, held h
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data, trace)
     SELECT tenant_id, discussion_id, seq, event_id, type, 'public', $9, $7::json, data::json, $10 FROM happened
   ),
   queued AS (${queueDeliveries('happened')})
   SELECT j.outcome, j.discussion_id AS "discussionId", h.type, w.seq, w.data,
     coalesce(c.reaction_counts, (SELECT reaction_counts FROM comments WHERE tenant_id = $1 AND id = $2)) AS "reactionCounts",
     (SELECT count(*) FROM queued) AS deliveries
   FROM judged j LEFT JOIN held h ON true LEFT JOIN counted c ON true LEFT JOIN happened w ON true`,
)

/** See WRITE. */
export async function writeReaction(sql: Sql, write: ReactionWrite): Promise<ReactionResult> {
  const { tenantId, commentId, readerId, mode, type, eventId, actor, reader, now } = write
  const params = [tenantId, commentId, readerId, mode, type, eventId, actor, reader, now, sql.trace ?? null]
  const [result] = await sql<ReactionResult>(WRITE, params)
  if (result !== undefined) return result
  return {
    outcome: 'not_found',
    discussionId: null,
    type: null,
    reactionCounts: null,
    seq: null,
    data: null,
    deliveries: 0,
  }
}
