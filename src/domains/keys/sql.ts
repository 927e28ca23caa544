import type { Capability } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'

/** A key as it stands in the database, without its digest. */
export interface ApiKey {
  id: Id
  label: string
  prefix: string
  capabilities: Capability[]
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
  createdAt: Date
}

const KEY = `id, label, prefix, capabilities, expires_at AS "expiresAt", revoked_at AS "revokedAt",
  last_used_at AS "lastUsedAt", created_at AS "createdAt"`

export type KeyOfCaller = Pick<ApiKey, 'id' | 'capabilities' | 'expiresAt' | 'revokedAt'> & { tenantId: Id }

const FIND_KEY_BY_DIGEST = statement(
  'find_key_by_digest',
  `SELECT tenant_id AS "tenantId", id, capabilities, expires_at AS "expiresAt", revoked_at AS "revokedAt"
   FROM api_keys WHERE digest = $1`,
)

export const findKeyByDigest = async (sql: Sql, digest: Buffer): Promise<KeyOfCaller | undefined> =>
  (await sql<KeyOfCaller>(FIND_KEY_BY_DIGEST, [digest]))[0]

const COUNT_ACTIVE_KEYS = statement(
  'count_active_keys',
  `SELECT count(*) AS n FROM api_keys
   WHERE tenant_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
)

/** Keys that count against the budget. Exact only under the tenant's lock. */
export const countActiveKeys = async (sql: Sql, tenantId: Id, now: Date): Promise<number> =>
  (await sql<{ n: number }>(COUNT_ACTIVE_KEYS, [tenantId, now]))[0]?.n ?? 0

const INSERT_KEY = statement(
  'insert_key',
  `INSERT INTO api_keys (tenant_id, id, label, prefix, digest, capabilities, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${KEY}`,
)

export async function insertKey(
  sql: Sql,
  tenantId: Id,
  key: Pick<ApiKey, 'id' | 'label' | 'prefix' | 'capabilities' | 'expiresAt'> & { digest: Buffer },
): Promise<ApiKey> {
  const { id, label, prefix, digest, capabilities, expiresAt } = key
  const [row] = await sql<ApiKey>(INSERT_KEY, [tenantId, id, label, prefix, digest, capabilities, expiresAt])
  if (row === undefined) throw new Error('an inserted key was not returned')
  return row
}

const LOCK_KEY = statement(
  'lock_key',
  `SELECT ${KEY}, digest FROM api_keys WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
)

/** A key of the tenant, locked until the transaction ends. */
export const lockKey = async (sql: Sql, tenantId: Id, id: Id): Promise<(ApiKey & { digest: Uint8Array }) | undefined> =>
  (await sql<ApiKey & { digest: Uint8Array }>(LOCK_KEY, [tenantId, id]))[0]

const REVOKE_KEY = statement('revoke_key', 'UPDATE api_keys SET revoked_at = $3 WHERE tenant_id = $1 AND id = $2')

export const revokeKey = (sql: Sql, tenantId: Id, id: Id, at: Date): Promise<unknown> =>
  sql(REVOKE_KEY, [tenantId, id, at])

const LIST_KEYS = statement(
  'list_keys',
  `SELECT ${KEY} FROM api_keys WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
)

/** Keys of the tenant, newest first, after (that is, older than) `after`. */
export const listKeys = (sql: Sql, tenantId: Id, after: Id | null, limit: number): Promise<ApiKey[]> =>
  sql(LIST_KEYS, [tenantId, after, limit])

// In the order of ids, so that two processes that write the same keys wait for each other and never both.
const RECORD_USES = statement(
  'record_key_uses',
  `UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
   FROM (
     SELECT k2.tenant_id, k2.id, given.at
     FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) AS given (tenant_id, id, at)
     JOIN api_keys k2 ON k2.tenant_id = given.tenant_id AND k2.id = given.id
     ORDER BY k2.id FOR NO KEY UPDATE OF k2
   ) u
   WHERE k.tenant_id = u.tenant_id AND k.id = u.id`,
)

/** Writes down when keys were used; an earlier time than the one that is there changes nothing. */
export const recordUses = (sql: Sql, uses: readonly { tenantId: Id; id: Id; at: Date }[]): Promise<unknown> =>
  sql(RECORD_USES, [
    uses.map(({ tenantId }) => tenantId),
    uses.map(({ id }) => id),
    uses.map(({ at }) => at.toISOString()),
  ])
