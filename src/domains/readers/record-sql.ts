import type { Id } from '../../core/ids.ts'
import { findFirst, searched, searchedNear } from '../../core/database/search.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { Reader } from '../../generated/prisma/client.ts'
import { READER_COLUMNS } from './fields.ts'

const LOCK = statement(
  'lock_reader',
  'SELECT erasing_at IS NULL AS "isHere" FROM readers WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE',
)

/**
 * Locks a reader of the tenant, if there is one, until the transaction ends. False without one, and
 * if an erasure or a merge of them has begun.
 */
export const lockReader = async (sql: Sql, tenantId: Id, id: Id): Promise<boolean> =>
  (await sql<{ isHere: boolean }>(LOCK, [tenantId, id]))[0]?.isHere ?? false

// A hidden row keeps the external id of a merged reader.
/** The reader with this external id, or the one into whom that reader was merged. */
export const findReaderCalled = statement(
  'find_reader_called',
  `SELECT ${READER_COLUMNS} FROM readers WHERE tenant_id = $1 AND erasing_at IS NULL AND id = (
     SELECT coalesce(m.into_id, r.id) FROM readers r
     LEFT JOIN reader_merges m ON m.tenant_id = r.tenant_id AND m.alias_id = r.id
     WHERE r.tenant_id = $1 AND r.external_id = $2)`,
).first<[tenantId: Id, externalId: string], Reader>()

/** The readers with these external ids, or those into whom they were merged. */
export const selectReaderIds = statement(
  'reader_ids_by_external_id',
  `SELECT coalesce(m.into_id, r.id) AS id, r.external_id AS "externalId"
   FROM (SELECT DISTINCT unnest($2::text[]) AS external_id) k CROSS JOIN LATERAL (
     SELECT id, external_id FROM readers WHERE tenant_id = $1 AND external_id = k.external_id LIMIT 1) r
   LEFT JOIN LATERAL (
     SELECT into_id FROM reader_merges WHERE tenant_id = $1 AND alias_id = r.id LIMIT 1) m ON true`,
).rows<[tenantId: Id, externalIds: readonly string[]], { id: Id; externalId: string }>()

const OF_SEARCH = [
  'readers',
  'erasing_at IS NULL AND ($3::text IS NULL OR external_id = $3) AND id IS DISTINCT FROM $6',
  '$1',
  '$4::text',
] as const

const searchIn = <Name extends string>(name: Name, from: string) =>
  statement(name, `SELECT ${READER_COLUMNS} FROM ${from} WHERE id < $2 ORDER BY id DESC LIMIT $5`)

const SEARCH = {
  near: searchIn('search_readers_near', searchedNear(...OF_SEARCH, { before: 'id < $2', order: 'id DESC' })),
  all: searchIn('search_readers', searched(...OF_SEARCH)),
}

interface Search {
  search: string
  externalId: string | null
  /** Excludes this reader. */
  except: Id | null
  /** Only readers older than this id. */
  before: Id
  limit: number
}

/** The readers that match a search, newest first. */
export const searchReaders = (
  sql: Sql,
  tenantId: Id,
  { search, externalId, except, before, limit }: Search,
): Promise<Reader[]> => findFirst(sql, SEARCH, [tenantId, before, externalId, search, limit, except], limit)
