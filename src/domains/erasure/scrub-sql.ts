import type { Id } from '../../core/ids.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { columns, eachOf } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import type { ScrubbedEvent } from './scrub.ts'

/** A range of a discussion's events: after `after`, up to and including `upTo`. */
export interface Stretch {
  tenantId: Id
  discussionId: Id
  after: number
  upTo: number
}

export interface NamingEvent {
  seq: number
  actor: string
  data: string
  isOnTheirComment: boolean
  /** Whether they are its recipient. */
  isToThem: boolean
}

// Searches a range of the primary key as text: an index on the named readers would cost every
// comment something for the sake of rare erasures.
const NAMING = statement(
  'events_naming_reader',
  `SELECT * FROM (
     SELECT e.seq, e.actor::text AS actor, e.data::text AS data,
       e.type = 'reaction_toggled' AND EXISTS (
         SELECT 1 FROM comments c
         WHERE c.tenant_id = $1 AND c.id = (e.data->>'commentId')::uuid AND c.author_id = $5::uuid) AS "isOnTheirComment",
       e.recipient_id IS NOT DISTINCT FROM $5::uuid AS "isToThem"
     FROM events e WHERE e.tenant_id = $1 AND e.discussion_id = $2 AND e.seq > $3 AND e.seq <= $4
   ) stretch
   WHERE "isOnTheirComment" OR "isToThem" OR strpos(actor, $5::text) > 0 OR strpos(data, $5::text) > 0
   ORDER BY seq`,
)

/**
 * Events of a range that name the reader, are to them, or are about a reaction to a comment of
 * theirs.
 */
export const selectNamingEvents = (sql: Sql, readerId: Id, at: Stretch): Promise<NamingEvent[]> =>
  sql(NAMING, [at.tenantId, at.discussionId, at.after, at.upTo, readerId])

const REWRITE = statement(
  'rewrite_events',
  `WITH counted AS (
     UPDATE discussions SET scrubs = scrubs + 1 WHERE tenant_id = $1 AND id = $2
   )
   UPDATE events e SET actor = t.actor::json, data = t.data::json,
     audience = CASE WHEN t.has_lost_recipient AND e.audience = 'recipient' THEN 'tenant' ELSE e.audience END,
     recipient_id = CASE WHEN t.has_lost_recipient THEN NULL ELSE e.recipient_id END
   FROM unnest($3::bigint[], $4::text[], $5::text[], $6::boolean[]) AS t(seq, actor, data, has_lost_recipient)
   WHERE e.${eachOf('events', '$3::bigint[]', 'tenant_id = $1 AND discussion_id = $2 AND seq = k.key')} AND e.seq = t.seq
   RETURNING e.id`,
)

/** Replaces the texts of events. Returns the events' ids. */
export async function rewriteEvents(
  sql: Sql,
  { tenantId, discussionId }: Pick<Stretch, 'tenantId' | 'discussionId'>,
  events: readonly (ScrubbedEvent & { seq: number })[],
): Promise<Id[]> {
  const rows = await sql<{ id: Id }>(REWRITE, [
    tenantId,
    discussionId,
    ...columns(events, 'seq', 'actor', 'data', 'hasLostRecipient'),
  ])
  return rows.map(({ id }) => id)
}

// A worker that is sending the old text loses its lease, and stops at its next heartbeat: its
// outcome is not recorded, and the new text is sent instead. That waits until the lease would have
// ended, so that two attempts never overlap.
const RECALL = statement(
  'recall_deliveries',
  `WITH theirs AS MATERIALIZED (
     SELECT id, status FROM deliveries WHERE tenant_id = $1 AND event_id = ANY($2::uuid[]) ORDER BY id FOR NO KEY UPDATE
   ),
   recalled AS (
     UPDATE deliveries d SET lease_id = gen_random_uuid()
     FROM theirs t WHERE t.status = 'delivering' AND d.tenant_id = $1 AND d.id = t.id
   )
   SELECT id FROM theirs`,
)

/**
 * Takes deliveries of events back from workers, and deletes the receivers' answers, which may quote
 * the text. Two statements, because the second must see what was recorded while the first waited.
 */
export async function recallDeliveries(sql: TxSql, tenantId: Id, eventIds: readonly Id[]): Promise<void> {
  const deliveries = await sql<{ id: Id }>(RECALL, [tenantId, eventIds])
  if (deliveries.length === 0) return
  const where = { tenantId, deliveryId: { in: deliveries.map(({ id }) => id) }, responseSnippet: { not: null } }
  await sql.prisma.attempt.updateMany({ where, data: { responseSnippet: null } })
}
