import { typesOf } from '../../core/fields.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import * as discussions from '../../domains/discussions/fields.ts'
import * as readers from '../../domains/readers/fields.ts'
import { aliasesOf, aliasOf } from '../../domains/discussions/aliases.ts'
import { IS_HERE } from '../../domains/discussions/row.ts'
import { arraysOf, insertion, namesOf, rowsOf } from './columns-sql.ts'

// Readers and discussions. Those with the same external id are the same.

export interface FoundByName {
  id: Id
  externalId: string
}

export type NewReader = Pick<readers.Stored, readers.ExportedColumn>

const READER = typesOf(readers.FIELDS, readers.EXPORTED)

const INSERT_READERS = insertion(
  'import_readers',
  'readers',
  READER,
  'ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id',
)

/** Returns the ids of new ones. */
export const insertReaders = (sql: Sql, tenantId: Id, rows: readonly NewReader[]): Promise<{ id: Id }[]> =>
  sql(INSERT_READERS, [tenantId, ...arraysOf(READER, rows)])

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

/**
 * Also locks them: an erasure waits for the end of the transaction, or ends first. A merged reader
 * is found as the target, under either external id.
 */
export const findReaders = statement(
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
).rows<[tenantId: Id, externalIds: readonly string[], ids: readonly Id[]], FoundByName>()

/** Deletes readers that the same transaction has inserted. */
export const removeInserted = async ({ prisma }: TxSql, tenantId: Id, ids: readonly Id[]): Promise<void> => {
  if (ids.length > 0) await prisma.reader.deleteMany({ where: { tenantId, id: { in: [...ids] } } })
}

export type NewDiscussion = Pick<discussions.Stored, discussions.ExportedColumn>

const DISCUSSION = typesOf(discussions.FIELDS, discussions.EXPORTED)

const INSERT_DISCUSSIONS = statement(
  'import_discussions',
  `INSERT INTO discussions (tenant_id, ${namesOf(DISCUSSION)})
   SELECT $1, ${namesOf(DISCUSSION).replace('active_at', "date_trunc('minute', active_at)")} FROM ${rowsOf(DISCUSSION, 2)}
   WHERE NOT EXISTS (${aliasOf('$1', 't.external_id')})
   ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id`,
)

/** Returns the ids of new ones. A former external id leads to a discussion that is there. */
export const insertDiscussions = (sql: Sql, tenantId: Id, rows: readonly NewDiscussion[]): Promise<{ id: Id }[]> =>
  sql(INSERT_DISCUSSIONS, [tenantId, ...arraysOf(DISCUSSION, rows)])

export const findDiscussions = statement(
  'import_discussions_by_name',
  `SELECT id, external_id AS "externalId" FROM discussions
   WHERE tenant_id = $1 AND (external_id = ANY($2::text[]) OR id = ANY($3::uuid[])) AND ${IS_HERE}
   UNION ALL
   SELECT discussion_id, external_id FROM ${aliasesOf('$1', '$2')} a`,
).rows<[tenantId: Id, externalIds: readonly string[], ids: readonly Id[]], FoundByName>()

/**
 * Brings back deleted discussions under their own ids, where nothing of them is left to remove and
 * no other one has their external ids. Returns those.
 */
export async function reviveDiscussions(sql: TxSql, tenantId: Id, rows: readonly NewDiscussion[]): Promise<Set<Id>> {
  const where = { tenantId, deletedAt: { not: null }, removalDueAt: null }
  const ids = rows.map(({ id }) => id)
  const deleted = await sql.prisma.discussion.findMany({
    where: { ...where, id: { in: ids } },
    select: { id: true, seq: true },
  })
  const seqs = new Map(deleted.map(({ id, seq }) => [id, seq]))
  const mine = rows.filter(({ id }) => seqs.has(id))
  if (mine.length === 0) return new Set()
  const names = mine.map(({ externalId }) => externalId)
  const taken = new Set((await findDiscussions(sql, tenantId, names, [])).map(({ externalId }) => externalId))
  const free = mine.filter(({ externalId }) => !taken.has(externalId))
  const revived = new Set<Id>()
  // In the order in which all writers lock.
  for (const row of free.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    const stored = Object.fromEntries(discussions.EXPORTED.map((name) => [name, row[name]]))
    // A client may know a later position than the file does.
    const seq = Math.max(row.seq, Number(seqs.get(row.id)))
    const activeAt = new Date(Math.floor(row.activeAt.getTime() / 60_000) * 60_000)
    const data = { ...stored, seq, activeAt, deletedAt: null }
    if ((await sql.prisma.discussion.updateMany({ where: { ...where, id: row.id }, data })).count > 0)
      revived.add(row.id)
  }
  return revived
}
