import type { Id } from '../../core/ids.ts'
import { columns } from '../../core/database/lists.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { ApiKey } from '../../generated/prisma/client.ts'

export type KeyOfCaller = Pick<ApiKey, 'id' | 'capabilities' | 'expiresAt' | 'revokedAt'> & { tenantId: Id }

export const findKeyByDigest = statement(
  'find_key_by_digest',
  `SELECT tenant_id AS "tenantId", id, capabilities, expires_at AS "expiresAt", revoked_at AS "revokedAt"
   FROM api_keys WHERE digest = $1`,
).first<[digest: Buffer], KeyOfCaller>()

/** Locks a key of the tenant, if there is one, until the transaction ends. */
export const lockKey = statement('lock_key', 'SELECT 1 FROM api_keys WHERE tenant_id = $1 AND id = $2 FOR UPDATE').run<
  [tenantId: Id, id: Id]
>()

// A key locked by another transaction is skipped, so that the others need not wait: its last use
// is only a hint.
const RECORD_USES = statement(
  'record_key_uses',
  `UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
   FROM (
     SELECT k2.tenant_id, k2.id, given.at
     FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) AS given (tenant_id, id, at)
     JOIN api_keys k2 ON k2.tenant_id = given.tenant_id AND k2.id = given.id
     FOR NO KEY UPDATE OF k2 SKIP LOCKED
   ) u
   WHERE k.tenant_id = u.tenant_id AND k.id = u.id`,
)

/** Records when keys were last used; a time before the stored one changes nothing. */
export const recordUses = (sql: Sql, uses: readonly { tenantId: Id; id: Id; at: Date }[]): Promise<unknown> =>
  sql(RECORD_USES, columns(uses, 'tenantId', 'id', 'at'))
