import type { EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { PolicyOverrides } from './policy.ts'
import type { SealedSecret } from './secrets.ts'

/** A delivery that this worker holds until its lease ends. */
export interface Lease {
  leaseId: Id
  tenantId: Id
  deliveryId: Id
  endpointId: Id
  url: string
  policy: PolicyOverrides
  attemptCount: number
  eventType: EventType
  eventId: Id
  discussionId: Id
  seq: number
  /** The event's parts; null where the log no longer holds it. `actor` and `data` are JSON text, kept to the byte. */
  occurredAt: Date | null
  actor: string | null
  data: string | null
  /** Newest first; null where there is none. */
  secrets: SealedSecret[] | null
}

export interface LeaseOptions {
  leaseMs: number
  /** Attempts under way in this worker, by endpoint. */
  busy: ReadonlyMap<Id, number>
  perEndpoint: number
  limit: number
}

// `waiting` hops from endpoint to endpoint in the index of due deliveries: it costs by endpoints, not by backlog.
// Per endpoint a LATERAL takes what its free slots allow, so that one backlog never hides another's; the least busy first.
// Rows that another worker holds are skipped, not awaited. A lease whose end has passed is due again: its holder died.
const LEASE = statement(
  'lease_deliveries',
  `WITH RECURSIVE waiting AS (
     (SELECT tenant_id, endpoint_id FROM deliveries WHERE status IN ('pending', 'delivering')
      ORDER BY tenant_id, endpoint_id LIMIT 1)
     UNION ALL
     SELECT n.tenant_id, n.endpoint_id FROM waiting w CROSS JOIN LATERAL (
       SELECT tenant_id, endpoint_id FROM deliveries
       WHERE status IN ('pending', 'delivering') AND (tenant_id, endpoint_id) > (w.tenant_id, w.endpoint_id)
       ORDER BY tenant_id, endpoint_id LIMIT 1) n
   ), open AS (
     SELECT e.tenant_id, e.id, e.url, e.policy, coalesce(b.count, 0) AS busy
     FROM waiting w
     JOIN webhook_endpoints e ON e.tenant_id = w.tenant_id AND e.id = w.endpoint_id
     LEFT JOIN unnest($1::uuid[], $2::int[]) AS b(endpoint_id, count) ON b.endpoint_id = e.id
     WHERE e.state = 'verified' AND (e.circuit_open_until IS NULL OR e.circuit_open_until <= now())
     ORDER BY busy, random()
   ), due AS (
     SELECT o.tenant_id, d.id, o.url, o.policy
     FROM open o CROSS JOIN LATERAL (
       SELECT id FROM deliveries
       WHERE tenant_id = o.tenant_id AND endpoint_id = o.id
         AND status IN ('pending', 'delivering') AND next_attempt_at <= now()
       ORDER BY next_attempt_at
       LIMIT greatest(0, $3::int - o.busy)
       FOR UPDATE SKIP LOCKED) d
     LIMIT $4
   ), leased AS (
     UPDATE deliveries d
     SET status = 'delivering', lease_id = gen_random_uuid(), next_attempt_at = now() + $5::int * interval '1 millisecond'
     FROM due WHERE d.tenant_id = due.tenant_id AND d.id = due.id
     RETURNING d.*, due.url, due.policy
   )
   SELECT l.lease_id AS "leaseId", l.tenant_id AS "tenantId", l.id AS "deliveryId", l.endpoint_id AS "endpointId",
     l.url, l.policy, l.attempt_count AS "attemptCount", l.event_type AS "eventType", l.event_id AS "eventId",
     l.discussion_id AS "discussionId", l.seq, e.occurred_at AS "occurredAt",
     e.actor::text AS actor, e.data::text AS data, s.secrets
   FROM leased l
   LEFT JOIN events e ON e.tenant_id = l.tenant_id AND e.discussion_id = l.discussion_id AND e.seq = l.seq
   CROSS JOIN LATERAL (
     SELECT json_agg(json_build_object('kid', kid, 'sealed', encode(sealed, 'base64')) ORDER BY expires_at DESC NULLS FIRST) AS secrets
     FROM webhook_secrets
     WHERE tenant_id = l.tenant_id AND endpoint_id = l.endpoint_id AND (expires_at IS NULL OR expires_at > now())) s
   ORDER BY l.id`,
)

/** Takes due deliveries for `leaseMs`. Of two workers that ask at once each gets others. */
export function leaseDeliveries(sql: Sql, { leaseMs, busy, perEndpoint, limit }: LeaseOptions): Promise<Lease[]> {
  return sql<Lease>(LEASE, [[...busy.keys()], [...busy.values()], perEndpoint, limit, leaseMs])
}

const EXTEND = statement(
  'extend_leases',
  `UPDATE deliveries d SET next_attempt_at = now() + $3::int * interval '1 millisecond'
   FROM unnest($1::uuid[], $2::uuid[], $4::uuid[]) AS l(tenant_id, id, lease_id)
   WHERE d.tenant_id = l.tenant_id AND d.id = l.id AND d.lease_id = l.lease_id
   RETURNING d.lease_id AS "leaseId"`,
)

/** Moves the end of leases to `leaseMs` from now. Returns those that are still held. */
export async function extendLeases(sql: Sql, leases: readonly Lease[], leaseMs: number): Promise<Set<Id>> {
  const [tenants, ids, leaseIds] = columnsOf(leases)
  const rows = await sql<{ leaseId: Id }>(EXTEND, [tenants, ids, leaseMs, leaseIds])
  return new Set(rows.map(({ leaseId }) => leaseId))
}

const RELEASE = statement(
  'release_leases',
  `UPDATE deliveries d SET status = 'pending', lease_id = NULL, next_attempt_at = now()
   FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS l(tenant_id, id, lease_id)
   WHERE d.tenant_id = l.tenant_id AND d.id = l.id AND d.lease_id = l.lease_id`,
)

/** Gives leases back: due again at once, the attempt not counted. */
export const releaseLeases = (sql: Sql, leases: readonly Lease[]): Promise<unknown> => sql(RELEASE, columnsOf(leases))

const columnsOf = (leases: readonly Lease[]): [Id[], Id[], Id[]] => [
  leases.map(({ tenantId }) => tenantId),
  leases.map(({ deliveryId }) => deliveryId),
  leases.map(({ leaseId }) => leaseId),
]

/** How one attempt went. */
export interface Outcome {
  lease: Lease
  at: Date
  durationMs: number
  statusCode: number | null
  /** Null: delivered. */
  error: string | null
  responseSnippet: string | null
  /** Milliseconds to the next attempt; null where none follows. */
  retryInMs: number | null
}

// Endpoints are locked before deliveries, and in order: as a deletion does, and so that two workers never wait for each
// other. An endpoint is locked only where its count changes; a success at a healthy one touches its delivery alone.
const RECORD = statement(
  'record_attempts',
  `WITH outcome AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::int[], $7::int[],
       $8::text[], $9::text[], $10::int[]) WITH ORDINALITY
       AS o(tenant_id, id, lease_id, endpoint_id, at, duration_ms, status_code, error, response_snippet, retry_in_ms, ord)
   ), locked AS (
     SELECT e.tenant_id, e.id FROM webhook_endpoints e
     WHERE (e.tenant_id, e.id) IN (SELECT tenant_id, endpoint_id FROM outcome)
       AND (e.consecutive_failures > 0 OR (e.tenant_id, e.id) IN (SELECT tenant_id, endpoint_id FROM outcome WHERE error IS NOT NULL))
     ORDER BY e.tenant_id, e.id
     FOR NO KEY UPDATE
   ), held AS (
     UPDATE deliveries d SET
       status = CASE WHEN o.error IS NULL THEN 'delivered' WHEN o.retry_in_ms IS NULL THEN 'failed' ELSE 'pending' END::delivery_status,
       attempt_count = d.attempt_count + 1,
       lease_id = NULL,
       next_attempt_at = now() + o.retry_in_ms * interval '1 millisecond',
       delivered_at = CASE WHEN o.error IS NULL THEN now() END
     FROM outcome o
     WHERE (SELECT count(*) FROM locked) >= 0
       AND d.tenant_id = o.tenant_id AND d.id = o.id AND d.lease_id = o.lease_id
     RETURNING d.tenant_id, d.endpoint_id, d.id, d.attempt_count AS n, o.at, o.duration_ms, o.status_code, o.error,
       o.response_snippet, o.ord
   ), written AS (
     INSERT INTO attempts (tenant_id, delivery_id, n, at, duration_ms, status_code, error, response_snippet)
     SELECT tenant_id, id, n, at, duration_ms, status_code, error, response_snippet FROM held
   ), counts AS (
     SELECT tenant_id, endpoint_id, last_success IS NOT NULL AS reset,
       count(*) FILTER (WHERE error IS NOT NULL AND ord > coalesce(last_success, 0)) AS failures
     FROM (SELECT *, max(ord) FILTER (WHERE error IS NULL) OVER (PARTITION BY tenant_id, endpoint_id) AS last_success FROM held) h
     GROUP BY tenant_id, endpoint_id, last_success
   ), counted AS (
     UPDATE webhook_endpoints e
     SET consecutive_failures = CASE WHEN c.reset THEN 0 ELSE e.consecutive_failures END + c.failures
     FROM counts c JOIN locked l ON l.tenant_id = c.tenant_id AND l.id = c.endpoint_id
     WHERE e.tenant_id = c.tenant_id AND e.id = c.endpoint_id
   )
   SELECT count(*)::int AS count FROM held`,
)

/** Writes outcomes down, in the order of their ends. Those whose lease is no longer held change nothing. Returns how many counted. */
export async function recordAttempts(sql: Sql, outcomes: readonly Outcome[]): Promise<number> {
  const [tenants, ids, leaseIds] = columnsOf(outcomes.map(({ lease }) => lease))
  const rows = await sql<{ count: number }>(RECORD, [
    tenants,
    ids,
    leaseIds,
    outcomes.map(({ lease }) => lease.endpointId),
    outcomes.map(({ at }) => at.toISOString()),
    outcomes.map(({ durationMs }) => durationMs),
    outcomes.map(({ statusCode }) => statusCode),
    outcomes.map(({ error }) => error),
    outcomes.map(({ responseSnippet }) => responseSnippet),
    outcomes.map(({ retryInMs }) => retryInMs),
  ])
  return rows[0]?.count ?? 0
}
