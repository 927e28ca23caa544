import { FIRST_ID, type Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { Item } from './item.ts'
import type { Key } from './keys.ts'
import type { Findings, Counts } from './report.ts'

const TRY_LOCK = statement(
  'import_try_lock',
  `SELECT pg_try_advisory_xact_lock(hashtextextended('import ' || $1::uuid, 0)) AS "isHeld"`,
)

/** False where another process is at an import of the tenant. */
export const tryLockImports = async (sql: Sql, tenantId: Id): Promise<boolean> =>
  (await sql<{ isHeld: boolean }>(TRY_LOCK, [tenantId]))[0]?.isHeld === true

const PING = statement('import_ping', 'SELECT 1')

/** Keeps a transaction from being taken for one that was forgotten. */
export const ping = (sql: Sql): Promise<unknown> => sql(PING)

export interface ImportRow {
  id: Id
  source: string
  fileName: string
  counts: Counts
  changed: Partial<Findings>
  startedAt: Date
}

const FIRST = statement('first_import', 'SELECT id FROM imports WHERE tenant_id = $1 ORDER BY id LIMIT 1')

/** The tenant's oldest import; undefined where it has none. */
export const findFirstImport = async (sql: Sql, tenantId: Id): Promise<Id | undefined> =>
  (await sql<{ id: Id }>(FIRST, [tenantId]))[0]?.id

const UNFINISHED = statement(
  'unfinished_import',
  `SELECT id, source, file_name AS "fileName", counts, changed, started_at AS "startedAt" FROM imports
   WHERE tenant_id = $1 AND source = $2 AND file_name = $3 AND finished_at IS NULL AND undone_at IS NULL
   ORDER BY id DESC LIMIT 1`,
)

/** The import of this file that was cut off. */
export const findUnfinished = async (
  sql: Sql,
  tenantId: Id,
  source: string,
  fileName: string,
): Promise<ImportRow | undefined> => (await sql<ImportRow>(UNFINISHED, [tenantId, source, fileName]))[0]

const BEGIN = statement(
  'begin_import',
  'INSERT INTO imports (tenant_id, id, source, file_name, started_at) VALUES ($1, $2, $3, $4, $5)',
)

export const insertImport = (sql: Sql, tenantId: Id, row: Omit<ImportRow, 'counts' | 'changed'>): Promise<unknown> =>
  sql(BEGIN, [tenantId, row.id, row.source, row.fileName, row.startedAt])

const NOTE = statement(
  'note_import_progress',
  'UPDATE imports SET counts = $3::jsonb, changed = $4::jsonb WHERE tenant_id = $1 AND id = $2',
)

/** Says how far an import has come, in the transaction that brings it so far. */
export const noteProgress = (
  sql: Sql,
  tenantId: Id,
  importId: Id,
  counts: Counts,
  changed: Findings,
): Promise<unknown> => sql(NOTE, [tenantId, importId, JSON.stringify(counts), JSON.stringify(changed)])

const FINISH = statement(
  'finish_import',
  'UPDATE imports SET finished_at = $3, refused = $4::jsonb WHERE tenant_id = $1 AND id = $2',
)

export const finishImport = (
  sql: Sql,
  tenantId: Id,
  importId: Id,
  { now, refused }: { now: Date; refused: Findings },
): Promise<unknown> => sql(FINISH, [tenantId, importId, now, JSON.stringify(refused)])

const REMOVE = statement('remove_import', 'DELETE FROM imports WHERE tenant_id = $1 AND id = $2')

/** Forgets an import that has brought nothing. */
export const removeImport = (sql: Sql, tenantId: Id, importId: Id): Promise<unknown> =>
  sql(REMOVE, [tenantId, importId])

// What waits for an item that has not come yet.

export interface WaitingItem {
  key: Key
  discussionKey: Key | null
  commentKey: Key | null
  readerKey: Key | null
  place: string
  /** As it stands in the file. */
  item: Item
}

const WAIT = statement(
  'insert_waiting_items',
  `INSERT INTO import_waiting (tenant_id, import_id, key, discussion_key, comment_key, reader_key, place, item)
   SELECT $1, $2, t.* FROM unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::jsonb[]) AS t
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
    items.map(({ key }) => key),
    items.map(({ discussionKey }) => discussionKey),
    items.map(({ commentKey }) => commentKey),
    items.map(({ readerKey }) => readerKey),
    items.map(({ place }) => place),
    items.map(({ item }) => JSON.stringify(item)),
  ])
}

const isMissing = (key: string): string =>
  `${key} IS NOT NULL AND NOT EXISTS (SELECT FROM import_items i WHERE i.tenant_id = w.tenant_id AND i.key = ${key})`

const waiting = <Name extends string>(name: Name, condition: string) =>
  statement(
    name,
    `SELECT w.key, w.place, w.item FROM import_waiting w
     WHERE w.tenant_id = $1 AND w.import_id = $2 AND w.key > $3 AND ${condition} ORDER BY w.key LIMIT $4`,
  )

const READY = waiting(
  'ready_import_items',
  `NOT (${isMissing('w.discussion_key')}) AND NOT (${isMissing('w.comment_key')}) AND NOT (${isMissing('w.reader_key')})`,
)

// Its parent, or what else it hangs on, will never come: no item of that key waits either.
const STRANDED = waiting(
  'stranded_import_items',
  `NOT EXISTS (SELECT FROM import_waiting p
     WHERE p.tenant_id = w.tenant_id AND p.import_id = w.import_id AND p.key = w.comment_key)`,
)

const ANY = waiting('any_import_items', 'true')

export interface WaitedItem {
  key: Key
  place: string
  item: Item
}

const WAITING = { ready: READY, stranded: STRANDED, any: ANY }

/**
 * Items that wait, after the key `after`: those whose every other item has come (`ready`), or those
 * that wait for what no item that waits brings (`stranded`), or any.
 */
export const selectWaiting = (
  sql: Sql,
  which: keyof typeof WAITING,
  { tenantId, importId, after, limit }: { tenantId: Id; importId: Id; after: Key | null; limit: number },
): Promise<WaitedItem[]> => sql<WaitedItem>(WAITING[which], [tenantId, importId, after ?? FIRST_ID, limit])

const PARENT = statement(
  'waiting_parent',
  `SELECT w.comment_key AS "commentKey" FROM import_waiting w WHERE w.tenant_id = $1 AND w.import_id = $2 AND w.key = $3`,
)

/** What a comment that waits replies to; null where it does not wait. */
export const findWaitingParent = async (sql: Sql, tenantId: Id, importId: Id, key: Key): Promise<Key | null> =>
  (await sql<{ commentKey: Key | null }>(PARENT, [tenantId, importId, key]))[0]?.commentKey ?? null

const BY_KEY = statement(
  'waiting_import_item',
  'SELECT key, place, item FROM import_waiting WHERE tenant_id = $1 AND import_id = $2 AND key = $3',
)

export const findWaiting = async (sql: Sql, tenantId: Id, importId: Id, key: Key): Promise<WaitedItem | undefined> =>
  (await sql<WaitedItem>(BY_KEY, [tenantId, importId, key]))[0]

const DONE = statement(
  'delete_waiting_items',
  'DELETE FROM import_waiting WHERE tenant_id = $1 AND import_id = $2 AND key = ANY($3::uuid[])',
)

export const deleteWaiting = async (sql: Sql, tenantId: Id, importId: Id, keys: readonly Key[]): Promise<void> => {
  if (keys.length > 0) await sql(DONE, [tenantId, importId, keys])
}

// The person's items that still wait, and by which ids the source knows them.
const FORGET = statement(
  'forget_reader_in_imports',
  `WITH gone AS (
     DELETE FROM import_items WHERE tenant_id = $1 AND item_id = $2 AND kind = 'reader' RETURNING key
   )
   DELETE FROM import_waiting WHERE tenant_id = $1 AND reader_key IN (SELECT key FROM gone)`,
)

/** Takes a reader out of what imports remember. */
export const forgetReaderItems = async (sql: Sql, tenantId: Id, readerId: Id): Promise<void> =>
  void (await sql(FORGET, [tenantId, readerId]))

const MOVE = statement(
  'move_reader_in_imports',
  `UPDATE import_items SET item_id = $3, made = false WHERE tenant_id = $1 AND item_id = $2 AND kind = 'reader'`,
)

/** Has the items that have become a reader be another one. */
export const moveReaderItems = async (sql: Sql, tenantId: Id, readerId: Id, intoId: Id): Promise<void> =>
  void (await sql(MOVE, [tenantId, readerId, intoId]))
