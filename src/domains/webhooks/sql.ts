import type { EventType } from '../../core/events.ts'
import { FIRST_ID, firstIdAt, type Id, LAST_ID } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { DeliveryStatus, EndpointState } from '../../generated/prisma/enums.ts'
import type { PolicyOverrides } from './policy.ts'

/** An endpoint as it stands in the database, with its secrets' public parts, newest first. */
export interface EndpointRow {
  id: Id
  url: string
  description: string | null
  eventTypes: string[]
  state: EndpointState
  disabledReason: string | null
  consecutiveFailures: number
  circuitOpenUntil: Date | null
  policy: PolicyOverrides
  challenge: string | null
  verificationDueAt: Date | null
  lastVerificationAt: Date | null
  lastVerificationOk: boolean | null
  lastVerificationError: string | null
  createdAt: Date
  updatedAt: Date
  /** Times as PostgreSQL writes them in JSON. */
  secrets: { kid: string; createdAt: string; expiresAt: string | null }[]
}

const ENDPOINT = `e.id, e.url, e.description, e.event_types AS "eventTypes", e.state::text, e.disabled_reason AS "disabledReason",
  e.consecutive_failures AS "consecutiveFailures", e.circuit_open_until AS "circuitOpenUntil", e.policy, e.challenge,
  e.verification_due_at AS "verificationDueAt", e.last_verification_at AS "lastVerificationAt",
  e.last_verification_ok AS "lastVerificationOk", e.last_verification_error AS "lastVerificationError",
  e.created_at AS "createdAt", e.updated_at AS "updatedAt",
  coalesce((SELECT json_agg(json_build_object('kid', s.kid, 'createdAt', s.created_at, 'expiresAt', s.expires_at)
      ORDER BY s.expires_at DESC NULLS FIRST, s.kid)
    FROM webhook_secrets s
    WHERE s.tenant_id = e.tenant_id AND s.endpoint_id = e.id AND (s.expires_at IS NULL OR s.expires_at > now())),
    '[]') AS secrets`

const FIND = statement(
  'find_endpoint',
  `SELECT ${ENDPOINT} FROM webhook_endpoints e WHERE e.tenant_id = $1 AND e.id = $2`,
)

export const findEndpoint = async (sql: Sql, tenantId: Id, id: Id): Promise<EndpointRow | undefined> =>
  (await sql<EndpointRow>(FIND, [tenantId, id]))[0]

const LOCK = statement(
  'lock_endpoint',
  'SELECT 1 FROM webhook_endpoints WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE',
)

/**
 * An endpoint of the tenant, locked until the transaction ends. Events that queue deliveries to it do not wait for that. It
 * is read by a statement of its own: one that had to wait for the lock would show the secrets as they were before.
 */
export async function lockEndpoint(sql: Sql, tenantId: Id, id: Id): Promise<EndpointRow | undefined> {
  await sql(LOCK, [tenantId, id])
  return findEndpoint(sql, tenantId, id)
}

const LIST = statement(
  'list_endpoints',
  `SELECT ${ENDPOINT} FROM webhook_endpoints e
   WHERE e.tenant_id = $1 AND ($2::uuid IS NULL OR e.id < $2) ORDER BY e.id DESC LIMIT $3`,
)

/** Endpoints of the tenant, newest first, older than `after`. */
export const listEndpoints = (sql: Sql, tenantId: Id, after: Id | null, limit: number): Promise<EndpointRow[]> =>
  sql(LIST, [tenantId, after, limit])

export type NewEndpoint = Pick<EndpointRow, 'id' | 'url' | 'description' | 'eventTypes' | 'policy' | 'challenge'>

const INSERT = statement(
  'insert_endpoint',
  `INSERT INTO webhook_endpoints (tenant_id, id, url, description, event_types, policy, challenge, verification_due_at)
   VALUES ($1, $2, $3, $4, $5::text[], $6::jsonb, $7, now())`,
)

export const insertEndpoint = (sql: Sql, tenantId: Id, endpoint: NewEndpoint): Promise<unknown> => {
  const { id, url, description, eventTypes, policy, challenge } = endpoint
  return sql(INSERT, [tenantId, id, url, description, eventTypes, JSON.stringify(policy), challenge])
}

const INSERT_SECRET = statement(
  'insert_webhook_secret',
  'INSERT INTO webhook_secrets (tenant_id, endpoint_id, kid, sealed) VALUES ($1, $2, $3, $4)',
)

