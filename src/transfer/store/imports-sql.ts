import { FIRST_ID, type Id } from '../../core/ids.ts'
import { columns } from '../../core/database/lists.ts'
import type { Prisma, Sql, TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { ReadItem } from './imported.ts'
import { type Key, nameKey } from '../../domains/imports/keys.ts'
import type { ImportFindings, TableUses, TransferCounts } from '../../domains/imports/report.ts'
import { findItems } from './sql.ts'

const TRY_LOCK = statement(
  'import_try_lock',
  `SELECT pg_try_advisory_xact_lock(hashtextextended('import ' || $1::uuid, 0)) AS "isHeld"`,
)

/** False if another process runs an import of the tenant. */
export const tryLockImports = async (sql: Sql, tenantId: Id): Promise<boolean> =>
  (await sql<{ isHeld: boolean }>(TRY_LOCK, [tenantId]))[0]?.isHeld === true

// A query keeps its snapshot until the next statement of its transaction. Such a snapshot would
// keep PostgreSQL from removing replaced row versions, those of the import itself.
/**
 * Keeps a transaction from being ended as idle, and releases the snapshot of its last statement.
 */
export const ping = statement('import_ping', 'SHOW transaction_isolation').run()

export interface ImportRow {
  id: Id
  source: string
  fileName: string
  counts: TransferCounts
  changed: Partial<ImportFindings>
  startedAt: Date
}

/** The tenant's oldest import; undefined if it has none. */
export const findFirstImport = async (prisma: Prisma, tenantId: Id): Promise<Id | undefined> =>
  (await prisma.import.findFirst({ where: { tenantId }, orderBy: { id: 'asc' }, select: { id: true } }))?.id

/** The interrupted import of this file, or null. */
export async function findUnfinished(
  prisma: Prisma,
  tenantId: Id,
  source: string,
  fileName: string,
): Promise<ImportRow | null> {
  const found = await prisma.import.findFirst({
    where: { tenantId, source, fileName, finishedAt: null, undoneAt: null },
    orderBy: { id: 'desc' },
  })
  return found as ImportRow | null
}

const BEGIN = statement(
  'begin_import',
  `INSERT INTO imports (tenant_id, id, source, file_name, started_at)
   SELECT id, $2, $3, $4, $5 FROM tenants WHERE id = $1 FOR SHARE ON CONFLICT DO NOTHING`,
)

/**
 * The tenant's row is locked, so that later erasures know of this import. Repeating it changes
 * nothing.
 */
export const insertImport = (sql: Sql, tenantId: Id, row: Omit<ImportRow, 'counts' | 'changed'>): Promise<unknown> =>
  sql(BEGIN, [tenantId, row.id, row.source, row.fileName, row.startedAt])

export interface ImportProgress {
  counts: TransferCounts
  changed: ImportFindings
}

/** Stores an import's progress, in the transaction that makes it. */
export const noteProgress = (
  { prisma }: TxSql,
  tenantId: Id,
  id: Id,
  { counts, changed }: ImportProgress,
): Promise<unknown> =>
  prisma.import.updateMany({
    where: { tenantId, id },
    data: { counts: { ...counts }, changed: { ...changed, first: changed.first.map((finding) => ({ ...finding })) } },
  })

// A transaction whose answer was lost may still be committing: the lock waits for it.
/** Undefined if there is no such import. */
export const findProgress = statement(
  'import_progress',
  'SELECT counts, changed FROM imports WHERE tenant_id = $1 AND id = $2 FOR SHARE',
).first<[tenantId: Id, importId: Id], ImportProgress>()

const FINISH = statement(
  'finish_import',
  `WITH names AS (DELETE FROM import_items WHERE tenant_id = $1 AND import_id = $2 AND kind = 'name')
   UPDATE imports SET finished_at = $3, refused = $4::jsonb, tables = $5::jsonb
   WHERE tenant_id = $1 AND id = $2 AND finished_at IS NULL RETURNING id`,
)

/** False if it is finished already, or deleted. */
export const finishImport = async (
  sql: Sql,
  tenantId: Id,
  importId: Id,
  { now, refused, tables }: { now: Date; refused: ImportFindings; tables: TableUses | null },
): Promise<boolean> => {
  const used = tables === null ? null : JSON.stringify(tables)
  return (await sql<{ id: Id }>(FINISH, [tenantId, importId, now, JSON.stringify(refused), used])).length > 0
}

const REMOVE = statement(
  'remove_import',
  `DELETE FROM imports WHERE tenant_id = $1 AND id = $2
     AND NOT EXISTS (SELECT FROM import_items WHERE tenant_id = $1 AND import_id = $2 AND kind <> 'name') RETURNING id`,
)

/** Deletes an import without new items. Returns false if it has any. */
export const removeImport = async (sql: Sql, tenantId: Id, importId: Id): Promise<boolean> =>
  (await sql<{ id: Id }>(REMOVE, [tenantId, importId])).length > 0

// Items that wait for other items.

export interface WaitingItem {
  key: Key
  /** The parent of a comment; the comment of a reaction or report. */
  commentKey: Key | null
  readerKey: Key | null
  place: string
  item: ReadItem
}

const WAIT = statement(
  'insert_waiting_items',
  `INSERT INTO import_waiting (tenant_id, import_id, key, comment_key, reader_key, place, item)
   SELECT $1, $2, t.* FROM unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::jsonb[]) AS t
   ON CONFLICT DO NOTHING`,
)

export const insertWaiting = async (
  sql: Sql,
  tenantId: Id,
  importId: Id,
  items: readonly WaitingItem[],
): Promise<void> => {
  if (items.length === 0) return
  await sql(WAIT, [
    tenantId,
    importId,
    ...columns(items, 'key', 'commentKey', 'readerKey', 'place'),
    items.map(({ item }) => JSON.stringify(item)),
  ])
}

export interface WaitedItem {
  key: Key
  place: string
  /** Null for a reader who was erased since. */
  item: ReadItem | null
}

// Without statistics of so new a table, PostgreSQL would compare every row with every other. LIMIT
// and OFFSET make it look each one up in an index.

const ROOTS = statement(
  'waiting_import_roots',
  `SELECT w.key, w.place, w.item FROM import_waiting w
   WHERE w.tenant_id = $1 AND w.import_id = $2 AND w.key > $3 AND (
     SELECT p.key FROM import_waiting p
     WHERE p.tenant_id = $1 AND p.import_id = $2 AND p.key = w.comment_key LIMIT 1) IS NULL
   ORDER BY w.key LIMIT $4`,
)

/** Items after the key `after` that wait for no other waiting item. */
export const selectWaitingRoots = (
  sql: Sql,
  tenantId: Id,
  importId: Id,
  { after, limit }: { after: Key | null; limit: number },
): Promise<WaitedItem[]> => sql(ROOTS, [tenantId, importId, after ?? FIRST_ID, limit])

const BELOW = statement(
  'waiting_import_items_below',
  `WITH RECURSIVE below AS (
     SELECT w.* FROM unnest($3::uuid[]) AS k (key) CROSS JOIN LATERAL (
       SELECT key, place, item FROM import_waiting
       WHERE tenant_id = $1 AND import_id = $2 AND comment_key = k.key OFFSET 0) w
     UNION ALL
     SELECT w.* FROM below b CROSS JOIN LATERAL (
       SELECT key, place, item FROM import_waiting
       WHERE tenant_id = $1 AND import_id = $2 AND comment_key = b.key OFFSET 0) w
   )
   SELECT key, place, item FROM below LIMIT $4`,
)

/** Items that wait for these comments, and those that wait for them, and so on: parents first. */
export const selectWaitingBelow = (
  sql: Sql,
  tenantId: Id,
  importId: Id,
  { keys, limit }: { keys: readonly Key[]; limit: number },
): Promise<WaitedItem[]> => sql(BELOW, [tenantId, importId, keys, limit])

/** A waiting comment, and its parent. */
export interface WaitingLink {
  key: Key
  commentKey: Key | null
}

// UNION stops at a comment that was visited before.
/** Any waiting item, the comment that it waits for, and so on upwards while those wait too. */
export const selectPathUp = statement(
  'waiting_import_path',
  `WITH RECURSIVE path AS (
     (SELECT key, comment_key FROM import_waiting WHERE tenant_id = $1 AND import_id = $2 ORDER BY key LIMIT 1)
     UNION
     SELECT w.* FROM path p CROSS JOIN LATERAL (
       SELECT key, comment_key FROM import_waiting
       WHERE tenant_id = $1 AND import_id = $2 AND key = p.comment_key OFFSET 0) w
   )
   SELECT key, comment_key AS "commentKey" FROM path`,
).rows<[tenantId: Id, importId: Id], WaitingLink>()

/** Null if it waits no longer. */
export async function findWaiting(prisma: Prisma, tenantId: Id, importId: Id, key: Key): Promise<WaitedItem | null> {
  const where = { tenantId_key_importId: { tenantId, key, importId } }
  return (await prisma.waitingImport.findUnique({ where })) as WaitedItem | null
}

// Not by `ctid`: an erasure may change a row meanwhile (`forgetReaderItems`), and it would stay.
const DONE = statement(
  'delete_waiting_items',
  `DELETE FROM import_waiting
   WHERE tenant_id = $1 AND import_id IS NOT DISTINCT FROM $2 AND key = ANY($3::uuid[])`,
)

export const deleteWaiting = async (sql: Sql, tenantId: Id, importId: Id, keys: readonly Key[]): Promise<void> => {
  if (keys.length > 0) await sql(DONE, [tenantId, importId, keys])
}

/** Those of these external ids whose readers were erased during the import. */
export async function findErasedNames(
  sql: Sql,
  tenantId: Id,
  importId: Id,
  externalIds: readonly string[],
): Promise<Set<string>> {
  const byKey = new Map(externalIds.map((externalId) => [nameKey(importId, externalId), externalId]))
  const found = await findItems(sql, tenantId, [...byKey.keys()])
  return new Set(found.flatMap(({ key }) => byKey.get(key) ?? []))
}
