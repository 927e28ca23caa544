import type { EventType } from '../../../core/events.ts'
import type { Id } from '../../../core/ids.ts'
import type { Sql, TxSql } from '../../../core/database/database.ts'
import { statement } from '../../../core/database/statements.ts'
import { commentIdIn } from '../../../core/withdrawal.ts'
import type { WebhookEndpoint } from '../../../generated/prisma/client.ts'
import { endpointWhere } from '../endpoint.ts'

export interface TestDelivery {
  id: Id
  endpointId: Id
  eventId: Id
  eventType: EventType
  discussionId: Id
  body: string
}

/** Queues a delivery with its own body, which is in no log and on no stream. */
export const insertTestDelivery = ({ prisma }: TxSql, tenantId: Id, delivery: TestDelivery): Promise<unknown> =>
  prisma.delivery.createMany({ data: { tenantId, ...delivery, seq: 0 } })

const COPY = statement(
  'copy_deliveries',
  `INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, comment_id, body, is_redelivery)
   SELECT d.tenant_id, c.copy_id, d.endpoint_id, d.event_id, d.event_type, d.discussion_id, d.seq, d.comment_id, d.body, true
   FROM unnest($3::uuid[], $4::uuid[]) AS c (id, copy_id)
   CROSS JOIN LATERAL (
     SELECT * FROM deliveries WHERE tenant_id = $1 AND endpoint_id = $2 AND id = c.id LIMIT 1
   ) d`,
)

/** Queues a copy of each of these deliveries, under the id at its place in `copyIds`. */
export const copyDeliveries = (
  sql: Sql,
  tenantId: Id,
  endpointId: Id,
  ids: readonly Id[],
  copyIds: readonly Id[],
): Promise<unknown> => sql(COPY, [tenantId, endpointId, ids, copyIds])

type Replayed = Pick<WebhookEndpoint, 'state' | 'eventTypes' | 'discussionIds'>

// The later of two replays waits, and sees what the first has queued. The endpoint itself is not
// locked: its deliveries continue, and it can be deleted, which removes the replay too. No writer
// waits for this lock, so it may be held for the whole replay.
const LOCK_REPLAY = {
  ...statement('lock_replay', `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`),
  locks: false,
}

/** An endpoint, locked against other replays until the transaction ends. */
export async function lockForReplay(sql: TxSql, tenantId: Id, endpointId: Id): Promise<Replayed | null> {
  await sql(LOCK_REPLAY, [`replay:${tenantId}:${endpointId}`])
  const select = { state: true, eventTypes: true, discussionIds: true } as const
  return sql.prisma.webhookEndpoint.findUnique({ where: endpointWhere(tenantId, endpointId), select })
}

// EXCEPT hashes or sorts, whatever the planner's estimates: a nested loop over two long lists
// would take hours. A delivery is not older than its event, except for clock differences, so only
// part of the endpoint's deliveries are read.
const REPLAY = {
  ...statement(
    'replay_events',
    `WITH missing AS (
     SELECT id, type, discussion_id, seq FROM events
     WHERE tenant_id = $1 AND occurred_at BETWEEN $3 AND $4 AND type = ANY($5::text[]) AND audience <> 'own'
       AND (cardinality($8::uuid[]) = 0 OR discussion_id = ANY($8))
     EXCEPT
     SELECT event_id, event_type, discussion_id, seq FROM deliveries
     WHERE tenant_id = $1 AND endpoint_id = $2 AND id >= first_id($3::timestamptz - interval '1 hour')
       AND status <> 'failed'
   ), chosen AS (
     SELECT *, row_number() OVER (ORDER BY id) - 1 AS place FROM missing ORDER BY id LIMIT $6
   ), queued AS (
     INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, comment_id, is_replay, next_attempt_at)
     SELECT $1, new_id(), $2, c.id, c.type, c.discussion_id, c.seq, v.comment_id, true,
       now() + place * $7::float8 * interval '1 millisecond'
     FROM chosen c LEFT JOIN LATERAL (
       SELECT ${commentIdIn('data')} AS comment_id FROM events
       WHERE tenant_id = $1 AND discussion_id = c.discussion_id AND seq = c.seq LIMIT 1
     ) v ON true
     ORDER BY place
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM queued`,
  ),
  // Its rows are new, so no writer waits for them.
  locks: false,
}

export interface Replay {
  from: Date
  to: Date
  eventTypes: readonly EventType[]
  /** Only events of these discussions; none: of all. */
  discussionIds: readonly Id[]
  limit: number
  /** Milliseconds between two deliveries. */
  paceMs: number
}

/**
 * Queues the events of a period that the endpoint has not received and that are not queued for it,
 * oldest first. Returns how many.
 */
export async function replayEvents(sql: Sql, tenantId: Id, endpointId: Id, replay: Replay): Promise<number> {
  const { from, to, eventTypes, discussionIds, limit, paceMs } = replay
  const span = [from.toISOString(), to.toISOString()]
  const parameters = [tenantId, endpointId, ...span, eventTypes, limit, paceMs, discussionIds]
  const rows = await sql<{ count: number }>(REPLAY, parameters)
  return rows[0]?.count ?? 0
}
