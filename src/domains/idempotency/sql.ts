import type { Id } from '../../core/ids.ts'
import { KEY_ID_BYTES } from '../../core/secrets/seals.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

/** Identifies a record. */
export interface RecordKey {
  tenantId: Id
  keyDigest: Buffer
}

export interface IdempotencyRecord {
  requestDigest: Uint8Array
  status: number
  contentType: string | null
  /** Sealed; null once it was erased. */
  body: Uint8Array | null
}

const TRY_LOCK = statement('lock_idempotency_key', 'SELECT pg_try_advisory_xact_lock($1::bigint) AS locked')

/**
 * Tries to lock the key until the end of the transaction, without waiting. It is a separate
 * statement: one that also read the record would use a snapshot from before the lock.
 */
export const tryLockKey = async (sql: Sql, { keyDigest }: RecordKey): Promise<boolean> =>
  (await sql<{ locked: boolean }>(TRY_LOCK, [String(keyDigest.readBigInt64BE(KEY_ID_BYTES))]))[0]?.locked === true

const FIND = statement(
  'find_idempotency_record',
  `SELECT request_digest AS "requestDigest", status, content_type AS "contentType", body
   FROM idempotency_records WHERE tenant_id = $1 AND key_digest = $2 AND expires_at > $3`,
)

/** The record of a key, unless it has expired. */
export const findRecord = async (
  sql: Sql,
  { tenantId, keyDigest }: RecordKey,
  now: Date,
): Promise<IdempotencyRecord | undefined> => (await sql<IdempotencyRecord>(FIND, [tenantId, keyDigest, now]))[0]

// The reader's own id may appear in neither request nor answer; ids of the reader's content appear
// in both.
const STORE = statement(
  'store_idempotency_record',
  `INSERT INTO idempotency_records AS r
     (tenant_id, key_digest, request_digest, status, content_type, body, mentions, created_at, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6,
     $7::uuid[] || ARRAY(
       SELECT coalesce(m.into_id, r.id) FROM readers r
       LEFT JOIN reader_merges m ON m.tenant_id = r.tenant_id AND m.alias_id = r.id
       WHERE r.tenant_id = $1 AND r.external_id = $8
     ), $9, $10)
   ON CONFLICT (tenant_id, key_digest) DO UPDATE SET
     request_digest = excluded.request_digest, status = excluded.status, content_type = excluded.content_type,
     body = excluded.body, mentions = excluded.mentions, created_at = excluded.created_at, expires_at = excluded.expires_at
   WHERE r.expires_at <= excluded.created_at
   RETURNING 1`,
)

interface NewRecord extends IdempotencyRecord, RecordKey {
  mentions: readonly Id[]
  /** The reader on whose behalf the request was made. */
  readerExternalId: string | null
  now: Date
  expiresAt: Date
}

/** Stores an outcome, and replaces an expired one. The key's lock excludes any other. */
export async function storeRecord(sql: Sql, record: NewRecord): Promise<void> {
  const { tenantId, keyDigest, requestDigest, status, contentType, body, mentions, readerExternalId } = record
  const { now, expiresAt } = record
  const params = [tenantId, keyDigest, requestDigest, status, contentType, body, mentions, readerExternalId]
  if ((await sql(STORE, [...params, now, expiresAt])).length !== 1) throw new Error('the idempotency key is taken')
}

/** Empties the answers that mention any of the ids. */
export const forgetBodies = async ({ prisma }: TxSql, tenantId: Id, ids: readonly Id[]): Promise<void> => {
  const where = { tenantId, mentions: { hasSome: [...ids] }, body: { not: null } }
  await prisma.idempotencyRecord.updateMany({ where, data: { body: null } })
}

const DELETE_EXPIRED = statement(
  'delete_expired_idempotency_records',
  `DELETE FROM idempotency_records WHERE tenant_id IS NOT NULL AND ctid = ANY(ARRAY(
     SELECT ctid FROM idempotency_records
     WHERE expires_at <= $1 AND expires_at > '-infinity' ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
   RETURNING 1`,
)

/**
 * Deletes up to `limit` expired records, and returns how many. Rows that another worker holds are
 * skipped.
 */
export const deleteExpired = async (sql: Sql, now: Date, limit: number): Promise<number> =>
  (await sql(DELETE_EXPIRED, [now, limit])).length
