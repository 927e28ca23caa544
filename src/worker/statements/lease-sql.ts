import type { EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { SealedHeader } from '../../core/delivery/own-headers.ts'
import type { SealedSecret } from '../../core/secrets/signing-secrets.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { type CommentState, commentState } from '../../core/withdrawal.ts'
import type { StoredPolicy } from '../../domains/webhooks/rules/policy.ts'
import { ORDERED, SLOTS } from './policy-sql.ts'

/** A delivery that this worker holds until its lease ends. */
export interface Lease {
  leaseId: Id
  tenantId: Id
  deliveryId: Id
  endpointId: Id
  url: string
  /** The endpoint's at that time. */
  countsFrom: Date | null
  policy: StoredPolicy
  attemptCount: number
  eventType: EventType
  eventId: Id
  discussionId: Id
  seq: number
  /** Only for a test, which is not an event of the log. */
  body: string | null
  /**
   * The event's parts; null if it is no longer stored. `actor` and `data` are JSON text, kept byte
   * for byte.
   */
  occurredAt: Date | null
  actor: string | null
  data: string | null
  /** The `traceparent` of the event's write; null if that was not traced. */
  trace: string | null
  /** Null if the event is sent as it was written. */
  commentNow: CommentState | null
  /** Newest first; null if there is none. */
  secrets: SealedSecret[] | null
  /** The endpoint's own; null if there is none. */
  headers: SealedHeader[] | null
}

/** Both ids, because imports keep ids: two tenants may have an endpoint with the same id. */
type EndpointKey = Pick<Lease, 'tenantId' | 'endpointId'>

/** The key as text. */
export const endpointKey = ({ tenantId, endpointId }: EndpointKey): string => `${tenantId} ${endpointId}`

/** The attempts that one worker has under way at an endpoint. */
export interface Busy extends EndpointKey {
  count: number
}

export interface LeaseOptions {
  leaseMs: number
  /** An entry for each endpoint with attempts under way. */
  busy: readonly Busy[]
  perEndpoint: number
  /** Free slots of the worker. */
  limit: number
}

/** A first attempt that begins this long after its event counts as a replay. */
const LIVE_SECONDS = 10

// `l` is the delivery, `e` its event. Live attempts send the event as its streams did, all others
// as replays do.
const IS_LATE = `l.attempt_count > 0 OR l.is_replay OR l.is_redelivery OR e.occurred_at < now() - interval '${LIVE_SECONDS} seconds'`

// `e` is an endpoint, `t` its tenant.
const TAKES_DELIVERIES = `e.state = 'verified' AND (e.circuit_open_until IS NULL OR e.circuit_open_until <= now())
         AND (e.paused_until IS NULL OR e.paused_until <= now()) AND e.paused_at IS NULL
         AND t.suspended_at IS NULL`

// Deliveries of one endpoint that wait for a free slot, in the order in which they are due. `r` is
// the endpoint.
const DUE = `tenant_id = r.tenant_id AND endpoint_id = r.id AND status IN ('pending', 'delivering') AND next_attempt_at <= now()`

// The first waiting delivery of each discussion, of those to one endpoint. It hops from discussion
// to discussion in their index, whatever waits behind the first of each. `r` is the endpoint.
const UNFINISHED = `tenant_id = r.tenant_id AND endpoint_id = r.id AND status IN ('pending', 'delivering', 'held')`
const HEADS = `WITH RECURSIVE head AS (
         (SELECT discussion_id, id, status, next_attempt_at FROM deliveries WHERE ${UNFINISHED}
          ORDER BY discussion_id, seq, id LIMIT 1)
         UNION ALL
         SELECT n.* FROM head h CROSS JOIN LATERAL (
           SELECT discussion_id, id, status, next_attempt_at FROM deliveries
           WHERE ${UNFINISHED} AND discussion_id > h.discussion_id
           ORDER BY discussion_id, seq, id LIMIT 1) n)`

// `waiting` hops from endpoint to endpoint in the index of due deliveries: it costs by endpoints,
// not by backlog. `candidate` leaves out what has no secret, no slot or nothing due, by what the
// statement saw at its beginning, so that few rows are locked; tenants take turns, the least busy
// endpoints first. A tenant's `share` ends where it holds as many of the worker's slots as stay
// free; it is counted in endpoints, any of which may take all that one can. The `reserve` beyond it
// ends at twice as many as stay free: one slot each for endpoints that have nothing under way and
// whose last attempt did not fail. So however many endpoints hang, there is room for their tenant's
// healthy ones, and for those of another tenant. `locked`: one worker at a time takes from an
// endpoint; others pass by it. Only the row's present version counts, and `attempts_in_flight`
// counts after the lock: so the slots hold over all workers. Per endpoint a LATERAL takes what its
// free slots allow, so that one backlog never hides another's; replays come last. Of an ordered
// endpoint, only the first of each discussion is taken, and none while another one of the
// discussion is under way: `is_in_flight` looks after the lock as well. Rows that another
// worker holds are skipped, not awaited. A lease whose end has passed is due again: its holder
// died.
//
// An example of `share` and `reserve`: a worker has 1024 slots (`$4`), all free, and up to 8 for an
// endpoint (`$3`). A tenant that holds none has a share of 1024 / 2 / 8 = 64 endpoints: 512 slots,
// as many as stay free. Its reserve is 2 * 1024 / 3 - 512 = 170 more endpoints, with one slot each:
// then it holds 682 slots, twice the 342 that stay free. Another tenant that comes after the first
// 512 has a share of 256 slots, half of what is left.
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
   ), mine AS (
     SELECT * FROM unnest($1::uuid[], $2::int[], $6::uuid[]) AS b(endpoint_id, count, tenant_id)
   ), held AS (
     SELECT tenant_id, sum(count) AS count FROM mine GROUP BY tenant_id
   ), candidate AS (
     SELECT r.tenant_id, r.id, coalesce(b.count, 0) AS busy, b.count IS NULL AND r.sound AS idle, coalesce(h.count, 0) AS held,
       greatest(0, ceil(($4 - coalesce(h.count, 0)) / 2.0 / $3::int)) AS share
     FROM waiting w
     JOIN (
       SELECT e.tenant_id, e.id, e.consecutive_failures = 0 AS sound, ${SLOTS} AS slots
       FROM webhook_endpoints e JOIN tenants t ON t.id = e.tenant_id
       WHERE ${TAKES_DELIVERIES}
         AND EXISTS (SELECT 1 FROM webhook_secrets s WHERE s.tenant_id = e.tenant_id AND s.endpoint_id = e.id
           AND (s.expires_at IS NULL OR s.expires_at > now()))
     ) r ON r.tenant_id = w.tenant_id AND r.id = w.endpoint_id
     LEFT JOIN mine b ON b.tenant_id = r.tenant_id AND b.endpoint_id = r.id
     LEFT JOIN held h ON h.tenant_id = r.tenant_id
     WHERE coalesce(b.count, 0) < $3::int
       AND (EXISTS (SELECT 1 FROM deliveries WHERE ${DUE} AND NOT is_replay)
         OR EXISTS (SELECT 1 FROM deliveries WHERE ${DUE} AND is_replay))
       AND r.slots > (SELECT count(*) FROM deliveries WHERE tenant_id = r.tenant_id AND endpoint_id = r.id
         AND status = 'delivering' AND next_attempt_at > now())
   ), placed AS (
     SELECT *, (2 * $4 - held) / 3 - share * $3::int AS reserve,
       row_number() OVER turn AS place, count(*) FILTER (WHERE idle) OVER turn AS idle_place
     FROM candidate
     WINDOW turn AS (PARTITION BY tenant_id ORDER BY busy, random())
   ), locked AS (
     SELECT e.tenant_id, e.id, e.url, e.counts_from, e.policy, ${ORDERED} AS ordered, ${SLOTS} AS slots,
       CASE WHEN c.place <= c.share THEN $3::int - c.busy ELSE 1 END AS allowed
     FROM placed c
     JOIN webhook_endpoints e ON e.tenant_id = c.tenant_id AND e.id = c.id
     JOIN tenants t ON t.id = e.tenant_id
     WHERE ${TAKES_DELIVERIES}
       AND (c.place <= c.share OR c.idle AND c.idle_place <= c.reserve)
     ORDER BY c.place + c.held / $3::int
     LIMIT $4
     FOR NO KEY UPDATE OF e SKIP LOCKED
   ), room AS MATERIALIZED (
     SELECT tenant_id, id, url, counts_from, policy, ordered, greatest(0, least(allowed, slots - attempts_in_flight(tenant_id, id))) AS room
     FROM locked
   ), live AS (
     SELECT r.tenant_id, r.id AS endpoint_id, d.id, r.url, r.counts_from, r.policy
     FROM room r CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE ${DUE} AND NOT is_replay
       ORDER BY next_attempt_at
       LIMIT r.room
       FOR UPDATE SKIP LOCKED) d
     WHERE NOT r.ordered
     LIMIT $4
   ), replayed AS (
     SELECT r.tenant_id, d.id, r.url, r.counts_from, r.policy
     FROM room r CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE ${DUE} AND is_replay
       ORDER BY next_attempt_at
       LIMIT r.room - (SELECT count(*) FROM live l WHERE l.tenant_id = r.tenant_id AND l.endpoint_id = r.id)
       FOR UPDATE SKIP LOCKED) d
     WHERE NOT r.ordered
     LIMIT $4 - (SELECT count(*) FROM live)
   ), in_order AS (
     SELECT r.tenant_id, d.id, r.url, r.counts_from, r.policy
     FROM room r CROSS JOIN LATERAL (
       ${HEADS}
       SELECT id FROM deliveries WHERE ${DUE} AND id IN (
         SELECT id FROM head
         WHERE status <> 'held' AND next_attempt_at <= now() AND NOT is_in_flight(r.tenant_id, r.id, discussion_id)
         LIMIT r.room)
       FOR UPDATE SKIP LOCKED) d
     WHERE r.ordered
     LIMIT $4 - (SELECT count(*) FROM live) - (SELECT count(*) FROM replayed)
   ), due AS (
     SELECT tenant_id, id, url, counts_from, policy FROM live UNION ALL SELECT * FROM replayed UNION ALL SELECT * FROM in_order
   ), leased AS (
     UPDATE deliveries d
     SET status = 'delivering', lease_id = gen_random_uuid(), next_attempt_at = now() + $5::int * interval '1 millisecond'
     FROM due WHERE d.tenant_id = due.tenant_id AND d.id = due.id
     RETURNING d.*, due.url, due.counts_from, due.policy
   )
   SELECT l.lease_id AS "leaseId", l.tenant_id AS "tenantId", l.id AS "deliveryId", l.endpoint_id AS "endpointId",
     l.url, l.counts_from AS "countsFrom", l.policy, l.attempt_count AS "attemptCount", l.event_type AS "eventType",
     l.event_id AS "eventId", l.discussion_id AS "discussionId", l.seq, l.body, e.occurred_at AS "occurredAt",
     e.actor::text AS actor, e.data::text AS data, e.trace, s.secrets, (
       SELECT json_agg(json_build_object('name', name, 'sealed', encode(sealed, 'base64')))
       FROM webhook_headers WHERE tenant_id = l.tenant_id AND endpoint_id = l.endpoint_id) AS headers,
     CASE WHEN ${IS_LATE} THEN ${commentState('e')} END AS "commentNow",
     (SELECT coalesce(bool_or(place > share), false) FROM placed) AS "leftOut"
   FROM leased l
   LEFT JOIN events e ON e.tenant_id = l.tenant_id AND e.discussion_id = l.discussion_id AND e.seq = l.seq
   CROSS JOIN LATERAL (
     SELECT json_agg(json_build_object('kid', kid, 'sealed', encode(sealed, 'base64')) ORDER BY expires_at DESC NULLS FIRST) AS secrets
     FROM webhook_secrets
     WHERE tenant_id = l.tenant_id AND endpoint_id = l.endpoint_id AND (expires_at IS NULL OR expires_at > now())) s
   ORDER BY l.id`,
)

interface Leased {
  leases: Lease[]
  /**
   * Whether a tenant's share has kept an endpoint back: with the slots that are held now, more may
   * be leased at once.
   */
  leftOut: boolean
}

/**
 * Leases due deliveries for `leaseMs`, within the slots of their endpoints over all workers, and
 * each tenant's share of this worker's. Concurrent workers get different ones.
 */
export async function leaseDeliveries(sql: Sql, { leaseMs, busy, perEndpoint, limit }: LeaseOptions): Promise<Leased> {
  const endpoints = busy.map(({ endpointId }) => endpointId)
  const counts = busy.map(({ count }) => count)
  const tenants = busy.map(({ tenantId }) => tenantId)
  const parameters = [endpoints, counts, perEndpoint, limit, leaseMs, tenants]
  const leases = await sql<Lease & { leftOut: boolean }>(LEASE, parameters)
  return { leases, leftOut: leases[0]?.leftOut ?? false }
}

const EXTEND = statement(
  'extend_leases',
  `UPDATE deliveries d SET next_attempt_at = now() + $3::int * interval '1 millisecond'
   FROM unnest($1::uuid[], $2::uuid[], $4::uuid[]) AS l(tenant_id, id, lease_id)
   WHERE d.tenant_id = l.tenant_id AND d.id = l.id AND d.lease_id = l.lease_id
   RETURNING d.lease_id AS "leaseId"`,
)

/** Extends leases to `leaseMs` from now. Returns those that are still held. */
export async function extendLeases(sql: Sql, leases: readonly Lease[], leaseMs: number): Promise<Set<Id>> {
  const [tenants, ids, leaseIds] = keyColumns(leases)
  const rows = await sql<{ leaseId: Id }>(EXTEND, [tenants, ids, leaseMs, leaseIds])
  return new Set(rows.map(({ leaseId }) => leaseId))
}

const RELEASE = statement(
  'release_leases',
  `UPDATE deliveries d SET status = 'pending', lease_id = NULL, next_attempt_at = now()
   FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS l(tenant_id, id, lease_id)
   WHERE d.tenant_id = l.tenant_id AND d.id = l.id AND d.lease_id = l.lease_id`,
)

/** Gives leases back; they are due again at once, and the attempt does not count. */
export const releaseLeases = (sql: Sql, leases: readonly Lease[]): Promise<unknown> => sql(RELEASE, keyColumns(leases))

/** The keys of leases as arrays: tenants, deliveries, leases. */
export const keyColumns = (leases: readonly Lease[]): [Id[], Id[], Id[]] => [
  leases.map(({ tenantId }) => tenantId),
  leases.map(({ deliveryId }) => deliveryId),
  leases.map(({ leaseId }) => leaseId),
]
