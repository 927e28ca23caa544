import { FIRST_ID, type Id } from '../../core/ids.ts'
import { KEY_ID_BYTES } from '../../core/secrets/seals.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

/** The tables of sealed secrets, and the columns that name a secret. */
const COLUMNS = {
  webhook_secrets: { tenant: 'tenant_id', owner: 'endpoint_id', name: 'kid' },
  webhook_headers: { tenant: 'tenant_id', owner: 'endpoint_id', name: 'name' },
  identity_secrets: { tenant: 'tenant_id', owner: 'tenant_id', name: 'kid' },
  classifier_secrets: { tenant: 'tenant_id', owner: 'tenant_id', name: 'kid' },
  mail_secrets: { tenant: 'tenant_id', owner: 'tenant_id', name: 'kid' },
  guest_keys: { tenant: 'tenant_id', owner: 'tenant_id', name: 'kind' },
  oidc_secrets: { tenant: 'tenant_id', owner: 'tenant_id', name: 'client_id' },
  notice_channels: { tenant: 'tenant_id', owner: 'id', name: 'kind' },
  // An account is of no tenant.
  second_factors: { tenant: 'account_id', owner: 'account_id', name: 'kind' },
} as const

export type SecretTable = keyof typeof COLUMNS

export const SECRET_TABLES = Object.keys(COLUMNS) as SecretTable[]

/** Identifies a secret in its table. */
export interface SecretKey {
  tenantId: Id
  /** The endpoint, the tenant, or the account. */
  ownerId: Id
  kid: string
}

export interface SealedRow extends SecretKey {
  sealed: Uint8Array
}

/** The tables whose secrets end some time after they were replaced. */
const ENDING = ['webhook_secrets', 'identity_secrets', 'classifier_secrets', 'mail_secrets'] as const

const keyIdIn = (bytes: string): string => `encode(substring(${bytes} FROM 1 FOR ${KEY_ID_BYTES}), 'hex')`

export const forEachTable = <T>(make: (table: SecretTable) => T): Record<SecretTable, T> =>
  Object.fromEntries(SECRET_TABLES.map((table) => [table, make(table)])) as Record<SecretTable, T>

const SELECT_SEALED = forEachTable((table) => {
  const { tenant, owner, name } = COLUMNS[table]
  const key = `${tenant}, ${owner}, ${name}`
  return statement(
    `select_sealed_${table}`,
    `SELECT ${tenant} AS "tenantId", ${owner} AS "ownerId", ${name} AS kid, sealed FROM ${table}
     WHERE (${key}) > ($1, $2, $3) AND ${keyIdIn('sealed')} = ANY($4::text[])
     ORDER BY ${key} LIMIT $5`,
  )
})

/**
 * Secrets sealed under one of these keys, after `after` in the order of the table's primary key.
 */
export const selectSealed = (
  sql: Sql,
  table: SecretTable,
  keyIds: readonly string[],
  after: SecretKey | undefined,
  limit: number,
): Promise<SealedRow[]> => {
  const { tenantId, ownerId, kid } = after ?? { tenantId: FIRST_ID, ownerId: FIRST_ID, kid: '' }
  return sql<SealedRow>(SELECT_SEALED[table], [tenantId, ownerId, kid, keyIds, limit])
}

const REPLACE_SEALED = forEachTable((table) => {
  const { tenant, owner, name } = COLUMNS[table]
  return statement(
    `replace_sealed_${table}`,
    `UPDATE ${table} SET sealed = $5 WHERE ${tenant} = $1 AND ${owner} = $2 AND ${name} = $3 AND sealed = $4
     RETURNING 1`,
  )
})

/** Compare and set: false where the secret was replaced or deleted meanwhile. */
export const replaceSealed = async (
  sql: Sql,
  table: SecretTable,
  { tenantId, ownerId, kid, sealed }: SealedRow,
  by: Buffer,
): Promise<boolean> => (await sql(REPLACE_SEALED[table], [tenantId, ownerId, kid, sealed, by])).length > 0

/** How many secrets are sealed under each key. */
export const countSecrets = statement(
  'count_sealed_secrets',
  `SELECT ${keyIdIn('sealed')} AS "keyId", count(*)::int AS secrets
   FROM (${SECRET_TABLES.map((table) => `SELECT sealed FROM ${table}`).join(' UNION ALL ')}) s
   WHERE sealed IS NOT NULL GROUP BY 1 ORDER BY 1`,
).rows<[], { keyId: string; secrets: number }>()

/** How many stored outcomes of an `Idempotency-Key` need each key to be found, and until when. */
export const countOutcomes = statement(
  'count_outcomes_by_key',
  `SELECT ${keyIdIn('key_digest')} AS "keyId", count(*)::int AS outcomes, max(expires_at) AS until
   FROM idempotency_records WHERE expires_at > now() GROUP BY 1`,
).rows<[], { keyId: string; outcomes: number; until: Date }>()

const DELETE_EXPIRED = ENDING.map((table) =>
  statement(
    `delete_expired_${table}`,
    `WITH old AS (
       SELECT tenant_id, ${COLUMNS[table].owner} AS owner, kid FROM ${table} WHERE expires_at < now() - interval '1 day' LIMIT $1
       FOR UPDATE SKIP LOCKED
     ), deleted AS (
       DELETE FROM ${table} s USING old o
       WHERE s.tenant_id = o.tenant_id AND s.${COLUMNS[table].owner} = o.owner AND s.kid = o.kid
       RETURNING 1
     )
     SELECT count(*)::int AS count FROM deleted`,
  ),
)

/**
 * Deletes up to `limit` secrets of each kind, a day after their end: until then, ending one again
 * finds it. Returns the largest number of one kind.
 */
export async function deleteExpiredSecrets(sql: Sql, limit: number): Promise<number> {
  let most = 0
  for (const deleteExpired of DELETE_EXPIRED) {
    const [row] = await sql<{ count: number }>(deleteExpired, [limit])
    most = Math.max(most, row?.count ?? 0)
  }
  return most
}
