import type { EventType } from '../../core/events.ts'
import { FIRST_ID, firstIdAt, type Id, LAST_ID } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { DeliveryStatus } from '../../generated/prisma/enums.ts'
import { type CommentState, commentState } from '../../core/withdrawal.ts'

const LOCK = statement(
  'lock_endpoint',
  'SELECT 1 FROM webhook_endpoints WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE',
)

/**
 * Locks an endpoint of the tenant, if there is one, until the transaction ends. Events that queue
 * deliveries to it do not wait for that.
 */
export const lockEndpoint = (sql: Sql, tenantId: Id, id: Id): Promise<unknown> => sql(LOCK, [tenantId, id])

const NOW = statement('database_now', 'SELECT now() AS now')

/**
 * The time by the database's clock: workers go by it for what is due, and for the secrets that
 * sign.
 */
export async function databaseNow(sql: Sql): Promise<Date> {
  const [row] = await sql<{ now: Date }>(NOW)
  return row?.now ?? new Date()
}

export interface AttemptRow {
  n: number
  /** As PostgreSQL writes it in JSON. */
  at: string
  durationMs: number
  statusCode: number | null
  error: string | null
  responseSnippet: string | null
}

export interface DeliveryRow {
  id: Id
  endpointId: Id
  eventId: Id
  eventType: EventType
  discussionId: Id
  seq: number
  body: string | null
  status: DeliveryStatus
  nextAttemptAt: Date | null
  createdAt: Date
  deliveredAt: Date | null
  attempts: AttemptRow[]
}

// While a delivery is leased, its `next_attempt_at` is the lease's end, which is nobody's business.
const DELIVERY = `d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId", d.event_type AS "eventType",
  d.discussion_id AS "discussionId", d.seq, d.body, d.status::text,
  CASE WHEN d.status = 'pending' THEN d.next_attempt_at END AS "nextAttemptAt",
  d.created_at AS "createdAt", d.delivered_at AS "deliveredAt",
  coalesce((SELECT json_agg(json_build_object('n', a.n, 'at', a.at, 'durationMs', a.duration_ms, 'statusCode', a.status_code,
      'error', a.error, 'responseSnippet', a.response_snippet) ORDER BY a.n)
    FROM attempts a WHERE a.tenant_id = d.tenant_id AND a.delivery_id = d.id), '[]') AS attempts`

export interface DeliveryFilter {
  status: DeliveryStatus | null
  eventType: string | null
  /** From this instant on, and before that one. */
  from: Date | null
  to: Date | null
}

const LIST_DELIVERIES = statement(
  'list_deliveries',
  `SELECT ${DELIVERY} FROM deliveries d
   WHERE d.tenant_id = $1 AND d.endpoint_id = $2 AND d.id >= $3 AND d.id < $4
     AND ($5::text IS NULL OR d.status = $5::delivery_status) AND ($6::text IS NULL OR d.event_type = $6)
     AND d.created_at >= $7 AND d.created_at < $8
   ORDER BY d.id DESC LIMIT $9`,
)

/**
 * An id is as old as its row, but for clocks and long transactions: it bounds what is looked
 * through.
 */
const SLACK_MS = 3_600_000

/** Deliveries to one endpoint, newest first, older than `after`. */
export function listDeliveries(
  sql: Sql,
  tenantId: Id,
  endpointId: Id,
  { status, eventType, from, to }: DeliveryFilter,
  after: Id | null,
  limit: number,
): Promise<DeliveryRow[]> {
  const first = from === null ? FIRST_ID : firstIdAt(new Date(from.getTime() - SLACK_MS))
  const last = to === null ? LAST_ID : firstIdAt(new Date(to.getTime() + SLACK_MS))
  const before = after !== null && after < last ? after : last
  const span = [from ?? '-infinity', to ?? 'infinity']
  return sql(LIST_DELIVERIES, [tenantId, endpointId, first, before, status, eventType, ...span, limit])
}

const COUNT_HELD = statement(
  'count_held_deliveries',
  `SELECT p.id AS "endpointId", l.held FROM unnest($2::uuid[]) AS p (id)
   CROSS JOIN LATERAL (
     SELECT count(*) AS held FROM (
       SELECT 1 FROM deliveries WHERE tenant_id = $1 AND endpoint_id = p.id AND status = 'held' LIMIT $3
     ) AS bounded
   ) l`,
)

/** How many deliveries each of several endpoints holds, counted no further than `limit`. */
export const countHeld = (
  sql: Sql,
  tenantId: Id,
  endpointIds: readonly Id[],
  limit: number,
): Promise<{ endpointId: Id; held: number }[]> => sql(COUNT_HELD, [tenantId, endpointIds, limit])

/** A delivery with its event; the event's parts are null where the log no longer holds it. */
export interface DeliveryWithEvent extends DeliveryRow {
  occurredAt: Date | null
  actor: string | null
  data: string | null
  commentNow: CommentState | null
}

const FIND_DELIVERY = statement(
  'find_delivery',
  `SELECT ${DELIVERY}, v.occurred_at AS "occurredAt", v.actor::text AS actor, v.data::text AS data,
     ${commentState('v')} AS "commentNow"
   FROM deliveries d
   JOIN webhook_endpoints e ON e.tenant_id = d.tenant_id AND e.id = d.endpoint_id
   LEFT JOIN events v ON v.tenant_id = d.tenant_id AND v.discussion_id = d.discussion_id AND v.seq = d.seq
   WHERE d.tenant_id = $1 AND d.endpoint_id = $2 AND d.id = $3`,
)

export const findDelivery = async (
  sql: Sql,
  tenantId: Id,
  endpointId: Id,
  id: Id,
): Promise<DeliveryWithEvent | undefined> =>
  (await sql<DeliveryWithEvent>(FIND_DELIVERY, [tenantId, endpointId, id]))[0]
