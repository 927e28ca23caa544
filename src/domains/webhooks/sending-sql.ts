import type { EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { EndpointState } from '../../generated/prisma/enums.ts'

const INSERT_TEST = statement(
  'insert_test_delivery',
  `INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, body)
   VALUES ($1, $2, $3, $4, $5, $6, 0, $7)`,
)

export interface TestDelivery {
  id: Id
  endpointId: Id
  eventId: Id
  eventType: EventType
  discussionId: Id
  body: string
}

/** Queues a delivery with a body of its own: it stands in no log and on no stream. */
export const insertTestDelivery = (sql: Sql, tenantId: Id, delivery: TestDelivery): Promise<unknown> => {
  const { id, endpointId, eventId, eventType, discussionId, body } = delivery
  return sql(INSERT_TEST, [tenantId, id, endpointId, eventId, eventType, discussionId, body])
}

const COPY = statement(
  'copy_delivery',
  `INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, body, is_redelivery)
   SELECT tenant_id, $4, endpoint_id, event_id, event_type, discussion_id, seq, body, true
   FROM deliveries WHERE tenant_id = $1 AND endpoint_id = $2 AND id = $3`,
)

/** Queues the same once more, as a delivery of its own. */
export const copyDelivery = (sql: Sql, tenantId: Id, endpointId: Id, id: Id, copyId: Id): Promise<unknown> =>
  sql(COPY, [tenantId, endpointId, id, copyId])

interface Replayed {
  state: EndpointState
  eventTypes: string[]
}

// Of two replays at once the later one waits, and sees what the first has queued. The endpoint
// itself is not locked: its deliveries go on meanwhile, and it can be deleted, which then takes the
// replay with it. No writer waits for it, so that it may be kept for as long as a long replay
// takes.
const LOCK_REPLAY = {
  ...statement('lock_replay', `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`),
  locks: false,
}
const FIND_REPLAYED = statement(
  'find_replayed_endpoint',
  `SELECT state::text, event_types AS "eventTypes" FROM webhook_endpoints WHERE tenant_id = $1 AND id = $2`,
)

/** An endpoint, for the one replay at a time that it may have until the transaction ends. */
export async function lockForReplay(sql: Sql, tenantId: Id, endpointId: Id): Promise<Replayed | undefined> {
  await sql(LOCK_REPLAY, [`replay:${tenantId}:${endpointId}`])
  return (await sql<Replayed>(FIND_REPLAYED, [tenantId, endpointId]))[0]
}

// EXCEPT hashes or sorts, whatever the planner takes the tables for: joined row by row, two long
// lists would take hours. A delivery is not older than its event, but for the clocks of two
// machines: so not all of the endpoint's are looked at.
const REPLAY = {
  ...statement(
    'replay_events',
    `WITH missing AS (
     SELECT id, type, discussion_id, seq FROM events
     WHERE tenant_id = $1 AND occurred_at BETWEEN $3 AND $4 AND type = ANY($5::text[])
     EXCEPT
     SELECT event_id, event_type, discussion_id, seq FROM deliveries
     WHERE tenant_id = $1 AND endpoint_id = $2 AND id >= first_id($3::timestamptz - interval '1 hour')
       AND status <> 'failed'
   ), chosen AS (
     SELECT *, row_number() OVER (ORDER BY id) - 1 AS place FROM missing ORDER BY id LIMIT $6
   ), queued AS (
     INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, is_replay, next_attempt_at)
     SELECT $1, new_id(), $2, id, type, discussion_id, seq, true,
       now() + place * $7::float8 * interval '1 millisecond'
     FROM chosen ORDER BY place
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM queued`,
  ),
  // Its rows are new: no writer waits for them.
  locks: false,
}

export interface Replay {
  from: Date
  to: Date
  eventTypes: readonly EventType[]
  limit: number
  /** Milliseconds from one to the next. */
  paceMs: number
}

/**
 * Queues what happened in a span and neither reached the endpoint nor is on its way to it, oldest
 * first. Returns how many.
 */
export async function replayEvents(sql: Sql, tenantId: Id, endpointId: Id, replay: Replay): Promise<number> {
  const { from, to, eventTypes, limit, paceMs } = replay
  const span = [from.toISOString(), to.toISOString()]
  const rows = await sql<{ count: number }>(REPLAY, [tenantId, endpointId, ...span, eventTypes, limit, paceMs])
  return rows[0]?.count ?? 0
}
