import type { EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { type CommentState, commentState } from '../../core/withdrawal.ts'
import type { DeliveryStatus } from '../../generated/prisma/enums.ts'

/**
 * Locks an endpoint of the tenant, if there is one, until the transaction ends. Events that queue
 * deliveries to it do not wait for this lock.
 */
export const lockEndpoint = statement(
  'lock_endpoint',
  'SELECT 1 FROM webhook_endpoints WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE',
).run<[tenantId: Id, id: Id]>()

const NOW = statement('database_now', 'SELECT now() AS now')

/** The database's time: by its clock, workers decide what is due and which secrets sign. */
export async function databaseNow(sql: Sql): Promise<Date> {
  const [row] = await sql<{ now: Date }>(NOW)
  return row?.now ?? new Date()
}

/** How many deliveries each of several endpoints holds, counted up to `limit`. */
export const countHeld = statement(
  'count_held_deliveries',
  `SELECT p.id AS "endpointId", l.held FROM unnest($2::uuid[]) AS p (id)
   CROSS JOIN LATERAL (
     SELECT count(*) AS held FROM (
       SELECT 1 FROM deliveries WHERE tenant_id = $1 AND endpoint_id = p.id AND status = 'held' LIMIT $3
     ) AS bounded
   ) l`,
).rows<[tenantId: Id, endpointIds: readonly Id[], limit: number], { endpointId: Id; held: number }>()

// Each has an index of its own, which PostgreSQL uses only for a status that is part of the text.
const list = <Status extends DeliveryStatus>(status: Status) =>
  statement(
    `list_${status}_deliveries`,
    `SELECT id FROM deliveries
     WHERE tenant_id = $1 AND endpoint_id = $2 AND status = '${status}' AND id >= $3 AND id < $4
       AND ($5::timestamptz IS NULL OR created_at >= $5) AND ($6::timestamptz IS NULL OR created_at < $6)
       AND ($7::text IS NULL OR event_type = $7)
     ORDER BY id DESC LIMIT $8`,
  )

const LIST = { failed: list('failed'), held: list('held'), delivering: list('delivering') } as const

/** A status that few of an endpoint's deliveries may have. */
export type RareStatus = keyof typeof LIST

export const isRare = (status: DeliveryStatus): status is RareStatus => Object.hasOwn(LIST, status)

export interface DeliveryFilter {
  endpointId: Id
  /** Null for any. */
  eventType: string | null
  /** Inclusive. */
  from: Date | null
  /** Exclusive. */
  to: Date | null
  ids: { gte: Id; lt: Id }
}

/** The ids of the newest deliveries of a status that pass the filter, newest first. */
export const listDeliveryIds = async (
  sql: Sql,
  tenantId: Id,
  status: RareStatus,
  { endpointId, eventType, from, to, ids }: DeliveryFilter,
  limit: number,
): Promise<Id[]> => {
  const rows = await sql<{ id: Id }>(LIST[status], [tenantId, endpointId, ids.gte, ids.lt, from, to, eventType, limit])
  return rows.map(({ id }) => id)
}

/** An event of the log: its JSON is text, so that its bytes do not change. */
export interface EventRow {
  eventId: Id
  eventType: EventType
  discussionId: Id
  seq: number
  occurredAt: Date
  actor: string
  data: string
  commentNow: CommentState | null
}

const FIND_EVENTS = statement(
  'events_of_deliveries',
  `SELECT v.id AS "eventId", v.type AS "eventType", v.discussion_id AS "discussionId", v.seq,
     v.occurred_at AS "occurredAt", v.actor::text AS actor, v.data::text AS data, ${commentState('v')} AS "commentNow"
   FROM unnest($2::uuid[], $3::bigint[]) AS p (discussion_id, seq)
   JOIN events v ON v.tenant_id = $1 AND v.discussion_id = p.discussion_id AND v.seq = p.seq`,
)

/**
 * The events at these positions of the log, in any order, without those that are no longer stored.
 */
export const findEvents = (
  sql: Sql,
  tenantId: Id,
  places: readonly { discussionId: Id; seq: bigint }[],
): Promise<EventRow[]> =>
  sql(FIND_EVENTS, [tenantId, places.map(({ discussionId }) => discussionId), places.map(({ seq }) => seq)])
