import type { Id } from '../../core/ids.ts'
import type { SealedSecret } from '../../core/secrets/signing-secrets.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

/** A mail to hand out. */
export interface DueMail {
  tenantId: Id
  id: Id
  /** Address and link. */
  sealed: Buffer
  /** How often it was tried, this time included. */
  attempts: number
  /** Newest first; null if the tenant has none. */
  secrets: SealedSecret[] | null
}

// Limited for each tenant: one whose mailer hangs uses at most its share of a worker. The longest
// due come first, so that no tenant waits for those before it.
const LEASE = statement(
  'lease_guest_mails',
  `WITH RECURSIVE t AS (
     (SELECT tenant_id FROM guest_requests WHERE sealed IS NOT NULL ORDER BY tenant_id LIMIT 1)
     UNION ALL
     SELECT n.tenant_id FROM t CROSS JOIN LATERAL (
       SELECT tenant_id FROM guest_requests WHERE sealed IS NOT NULL AND tenant_id > t.tenant_id
       ORDER BY tenant_id LIMIT 1) n
   ), due AS (
     SELECT q.tenant_id, q.id
     FROM t
     JOIN tenants ON tenants.id = t.tenant_id AND tenants.suspended_at IS NULL
     LEFT JOIN unnest($1::uuid[], $2::int[]) AS busy (tenant_id, n) ON busy.tenant_id = t.tenant_id
     CROSS JOIN LATERAL (
       SELECT r.tenant_id, r.id, r.due_at FROM guest_requests r
       WHERE r.tenant_id = t.tenant_id AND r.sealed IS NOT NULL AND r.due_at <= now() AND r.created_at > $6
       ORDER BY r.due_at LIMIT greatest(0, $3::int - coalesce(busy.n, 0))
       FOR NO KEY UPDATE SKIP LOCKED
     ) q
     ORDER BY q.due_at LIMIT $4
   ), leased AS (
     UPDATE guest_requests r SET due_at = now() + $5::int * interval '1 millisecond', attempts = attempts + 1
     FROM due WHERE r.tenant_id = due.tenant_id AND r.id = due.id
     RETURNING r.tenant_id, r.id, r.sealed, r.attempts
   )
   SELECT l.tenant_id AS "tenantId", l.id, l.sealed, l.attempts, s.secrets
   FROM leased l
   CROSS JOIN LATERAL (
     SELECT json_agg(json_build_object('kid', kid, 'sealed', encode(sealed, 'base64'))
       ORDER BY expires_at DESC NULLS FIRST) AS secrets
     FROM mail_secrets WHERE tenant_id = l.tenant_id AND (expires_at IS NULL OR expires_at > now())) s`,
)

interface LeaseOptions {
  /** How many mails of each tenant this worker has in flight. */
  busy: ReadonlyMap<Id, number>
  perTenant: number
  limit: number
  leaseMs: number
  /** Those that were asked for earlier are handed out no longer. */
  since: Date
}

/** Leases due mails for `leaseMs`. Rows that another worker holds are skipped, not awaited. */
export const leaseMails = (sql: Sql, { busy, perTenant, limit, leaseMs, since }: LeaseOptions): Promise<DueMail[]> =>
  sql(LEASE, [[...busy.keys()], [...busy.values()], perTenant, limit, leaseMs, since])