export const insertSecret = (
  sql: Sql,
  tenantId: Id,
  endpointId: Id,
  kid: string,
  sealed: Uint8Array,
): Promise<unknown> => sql(INSERT_SECRET, [tenantId, endpointId, kid, sealed])

const EXPIRE_SECRET = statement(
  'expire_webhook_secret',
  `UPDATE webhook_secrets SET expires_at = now() + interval '24 hours'
   WHERE tenant_id = $1 AND endpoint_id = $2 AND expires_at IS NULL`,
)

/** The present secret is the previous one from now on, for 24 h (specification, section 2.2). */
export const expireSecret = (sql: Sql, tenantId: Id, endpointId: Id): Promise<unknown> =>
  sql(EXPIRE_SECRET, [tenantId, endpointId])

const DELETE_EXPIRING = statement(
  'delete_expiring_webhook_secrets',
  'DELETE FROM webhook_secrets WHERE tenant_id = $1 AND endpoint_id = $2 AND expires_at IS NOT NULL',
)

/** Deletes all secrets but the present one. */
export const deleteExpiringSecrets = (sql: Sql, tenantId: Id, endpointId: Id): Promise<unknown> =>
  sql(DELETE_EXPIRING, [tenantId, endpointId])

const UPDATE = statement(
  'update_endpoint',
  `UPDATE webhook_endpoints SET url = $3, description = $4, event_types = $5::text[], policy = $6::jsonb, updated_at = now()
   WHERE tenant_id = $1 AND id = $2`,
)

export const updateEndpoint = (sql: Sql, tenantId: Id, endpoint: Omit<NewEndpoint, 'challenge'>): Promise<unknown> => {
  const { id, url, description, eventTypes, policy } = endpoint
  return sql(UPDATE, [tenantId, id, url, description, eventTypes, JSON.stringify(policy)])
}

const CHALLENGE = statement(
  'challenge_endpoint',
  `UPDATE webhook_endpoints
   SET state = CASE WHEN state = 'disabled' THEN state ELSE 'unverified' END,
     challenge = $3, verification_due_at = now(), updated_at = now()
   WHERE tenant_id = $1 AND id = $2`,
)

/** Makes a handshake due: unverified, unless disabled. A new challenge takes the place of the one under way. */
export const challengeEndpoint = (sql: Sql, tenantId: Id, id: Id, challenge: string): Promise<unknown> =>
  sql(CHALLENGE, [tenantId, id, challenge])

const FORGET_RECEIVER = statement(
  'forget_receiver',
  `UPDATE webhook_endpoints
   SET consecutive_failures = CASE WHEN state = 'disabled' THEN consecutive_failures ELSE 0 END, circuit_open_until = NULL,
     last_verification_at = NULL, last_verification_ok = NULL, last_verification_error = NULL
   WHERE tenant_id = $1 AND id = $2`,
)

/** For another URL: nothing vouches for it yet, and what failed was another receiver. */
export const forgetReceiver = (sql: Sql, tenantId: Id, id: Id): Promise<unknown> => sql(FORGET_RECEIVER, [tenantId, id])

const ENABLE = statement(
  'enable_endpoint',
  `UPDATE webhook_endpoints
   SET state = $3::endpoint_state, disabled_reason = NULL, consecutive_failures = 0, circuit_open_until = NULL,
     recovered_at = now(), updated_at = now()
   WHERE tenant_id = $1 AND id = $2`,
)

/** Puts a disabled endpoint on again. */
export const enableEndpoint = (sql: Sql, tenantId: Id, id: Id, state: EndpointState): Promise<unknown> =>
  sql(ENABLE, [tenantId, id, state])

const DELETE = statement('delete_endpoint', 'DELETE FROM webhook_endpoints WHERE tenant_id = $1 AND id = $2')

/** Deletes an endpoint with its secrets, deliveries and attempts. */
export const deleteEndpoint = (sql: Sql, tenantId: Id, id: Id): Promise<unknown> => sql(DELETE, [tenantId, id])

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

/** An id is as old as its row, but for clocks and long transactions: it bounds what is looked through. */
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
}

const FIND_DELIVERY = statement(
  'find_delivery',
  `SELECT ${DELIVERY}, v.occurred_at AS "occurredAt", v.actor::text AS actor, v.data::text AS data
   FROM deliveries d
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
