import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { IdentityKeySet } from '../../generated/prisma/client.ts'

export type StoredKeys = Pick<IdentityKeySet, 'url' | 'jwks' | 'fetchedAt' | 'error'>

/** The stored keys, their address, and why the last fetch failed. */
export const findKeySet = statement(
  'find_key_set',
  'SELECT url, jwks, fetched_at AS "fetchedAt", error FROM identity_key_sets WHERE tenant_id = $1',
).first<[tenantId: Id], StoredKeys>()

/** Makes the key set of a new URL due. Does nothing if the URL is the same. */
export const putKeySet = statement(
  'put_key_set',
  `INSERT INTO identity_key_sets (tenant_id, url, due_at) VALUES ($1, $2, $3)
   ON CONFLICT (tenant_id) DO UPDATE SET
     url = $2, due_at = $3, jwks = NULL, fetched_at = NULL, tried_at = NULL, failing_since = NULL, error = NULL
   WHERE identity_key_sets.url <> $2`,
).run<[tenantId: Id, url: string, now: Date]>()

export interface DueKeySet {
  tenantId: Id
  url: string
}

/** Leases due key sets until `until`. Rows that another worker holds are skipped, not awaited. */
export const leaseKeySets = statement(
  'lease_key_sets',
  `UPDATE identity_key_sets SET due_at = $2, tried_at = $1
   WHERE tenant_id IN (SELECT tenant_id FROM identity_key_sets WHERE due_at <= $1 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
   RETURNING tenant_id AS "tenantId", url`,
).rows<[now: Date, until: Date, limit: number], DueKeySet>()

const STORE_KEY_SET = statement(
  'store_key_set',
  `UPDATE identity_key_sets SET jwks = $3::jsonb, fetched_at = $4, failing_since = NULL, error = NULL, due_at = $5
   WHERE tenant_id = $1 AND url = $2`,
)

/**
 * Stores keys that were fetched at `now`. Does nothing if the tenant has changed the URL meanwhile.
 */
export const storeKeySet = (
  sql: Sql,
  { tenantId, url }: DueKeySet,
  jwks: unknown,
  { now, dueAt }: { now: Date; dueAt: Date },
): Promise<unknown> => sql(STORE_KEY_SET, [tenantId, url, JSON.stringify(jwks), now, dueAt])

const FAIL_KEY_SET = statement(
  'fail_key_set',
  `UPDATE identity_key_sets SET
     error = $3, failing_since = coalesce(failing_since, $4), due_at = $5, jwks = CASE WHEN fetched_at > $6 THEN jwks END
   WHERE tenant_id = $1 AND url = $2`,
)

interface Failure {
  error: string
  now: Date
  dueAt: Date
  /** Keys that were fetched before this time are dropped. */
  keptSince: Date
}

/** Records an attempt that failed at `now`. Keys fetched before stay valid for a time. */
export const failKeySet = (sql: Sql, { tenantId, url }: DueKeySet, failure: Failure): Promise<unknown> =>
  sql(FAIL_KEY_SET, [tenantId, url, failure.error, failure.now, failure.dueAt, failure.keptSince])
