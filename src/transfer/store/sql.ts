import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { arraysOf, insertion, namesOf, rowsOf } from './columns-sql.ts'
import type { Key } from '../../domains/imports/keys.ts'
import type { ImportedNote } from './imported.ts'

export interface KnownItem {
  key: Key
  /** Null for a reader who was erased. */
  itemId: Id | null
}

// A plan made while the table is small persists: with ANY it could scan all items of the tenant
// each time. LIMIT makes it look each key up. Where several indexes begin with tenant_id, the
// tenant comes from a subselect: for a tenant that its statistics lack, PostgreSQL expects one
// row, and any of these indexes looks right to it.
const FIND_ITEMS = statement(
  'find_import_items',
  `SELECT k.key, i.item_id AS "itemId" FROM unnest($2::uuid[]) AS k (key)
   CROSS JOIN LATERAL (SELECT item_id FROM import_items WHERE tenant_id = $1 AND key = k.key LIMIT 1) i`,
)

/** The rows of these items. */
export const findItems = async (sql: Sql, tenantId: Id, keys: readonly Key[]): Promise<KnownItem[]> =>
  keys.length === 0 ? [] : sql<KnownItem>(FIND_ITEMS, [tenantId, keys])

/**
 * Locks the readers of these items, in the order of their ids, so that none is erased before the
 * end of the transaction. Returns those whose erasure has not begun.
 */
export const lockReadersOfItems = statement(
  'lock_import_readers',
  `WITH items AS MATERIALIZED (
     SELECT k.key, i.item_id FROM unnest($2::uuid[]) AS k (key) CROSS JOIN LATERAL (
       SELECT item_id, kind FROM import_items WHERE tenant_id = $1 AND key = k.key LIMIT 1) i
     WHERE i.kind = 'reader' ORDER BY i.item_id
   )
   SELECT i.key, r.id AS "itemId" FROM items i CROSS JOIN LATERAL (
     SELECT id FROM readers WHERE tenant_id = (SELECT $1::uuid) AND id = i.item_id AND erasing_at IS NULL LIMIT 1 FOR KEY SHARE) r`,
).rows<[tenantId: Id, keys: readonly Key[]], { key: Key; itemId: Id }>()

/** A note on a reader or a comment, one of which is set. */
export interface NewNote extends ImportedNote {
  readerId: Id | null
  commentId: Id | null
}

const NOTE = {
  id: 'uuid',
  readerId: 'uuid',
  commentId: 'uuid',
  text: 'text',
  actorKind: 'text',
  actorId: 'uuid',
  createdAt: 'timestamptz',
} as const satisfies Record<keyof NewNote, string>

const INSERT_NOTES = insertion('import_notes', 'notes', NOTE, 'ON CONFLICT DO NOTHING')

/** Inserts notes on new readers and comments. */
export const insertNotes = async (sql: Sql, tenantId: Id, notes: readonly NewNote[]): Promise<void> => {
  if (notes.length > 0) await sql(INSERT_NOTES, [tenantId, ...arraysOf(NOTE, notes)])
}

export interface NewItem {
  key: Key
  kind: 'reader' | 'discussion' | 'comment'
  /** Null for a reader who was erased. */
  itemId: Id | null
  made: boolean
  /** The latest time that the import writes on it; null if that is before the import began. */
  latestAt: Date | null
}

const ITEM = {
  key: 'uuid',
  kind: 'text',
  itemId: 'uuid',
  made: 'bool',
  latestAt: 'timestamptz',
} as const satisfies Record<keyof NewItem, string>

const INSERT_ITEMS = statement(
  'insert_import_items',
  `INSERT INTO import_items (tenant_id, import_id, ${namesOf(ITEM)})
   SELECT $1, $2, ${namesOf(ITEM)} FROM ${rowsOf(ITEM, 3)}`,
)

/** Remembers the rows of items. */
export const insertItems = async (sql: Sql, tenantId: Id, importId: Id, items: readonly NewItem[]): Promise<void> => {
  if (items.length > 0) await sql(INSERT_ITEMS, [tenantId, importId, ...arraysOf(ITEM, items)])
}

// An undo keeps comments that were touched since, also by another import.
const NOTE_HUNG = statement(
  'note_hung_on_imported',
  `UPDATE import_items i SET touched = i.touched OR h.is_foreign, latest_at = greatest(i.latest_at, h.at)
   FROM (SELECT k.key, k.at, NOT (f.made AND f.import_id = $2) AS is_foreign
     FROM unnest($3::uuid[], $4::timestamptz[]) AS k (key, at)
     JOIN import_items f ON f.tenant_id = $1 AND f.key = k.key) h
   WHERE i.tenant_id = $1 AND i.key = h.key AND (h.is_foreign OR h.at IS NOT NULL)`,
)

/**
 * Marks the comments to which the import has added something: those of others only as touched, its
 * own with the latest time, if that is after it began.
 */
export const noteHung = (sql: Sql, tenantId: Id, importId: Id, hung: ReadonlyMap<Key, Date | null>): Promise<unknown> =>
  sql(NOTE_HUNG, [tenantId, importId, [...hung.keys()], [...hung.values()]])
