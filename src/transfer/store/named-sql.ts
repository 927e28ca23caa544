import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { aliasesOf, aliasOf } from '../../domains/discussions/aliases.ts'
import { arraysOf, namesOf, rowsOf } from '../export/columns-sql.ts'
import type { ImportedDiscussion, ImportedReader } from '../import/imported.ts'

// Readers and discussions. Those with the same external id are the same.

export interface FoundByName {
  id: Id
  externalId: string
}

export type NewReader = Omit<
  ImportedReader,
  'kind' | 'key' | 'place' | 'keptId' | 'item' | 'formerly' | 'createdAt' | 'profileIssuedAt'
> & { id: Id; profileIssuedAt: Date; createdAt: Date }

const READER = {
  id: 'uuid',
  externalId: 'text',
  name: 'text',
  avatarUrl: 'text',
  profileUrl: 'text',
  profileIssuedAt: 'timestamptz',
  bannedAt: 'timestamptz',
  bannedUntil: 'timestamptz',
  banReason: 'text',
  shadowBanned: 'bool',
  createdAt: 'timestamptz',
} as const satisfies Record<keyof NewReader, string>

const INSERT_READERS = statement(
  'import_readers',
  `INSERT INTO readers (tenant_id, ${namesOf(READER)}) SELECT $1, ${namesOf(READER)} FROM ${rowsOf(READER, 2)}
   ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id`,
)

/** Returns the ids of new ones. */
export const insertReaders = (sql: Sql, tenantId: Id, rows: readonly NewReader[]): Promise<{ id: Id }[]> =>
  sql<{ id: Id }>(INSERT_READERS, [tenantId, ...arraysOf(READER, rows)])

export interface NewFormer {
  id: Id
  /** The reader into whom they were merged. */
  intoId: Id
  /** The hidden row that keeps the external id. */
  aliasId: Id
  externalId: string
  mergedAt: Date
}

const FORMER = {
  id: 'uuid',
  intoId: 'uuid',
  aliasId: 'uuid',
  externalId: 'text',
  mergedAt: 'timestamptz',
} as const satisfies Record<keyof NewFormer, string>

// Makes the same rows as a merge.
const INSERT_FORMER = statement(
  'import_former_readers',
  `WITH former AS (
     SELECT * FROM ${rowsOf(FORMER, 2)}
     WHERE NOT EXISTS (SELECT FROM readers r WHERE r.tenant_id = $1 AND r.id = t.id)
       AND NOT EXISTS (SELECT FROM reader_merges m WHERE m.tenant_id = $1 AND m.reader_id = t.id)
   ),
   kept AS (
     INSERT INTO readers (tenant_id, id, external_id, profile_issued_at, erasing_at)
     SELECT $1, alias_id, external_id, merged_at, 'infinity' FROM former
     ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id
   )
   INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, created_at)
   SELECT $1, f.id, f.into_id, f.alias_id, f.merged_at FROM former f JOIN kept k ON k.id = f.alias_id
   RETURNING alias_id AS "aliasId"`,
)

/**
 * Makes the external ids of former readers lead to the readers into whom they were merged. Returns
 * the hidden rows of those whose id and external id were free.
 */
export const insertFormer = async (sql: Sql, tenantId: Id, rows: readonly NewFormer[]): Promise<Set<Id>> => {
  if (rows.length === 0) return new Set()
  const inserted = await sql<{ aliasId: Id }>(INSERT_FORMER, [tenantId, ...arraysOf(FORMER, rows)])
  return new Set(inserted.map(({ aliasId }) => aliasId))
}

const READERS_BY_NAME = statement(
  'import_readers_by_name',
  `WITH named AS MATERIALIZED (
     SELECT r.id, r.external_id FROM unnest($2::text[]) AS k (name) CROSS JOIN LATERAL (
       SELECT id, external_id FROM readers WHERE tenant_id = $1 AND external_id = k.name LIMIT 1) r
     UNION
     SELECT r.id, r.external_id FROM unnest($3::uuid[]) AS k (id) CROSS JOIN LATERAL (
       SELECT id, external_id FROM readers WHERE tenant_id = $1 AND id = k.id LIMIT 1) r
   ),
   followed AS MATERIALIZED (
     SELECT coalesce(m.into_id, n.id) AS id, n.external_id FROM named n LEFT JOIN LATERAL (
       SELECT into_id FROM reader_merges WHERE tenant_id = $1 AND alias_id = n.id LIMIT 1) m ON true
   )
   SELECT r.id, f.external_id AS "externalId" FROM (SELECT * FROM followed ORDER BY id) f CROSS JOIN LATERAL (
     SELECT id FROM readers WHERE tenant_id = $1 AND id = f.id AND erasing_at IS NULL LIMIT 1 FOR KEY SHARE) r`,
)

/**
 * Also locks them: an erasure waits for the end of the transaction, or ends first. A merged reader
 * is found as the target, under either external id.
 */
export const findReaders = (
  sql: Sql,
  tenantId: Id,
  externalIds: readonly string[],
  ids: readonly Id[],
): Promise<FoundByName[]> => sql<FoundByName>(READERS_BY_NAME, [tenantId, externalIds, ids])

const REMOVE_INSERTED = statement(
  'remove_inserted_readers',
  'DELETE FROM readers WHERE tenant_id = $1 AND id = ANY($2::uuid[])',
)

/** Deletes readers that the same transaction has inserted. */
export const removeInserted = async (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<void> => {
  if (ids.length > 0) await sql(REMOVE_INSERTED, [tenantId, ids])
}

export type NewDiscussion = Omit<
  ImportedDiscussion,
  'kind' | 'key' | 'place' | 'keptId' | 'item' | 'lacksAddress' | 'createdAt' | 'updatedAt' | 'activeAt'
> & { id: Id; createdAt: Date; updatedAt: Date; activeAt: Date }

const DISCUSSION = {
  id: 'uuid',
  externalId: 'text',
  title: 'text',
  url: 'text',
  state: 'discussion_state',
  seq: 'bigint',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
  lastCommentedAt: 'timestamptz',
  activeAt: 'timestamptz',
  autoClosedAt: 'timestamptz',
} as const satisfies Record<keyof NewDiscussion, string>

const INSERT_DISCUSSIONS = statement(
  'import_discussions',
  `INSERT INTO discussions (tenant_id, ${namesOf(DISCUSSION)})
   SELECT $1, ${namesOf(DISCUSSION).replace('active_at', "date_trunc('minute', active_at)")} FROM ${rowsOf(DISCUSSION, 2)}
   WHERE NOT EXISTS (${aliasOf('$1', 't.external_id')})
   ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id`,
)

/** Returns the ids of new ones. A former external id leads to a discussion that is there. */
export const insertDiscussions = (sql: Sql, tenantId: Id, rows: readonly NewDiscussion[]): Promise<{ id: Id }[]> =>
  sql<{ id: Id }>(INSERT_DISCUSSIONS, [tenantId, ...arraysOf(DISCUSSION, rows)])

const DISCUSSIONS_BY_NAME = statement(
  'import_discussions_by_name',
  `SELECT id, external_id AS "externalId" FROM discussions
   WHERE tenant_id = $1 AND (external_id = ANY($2::text[]) OR id = ANY($3::uuid[]))
   UNION ALL
   SELECT discussion_id, external_id FROM ${aliasesOf('$1', '$2')} a`,
)

export const findDiscussions = (
  sql: Sql,
  tenantId: Id,
  externalIds: readonly string[],
  ids: readonly Id[],
): Promise<FoundByName[]> => sql<FoundByName>(DISCUSSIONS_BY_NAME, [tenantId, externalIds, ids])
