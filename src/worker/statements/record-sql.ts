import { type AuditAction, insertAuditEntries } from '../../core/audit.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { AttemptHeaders } from '../../domains/webhooks/attempt-headers.ts'
import { keyColumns, type Lease } from './lease-sql.ts'
import { DISABLE_THRESHOLD, policyValue } from './policy-sql.ts'

/** The result of one attempt. */
export interface Outcome {
  lease: Lease
  at: Date
  durationMs: number
  statusCode: number | null
  /** Null: delivered. */
  error: string | null
  responseSnippet: string | null
  /** Null if nothing was sent. */
  headers: AttemptHeaders | null
  /** Milliseconds to the next attempt; null if there is none. */
  retryInMs: number | null
  /** For how long the receiver asks for no deliveries, which is no failure; null if it does not. */
  pauseMs: number | null
  /** False if nothing was sent, for a reason on our side: it says nothing about the endpoint. */
  wasSent: boolean
}

/** The effects of recorded outcomes. */
export interface Recorded {
  /** Outcomes whose lease was still held. */
  count: number
  /** Endpoints of these outcomes that have more deliveries due. */
  waiting: Pick<Lease, 'tenantId' | 'endpointId'>[]
}

/** The status with which a receiver ends its subscription. */
const GONE = 410

const FAILING: AuditAction = 'webhook.failing'
const DISABLE: AuditAction = 'webhook.disable'

