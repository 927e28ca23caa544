import type { Id } from '../../core/ids.ts'
import type { SealedHeader } from '../../core/delivery/own-headers.ts'
import type { SealedSecret } from '../../core/secrets/signing-secrets.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

/** A handshake that this worker must make. */
export interface Handshake {
  tenantId: Id
  endpointId: Id
  url: string
  challenge: string
  secrets: SealedSecret[] | null
  headers: SealedHeader[] | null
}

const DUE = `verification_due_at <= now() AND state <> 'verified' AND challenge IS NOT NULL`

// Limited for each tenant: one whose endpoints hang uses at most its share of a worker. If slots
// are short, tenants take turns, those with the fewest under way first.
const LEASE_HANDSHAKES = statement(
  'lease_handshakes',
  `WITH mine AS (
     SELECT * FROM unnest($1::uuid[], $2::int[]) AS b(tenant_id, count)
   ), available AS (
     SELECT q.tenant_id, q.id,
       coalesce(b.count, 0) + row_number() OVER (PARTITION BY q.tenant_id ORDER BY q.verification_due_at) AS turn
     FROM (SELECT DISTINCT tenant_id FROM webhook_endpoints WHERE ${DUE}) t
     JOIN tenants ON tenants.id = t.tenant_id AND tenants.suspended_at IS NULL
     LEFT JOIN mine b ON b.tenant_id = t.tenant_id
     CROSS JOIN LATERAL (
       SELECT tenant_id, id, verification_due_at FROM webhook_endpoints
       WHERE tenant_id = t.tenant_id AND ${DUE}
       ORDER BY verification_due_at
       LIMIT greatest(0, $3::int - coalesce(b.count, 0))
       FOR NO KEY UPDATE SKIP LOCKED
     ) q
   ), due AS (
     SELECT tenant_id, id FROM available ORDER BY turn LIMIT $4
   ), leased AS (
     UPDATE webhook_endpoints e SET verification_due_at = now() + $5::int * interval '1 millisecond'
     FROM due WHERE e.tenant_id = due.tenant_id AND e.id = due.id
     RETURNING e.tenant_id, e.id, e.url, e.challenge
   )
   SELECT l.tenant_id AS "tenantId", l.id AS "endpointId", l.url, l.challenge, s.secrets, (
       SELECT json_agg(json_build_object('name', name, 'sealed', encode(sealed, 'base64')))
       FROM webhook_headers WHERE tenant_id = l.tenant_id AND endpoint_id = l.id) AS headers
   FROM leased l CROSS JOIN LATERAL (
     SELECT json_agg(json_build_object('kid', kid, 'sealed', encode(sealed, 'base64')) ORDER BY expires_at DESC NULLS FIRST) AS secrets
     FROM webhook_secrets
     WHERE tenant_id = l.tenant_id AND endpoint_id = l.id AND (expires_at IS NULL OR expires_at > now())) s`,
)

interface LeaseOptions {
  /** How many handshakes of each tenant this worker has in flight. */
  busy: ReadonlyMap<Id, number>
  perTenant: number
  limit: number
  leaseMs: number
}

/** Leases due handshakes for `leaseMs`. Rows that another worker holds are skipped, not awaited. */
export const leaseHandshakes = (sql: Sql, { busy, perTenant, limit, leaseMs }: LeaseOptions): Promise<Handshake[]> =>
  sql(LEASE_HANDSHAKES, [[...busy.keys()], [...busy.values()], perTenant, limit, leaseMs])

// Only if the challenge is still current: a late answer to an older one is ignored. A disabled
// endpoint stays disabled; the proof counts when an admin enables it.
const RECORD_HANDSHAKE = statement(
  'record_handshake',
  `UPDATE webhook_endpoints
   SET state = CASE WHEN state = 'disabled' THEN state WHEN $4::text IS NULL THEN 'verified' ELSE 'unverified' END,
     challenge = NULL, verification_due_at = NULL, updated_at = now(),
     last_verification_at = $5, last_verification_ok = $4::text IS NULL, last_verification_error = $4::text
   WHERE tenant_id = $1 AND id = $2 AND challenge = $3 AND state <> 'verified'
   RETURNING id`,
)

/** Records the result of a handshake; `error` null: verified. Returns whether it counted. */
export async function recordHandshake(
  sql: Sql,
  { tenantId, endpointId, challenge }: Handshake,
  error: string | null,
  at: Date,
) {
  const rows = await sql(RECORD_HANDSHAKE, [tenantId, endpointId, challenge, error, at.toISOString()])
  return rows.length > 0
}

const RELEASE_HANDSHAKE = statement(
  'release_handshake',
  `UPDATE webhook_endpoints SET verification_due_at = now()
   WHERE tenant_id = $1 AND id = $2 AND challenge = $3 AND verification_due_at IS NOT NULL`,
)

/** Gives a handshake back; it is due again at once. */
export const releaseHandshake = (sql: Sql, { tenantId, endpointId, challenge }: Handshake): Promise<unknown> =>
  sql(RELEASE_HANDSHAKE, [tenantId, endpointId, challenge])
