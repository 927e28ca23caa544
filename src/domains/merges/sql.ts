import { type Id, isId } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { Reader } from '../readers/readers.ts'

export interface LockedReader extends StoredBan {
  id: Id
  externalId: string
  /** Null for a present reader. False: hidden by a merge. */
  isErasing: boolean | null
}

export interface StoredBan {
  bannedAt: Date | null
  bannedUntil: Date | null
  banReason: string | null
  shadowBanned: boolean
}

const LOCK = statement(
  'lock_readers_to_merge',
  `SELECT id, external_id AS "externalId", isfinite(erasing_at) AS "isErasing", banned_at AS "bannedAt",
     banned_until AS "bannedUntil", ban_reason AS "banReason", shadow_banned AS "shadowBanned"
   FROM readers WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR UPDATE`,
)

/**
 * Locks the rows of readers exclusively, in the order of their ids, so that two merges of the same
 * readers run one after the other. Inserts that refer to them wait for the end of this transaction.
 */
export const lockReaders = (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<LockedReader[]> =>
  sql<LockedReader>(LOCK, [tenantId, ids])

const FIND_READER = statement(
  'find_reader_to_merge',
  `SELECT id FROM (
     SELECT id, 1 AS n FROM readers WHERE tenant_id = $1 AND id = $3 AND erasing_at IS NULL
     UNION ALL
     SELECT id, 2 FROM readers WHERE tenant_id = $1 AND external_id = $2 AND erasing_at IS NULL
     UNION ALL
     SELECT m.reader_id, 3 FROM readers r JOIN reader_merges m ON m.tenant_id = r.tenant_id AND m.alias_id = r.id
     WHERE r.tenant_id = $1 AND r.external_id = $2
   ) found ORDER BY n LIMIT 1`,
)

/** The reader with this id, or else with this external id, including merged readers. */
export const findReaderId = async (sql: Sql, tenantId: Id, name: string): Promise<Id | undefined> =>
  (await sql<{ id: Id }>(FIND_READER, [tenantId, name, isId(name) ? name : null]))[0]?.id

export interface Merge {
  intoId: Id
  /** Null once the merge is done. */
  mergingAt: Date | null
}

const FIND = statement(
  'find_reader_merge',
  `SELECT into_id AS "intoId", merging_at AS "mergingAt" FROM reader_merges WHERE tenant_id = $1 AND reader_id = $2`,
)

/** The target of a reader's merge, done or under way. */
export const findMerge = async (sql: Sql, tenantId: Id, readerId: Id): Promise<Merge | undefined> =>
  (await sql<Merge>(FIND, [tenantId, readerId]))[0]

// `infinity`, so that no worker, not even of an older release, takes it for an erasure to
// continue.
const BEGIN = statement(
  'begin_reader_merge',
  `WITH hidden AS (
     UPDATE readers SET erasing_at = 'infinity' WHERE tenant_id = $1 AND id = $2
   ),
   followed AS (
     UPDATE reader_merges SET into_id = $3 WHERE tenant_id = $1 AND into_id = $2
   )
   INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, merging_at, created_at) VALUES ($1, $2, $3, $2, $4, $4)`,
)

/**
 * Hides a reader: from now on no write finds it, and its external id leads to the target. The same
 * holds for readers who were merged into it. Both rows are locked.
 */
export const beginMerge = async (sql: Sql, tenantId: Id, readerId: Id, intoId: Id, now: Date): Promise<void> =>
  void (await sql(BEGIN, [tenantId, readerId, intoId, now]))

const SET_BAN = statement(
  'set_merged_ban',
  `UPDATE readers SET banned_at = $3, banned_until = $4, ban_reason = $5, shadow_banned = $6
   WHERE tenant_id = $1 AND id = $2`,
)

export const setBan = async (sql: Sql, tenantId: Id, readerId: Id, ban: StoredBan): Promise<void> =>
  void (await sql(SET_BAN, [tenantId, readerId, ban.bannedAt, ban.bannedUntil, ban.banReason, ban.shadowBanned]))

// KEY SHARE: no erasure or further merge of the target can begin before this transaction ends.
const TARGET = statement(
  'lock_merge_target',
  `SELECT r.id, r.external_id AS "externalId", r.name, r.avatar_url AS "avatarUrl", r.profile_url AS "profileUrl"
   FROM reader_merges m JOIN readers r ON r.tenant_id = m.tenant_id AND r.id = m.into_id
   WHERE m.tenant_id = $1 AND m.reader_id = $2 AND m.merging_at IS NOT NULL AND r.erasing_at IS NULL
   FOR KEY SHARE OF r`,
)

/** The target of the reader's merge. Undefined if it has just changed, or the merge is over. */
export const lockTarget = async (sql: Sql, tenantId: Id, readerId: Id): Promise<Reader | undefined> =>
  (await sql<Reader>(TARGET, [tenantId, readerId]))[0]

const TOUCH = statement(
  'touch_reader_merge',
  'UPDATE reader_merges SET merging_at = $3 WHERE tenant_id = $1 AND reader_id = $2 AND merging_at IS NOT NULL',
)

/** Renews the heartbeat, so that no other process takes the merge over. */
export const touchMerge = async (sql: Sql, tenantId: Id, readerId: Id, now: Date): Promise<void> =>
  void (await sql(TOUCH, [tenantId, readerId, now]))

const TAKE_UP = statement(
  'take_up_reader_merge',
  `UPDATE reader_merges m SET merging_at = $1
   FROM (
     SELECT tenant_id, reader_id FROM reader_merges WHERE merging_at < $2
     ORDER BY merging_at LIMIT 1 FOR UPDATE SKIP LOCKED
   ) due
   WHERE m.tenant_id = due.tenant_id AND m.reader_id = due.reader_id
   RETURNING m.tenant_id AS "tenantId", m.reader_id AS "readerId"`,
)

/** Takes over a merge without a heartbeat since `before`. Only one caller gets it. */
export const takeUpMerge = async (
  sql: Sql,
  now: Date,
  before: Date,
): Promise<{ tenantId: Id; readerId: Id } | undefined> =>
  (await sql<{ tenantId: Id; readerId: Id }>(TAKE_UP, [now, before]))[0]

const RENAME = statement(
  'free_merged_name',
  `UPDATE readers SET external_id = 'merged:' || gen_random_uuid() WHERE tenant_id = $1 AND id = $2 RETURNING tenant_id AS "tenantId"`,
)

// A new row: foreign keys to the reader's own row must fail, because a write that found the reader
// before the merge may end long after it.
const KEEP_NAME = statement(
  'keep_merged_name',
  `WITH kept AS (
     INSERT INTO readers (tenant_id, id, external_id, profile_issued_at, erasing_at)
     VALUES ($1, $3, $4, CURRENT_TIMESTAMP, 'infinity')
   )
   UPDATE reader_merges SET alias_id = $3, merging_at = NULL WHERE tenant_id = $1 AND reader_id = $2`,
)

const REMOVE = statement('remove_merged_reader', 'DELETE FROM readers WHERE tenant_id = $1 AND id = $2')

/**
 * Deletes the reader, to whom no row refers any more. A hidden row keeps the external id, so that
 * no new reader gets it. The reader's row is locked.
 */
export async function endMerge(sql: Sql, tenantId: Id, { id, externalId }: LockedReader, aliasId: Id): Promise<void> {
  await sql(RENAME, [tenantId, id])
  await sql(KEEP_NAME, [tenantId, id, aliasId, externalId])
  await sql(REMOVE, [tenantId, id])
}
