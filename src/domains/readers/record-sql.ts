import { type Id, LAST_ID } from '../../core/ids.ts'
import { findFirst, searched, searchedNear } from '../../core/search.ts'
import { type Sql, type Statement, statement } from '../../core/sql.ts'

export interface ReaderRecordRow {
  id: Id
  externalId: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
  bannedAt: Date | null
  bannedUntil: Date | null
  banReason: string | null
  shadowBanned: boolean
  createdAt: Date
}

// Whose erasure has begun is nobody's reader any more.
const COLUMNS = `id, external_id AS "externalId", name, avatar_url AS "avatarUrl", profile_url AS "profileUrl",
  banned_at AS "bannedAt", banned_until AS "bannedUntil", ban_reason AS "banReason", shadow_banned AS "shadowBanned",
  created_at AS "createdAt"`

const BY_ID = statement(
  'reader_by_id',
  `SELECT ${COLUMNS} FROM readers WHERE tenant_id = $1 AND id = $2 AND erasing_at IS NULL`,
)

export const selectReader = async (sql: Sql, tenantId: Id, id: Id): Promise<ReaderRecordRow | undefined> =>
  (await sql<ReaderRecordRow>(BY_ID, [tenantId, id]))[0]

const LOCK = statement('lock_reader', `${BY_ID.text} FOR NO KEY UPDATE`)

/** A reader whose row is locked until the transaction ends. */
export const lockReader = async (sql: Sql, tenantId: Id, id: Id): Promise<ReaderRecordRow | undefined> =>
  (await sql<ReaderRecordRow>(LOCK, [tenantId, id]))[0]

const LIST = statement(
  'list_readers',
  `SELECT ${COLUMNS} FROM readers WHERE tenant_id = $1 AND id < $2 AND erasing_at IS NULL ORDER BY id DESC LIMIT $3`,
)

const OF_SEARCH = [
  'readers',
  'erasing_at IS NULL AND ($3::text IS NULL OR external_id = $3)',
  '$1',
  '$4::text',
] as const

const searchIn = (name: string, from: string): Statement =>
  statement(name, `SELECT ${COLUMNS} FROM ${from} WHERE id < $2 ORDER BY id DESC LIMIT $5`)

const SEARCH = {
  near: searchIn('search_readers_near', searchedNear(...OF_SEARCH, { before: 'id < $2', order: 'id DESC' })),
  all: searchIn('search_readers', searched(...OF_SEARCH)),
}

const BY_EXTERNAL_ID = statement(
  'reader_by_external_id',
  `SELECT ${COLUMNS} FROM readers WHERE tenant_id = $1 AND id < $2 AND external_id = $3 AND erasing_at IS NULL`,
)

interface ReaderFilter {
  externalId: string | null
  search: string | null
}

/** Newest first, those older than `before`; with an external id at most one. */
export function listReaders(
  sql: Sql,
  tenantId: Id,
  { externalId, search }: ReaderFilter,
  before: Id | null,
  limit: number,
): Promise<ReaderRecordRow[]> {
  const from = [tenantId, before ?? LAST_ID]
  if (search !== null) return findFirst(sql, SEARCH, [...from, externalId, search, limit], limit)
  if (externalId !== null) return sql<ReaderRecordRow>(BY_EXTERNAL_ID, [...from, externalId])
  return sql<ReaderRecordRow>(LIST, [...from, limit])
}

export interface BanRow {
  bannedAt: Date
  until: Date | null
  reason: string | null
  shadow: boolean
}

const SET_BAN = statement(
  'set_reader_ban',
  `UPDATE readers SET banned_at = $3, banned_until = $4, ban_reason = $5, shadow_banned = $6
   WHERE tenant_id = $1 AND id = $2`,
)

/** Puts a ban in the place of another one; null ends it. */
export const setBan = async (sql: Sql, tenantId: Id, id: Id, ban: BanRow | null): Promise<void> =>
  void (await sql(SET_BAN, [
    tenantId,
    id,
    ban?.bannedAt ?? null,
    ban?.until ?? null,
    ban?.reason ?? null,
    ban?.shadow ?? false,
  ]))