// Endpoints are locked before deliveries, and in order, so that two workers never wait for each
// other. An endpoint is locked only where its count changes; a success at a healthy one touches its
// delivery alone. What was sent to another URL than the present one says nothing of the endpoint.
// The same holds for what was leased before an admin last enabled it. A handshake does not count as
// enabling: one every few seconds would keep an endpoint that fails from ever being disabled.
// `(SELECT count(*) FROM locked) >= 0` is always true: to know it, PostgreSQL takes all locks of
// endpoints before it updates the first delivery.
// A receiver that asks for a pause has not failed; but where the circuit is half open, it stays
// open.
// In `verdict` only failures since the last success count; `base` is what there was before them.
const RECORD = statement(
  'record_attempts',
  `WITH outcome AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::int[], $7::int[],
       $8::text[], $9::text[], $10::int[], $11::text[], $12::boolean[], $13::int[], $14::jsonb[], $15::timestamptz[])
       WITH ORDINALITY
       AS o(tenant_id, id, lease_id, endpoint_id, at, duration_ms, status_code, error, response_snippet, retry_in_ms, url,
         was_sent, pause_ms, headers, counts_from, ord)
   ), locked AS (
     SELECT e.tenant_id, e.id, e.url, e.counts_from, e.state, e.consecutive_failures,
       e.circuit_open_until IS NOT NULL AS tripped,
       ${policyValue('breakerThreshold')} AS breaker_threshold, ${policyValue('breakerCooldownMs')} AS cooldown_ms,
       ${DISABLE_THRESHOLD} AS disable_threshold
     FROM webhook_endpoints e JOIN tenants t ON t.id = e.tenant_id
     WHERE (e.tenant_id, e.id) IN (SELECT tenant_id, endpoint_id FROM outcome)
       AND (e.consecutive_failures > 0 OR e.circuit_open_until IS NOT NULL
         OR (e.tenant_id, e.id) IN (SELECT tenant_id, endpoint_id FROM outcome WHERE error IS NOT NULL))
     ORDER BY e.tenant_id, e.id
     FOR NO KEY UPDATE OF e
   ), recorded AS (
     UPDATE deliveries d SET
       status = CASE WHEN o.error IS NULL THEN 'delivered' WHEN o.retry_in_ms IS NULL THEN 'failed' ELSE 'pending' END::delivery_status,
       attempt_count = d.attempt_count + 1,
       last_answer = least(coalesce(o.status_code, 0) / 100, 5),
       lease_id = NULL,
       next_attempt_at = now() + o.retry_in_ms * interval '1 millisecond',
       delivered_at = CASE WHEN o.error IS NULL THEN now() END
     FROM outcome o
     WHERE (SELECT count(*) FROM locked) >= 0
       AND d.tenant_id = o.tenant_id AND d.id = o.id AND d.lease_id = o.lease_id
     RETURNING d.tenant_id, d.endpoint_id, d.id, d.attempt_count AS n, o.at, o.duration_ms, o.status_code, o.error,
       o.response_snippet, o.headers, o.url, o.counts_from, o.was_sent, o.pause_ms, o.ord
   ), written AS (
     INSERT INTO attempts (tenant_id, delivery_id, n, at, duration_ms, status_code, error, response_snippet, headers)
     SELECT tenant_id, id, n, at, duration_ms, status_code, error, response_snippet, headers FROM recorded
   ), counted AS (
     SELECT tenant_id, endpoint_id, last_success IS NOT NULL AS reset,
       count(*) FILTER (WHERE error IS NOT NULL AND pause_ms IS NULL AND ord > coalesce(last_success, 0))::int AS failures,
       max(pause_ms) * interval '1 millisecond' AS pause, bool_or(status_code IS NOT DISTINCT FROM ${GONE}) AS gone,
       max(at) FILTER (WHERE error IS NOT NULL) AS failed_at,
       (array_agg(error ORDER BY ord DESC) FILTER (WHERE error IS NOT NULL))[1] AS error
     FROM (
       SELECT r.*, max(ord) FILTER (WHERE error IS NULL) OVER (PARTITION BY r.tenant_id, r.endpoint_id) AS last_success
       FROM recorded r JOIN locked l ON l.tenant_id = r.tenant_id AND l.id = r.endpoint_id
       WHERE r.was_sent AND r.url = l.url AND r.counts_from IS NOT DISTINCT FROM l.counts_from) h
     GROUP BY tenant_id, endpoint_id, last_success
   ), verdict AS (
     SELECT l.*, c.reset, c.pause, c.gone, c.failed_at, c.error, v.base, v.base + c.failures AS total,
       c.failures > 0 AND v.base + c.failures >= l.breaker_threshold
         OR (c.failures > 0 OR c.pause IS NOT NULL) AND l.tripped AND NOT c.reset AS opens,
       (c.gone OR c.failures > 0 AND v.base + c.failures >= l.disable_threshold) AND l.state = 'verified' AS disables
     FROM counted c JOIN locked l ON l.tenant_id = c.tenant_id AND l.id = c.endpoint_id
     CROSS JOIN LATERAL (SELECT CASE WHEN c.reset THEN 0 ELSE l.consecutive_failures END AS base) v
   ), judged AS (
     UPDATE webhook_endpoints e SET
       consecutive_failures = v.total,
       circuit_open_until = CASE
         WHEN v.opens THEN now() + greatest(v.cooldown_ms * interval '1 millisecond', v.pause)
         WHEN NOT v.reset THEN e.circuit_open_until END,
       paused_until = greatest(e.paused_until, now() + v.pause),
       last_failure_at = coalesce(v.failed_at, e.last_failure_at),
       last_failure = coalesce(v.error, e.last_failure),
       recovered_at = CASE WHEN v.reset AND v.tripped THEN now() ELSE e.recovered_at END,
       state = CASE WHEN v.disables THEN 'disabled' ELSE e.state END,
       disabled_reason = CASE WHEN NOT v.disables THEN e.disabled_reason WHEN v.gone THEN 'gone'
         ELSE v.total || ' attempts in a row have failed' END
     FROM verdict v
     WHERE e.tenant_id = v.tenant_id AND e.id = v.id
   ), audited AS (${insertAuditEntries(`
     SELECT v.tenant_id, new_id(), 'system', NULL::uuid, n.action, 'webhook_endpoint', v.id::text, n.before, n.after,
       NULL::uuid, now()
     FROM verdict v CROSS JOIN LATERAL (
       SELECT '${FAILING}' AS action, NULL::jsonb AS before,
         jsonb_build_object('consecutiveFailures', v.total, 'disableThreshold', v.disable_threshold, 'percent', percent) AS after
       FROM unnest(ARRAY[50, 70, 90]) AS percent
       WHERE NOT v.disables AND v.base * 100 < v.disable_threshold * percent AND v.total * 100 >= v.disable_threshold * percent
       UNION ALL
       SELECT '${DISABLE}', jsonb_build_object('state', 'verified'),
         jsonb_build_object('state', 'disabled', 'consecutiveFailures', v.total)
           || CASE WHEN v.gone THEN '{"disabledReason": "gone"}'::jsonb ELSE '{}' END
       WHERE v.disables) n`)}
   )
   SELECT (SELECT count(*)::int FROM recorded) AS count,
     coalesce((SELECT json_agg(json_build_object('tenantId', o.tenant_id, 'endpointId', o.endpoint_id)) FROM (SELECT DISTINCT tenant_id, endpoint_id FROM outcome) o
       WHERE (SELECT true FROM deliveries WHERE tenant_id = o.tenant_id AND endpoint_id = o.endpoint_id
           AND status IN ('pending', 'delivering') AND NOT is_replay AND next_attempt_at <= now() LIMIT 1)
         OR (SELECT true FROM deliveries WHERE tenant_id = o.tenant_id AND endpoint_id = o.endpoint_id
           AND status IN ('pending', 'delivering') AND is_replay AND next_attempt_at <= now() LIMIT 1)), '[]') AS waiting`,
)

/**
 * Records outcomes, in the order of their ends, and their effects on endpoints: failures are
 * counted, circuits open and close, endpoints are disabled (docs/reference/choices/webhooks.md).
 * Outcomes whose lease is no longer held change nothing.
 */
export async function recordAttempts(sql: Sql, outcomes: readonly Outcome[]): Promise<Recorded> {
  const [tenants, ids, leaseIds] = keyColumns(outcomes.map(({ lease }) => lease))
  const rows = await sql<Recorded>(RECORD, [
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
    outcomes.map(({ lease }) => lease.url),
    outcomes.map(({ wasSent }) => wasSent),
    outcomes.map(({ pauseMs }) => pauseMs),
    outcomes.map(({ headers }) => headers && JSON.stringify(headers)),
    outcomes.map(({ lease }) => lease.countsFrom?.toISOString() ?? null),
  ])
  return rows[0] ?? { count: 0, waiting: [] }
}
