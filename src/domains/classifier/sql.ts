import type { Id } from '../../core/ids.ts'
import type { SealedSecret } from '../../core/secrets/signing-secrets.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { COMMENT_COLUMNS, type CommentRow } from '../comments/comment.ts'

/** A comment to ask the classifier about, with the fields of its discussion that are sent. */
export interface DueRequest extends CommentRow {
  tenantId: Id
  externalId: string
  title: string | null
  url: string | null
  /** Newest first; null if the tenant has none. */
  secrets: SealedSecret[] | null
}

// Limited for each tenant: one whose classifier hangs uses at most its share of a worker.
const LEASE = statement(
  'lease_classifier_requests',
  `WITH RECURSIVE t AS (
     (SELECT tenant_id FROM classifier_requests ORDER BY tenant_id LIMIT 1)
     UNION ALL
     SELECT n.tenant_id FROM t CROSS JOIN LATERAL (
       SELECT tenant_id FROM classifier_requests WHERE tenant_id > t.tenant_id ORDER BY tenant_id LIMIT 1) n
   ), due AS (
     SELECT q.tenant_id, q.comment_id
     FROM t
     JOIN tenants ON tenants.id = t.tenant_id AND tenants.suspended_at IS NULL
     LEFT JOIN unnest($1::uuid[], $2::int[]) AS busy (tenant_id, n) ON busy.tenant_id = t.tenant_id
     CROSS JOIN LATERAL (
       SELECT r.tenant_id, r.comment_id FROM classifier_requests r
       WHERE r.tenant_id = t.tenant_id AND r.due_at <= now()
       ORDER BY r.due_at LIMIT greatest(0, $3::int - coalesce(busy.n, 0))
       FOR NO KEY UPDATE SKIP LOCKED
     ) q
     LIMIT $4
   ), leased AS (
     UPDATE classifier_requests r SET due_at = now() + $5::int * interval '1 millisecond'
     FROM due WHERE r.tenant_id = due.tenant_id AND r.comment_id = due.comment_id
     RETURNING r.tenant_id, r.comment_id
   )
   SELECT ${COMMENT_COLUMNS}, c.tenant_id AS "tenantId", d.external_id AS "externalId", d.title, d.url, s.secrets
   FROM leased l
   JOIN comments c ON c.tenant_id = l.tenant_id AND c.id = l.comment_id
   CROSS JOIN LATERAL (SELECT * FROM discussions WHERE tenant_id = c.tenant_id AND id = c.discussion_id LIMIT 1) d
   LEFT JOIN LATERAL (SELECT * FROM readers WHERE tenant_id = c.tenant_id AND id = c.author_id LIMIT 1) r ON true
   CROSS JOIN LATERAL (
     SELECT json_agg(json_build_object('kid', kid, 'sealed', encode(sealed, 'base64')) ORDER BY expires_at DESC NULLS FIRST) AS secrets
     FROM classifier_secrets WHERE tenant_id = l.tenant_id AND (expires_at IS NULL OR expires_at > now())) s`,
)

interface LeaseOptions {
  /** How many requests of each tenant this worker has in flight. */
  busy: ReadonlyMap<Id, number>
  perTenant: number
  limit: number
  leaseMs: number
}

/** Leases due requests for `leaseMs`. Rows that another worker holds are skipped, not awaited. */
export const leaseRequests = (sql: Sql, { busy, perTenant, limit, leaseMs }: LeaseOptions): Promise<DueRequest[]> =>
  sql(LEASE, [[...busy.keys()], [...busy.values()], perTenant, limit, leaseMs])

const TAKE = statement(
  'take_classifier_request',
  'DELETE FROM classifier_requests WHERE tenant_id = $1 AND comment_id = $2 AND revision = $3 RETURNING revision',
)

/**
 * Ends the wait for a verdict on this text. Returns whether it was still awaited. The comment's row
 * is locked.
 */
export const takeRequest = async (sql: Sql, tenantId: Id, commentId: Id, revision: number): Promise<boolean> =>
  (await sql(TAKE, [tenantId, commentId, revision])).length > 0

const RELEASE = statement(
  'release_classifier_request',
  'UPDATE classifier_requests SET due_at = now() WHERE tenant_id = $1 AND comment_id = $2 AND revision = $3',
)

/** Gives a request back; it is due again at once. */
export const releaseRequest = (sql: Sql, { tenantId, id, revision }: DueRequest): Promise<unknown> =>
  sql(RELEASE, [tenantId, id, revision])
