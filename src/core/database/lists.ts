import { FIRST_ID, LAST_ID } from '../ids.ts'
import { MAX_ANSWER_BYTES } from '../input/page.ts'

/** A row of a list whose rows can be long. */
export interface Measured {
  /** Bytes of text up to and including this row; absent where they were not measured. */
  bytesRead?: number
}

/** Backlogs are counted up to this number, so that the count has a fixed cost. */
export const COUNT_LIMIT = 1000

/**
 * The rows of `select` in order, up to and including the row that exceeds `MAX_ANSWER_BYTES`: a
 * hundred comments can be 14 MB. `bytes` is a row's length; PostgreSQL knows the length of a text
 * without reading it. The budget of the answer (src/graphql/budget.ts) comes too late for this: it
 * counts rows that have been read.
 */
export const upToBytes = (select: string, bytes: string): string =>
  `SELECT * FROM (
     SELECT listed.*, sum(${bytes}) OVER (ROWS UNBOUNDED PRECEDING)::int AS "bytesRead" FROM (${select}) listed
   ) measured WHERE "bytesRead" - (${bytes}) <= ${MAX_ANSWER_BYTES}`

/** Whether `upToBytes` may have left rows out. */
export const isCut = (rows: readonly Measured[]): boolean => (rows.at(-1)?.bytesRead ?? 0) > MAX_ANSWER_BYTES

/**
 * The keys whose rows `upToBytes` may have cut: the last key that was read, and all keys after it.
 */
export function cutKeys<Key>(rows: readonly Measured[], keys: readonly Key[], last: Key | null | undefined): Set<Key> {
  return new Set(isCut(rows) ? keys.slice(keys.findIndex((key) => key === last)) : [])
}

/**
 * SQL that is true of every id. With it, and without statistics, PostgreSQL expects one match,
 * and reads a list from its index, in the index's order, until it is full. Without it, it expects
 * a handful, which it collects and sorts, however many there are. `columns`: the last one of the
 * index that the list fixes, or the tenant and the order if it fixes the tenant alone.
 */
export const anyId = (...columns: string[]): string =>
  columns.map((column) => `${column} BETWEEN '${FIRST_ID}' AND '${LAST_ID}'`).join(' AND ')

/**
 * SQL: a condition for the rows of `table` that `one` finds for each `k.key` of an array, looked
 * up one by one. A join, or `= ANY`, may read everything else that the rest of the condition finds:
 * all reactions of a reader, for instance. By `ctid`, so other writers must be locked out.
 */
export const eachOf = (table: string, keys: string, one: string): string =>
  `ctid = ANY(ARRAY(SELECT f.row FROM unnest(${keys}) AS k (key) CROSS JOIN LATERAL (
     SELECT ctid AS row FROM ${table} WHERE ${one} LIMIT 1) f))`

/** Fields of rows, an array for each: parameters of `unnest`. */
export const columns = <Row, Name extends keyof Row>(rows: readonly Row[], ...names: readonly Name[]): Row[Name][][] =>
  names.map((name) => rows.map((row) => row[name]))

/** The column of a field: `createdAt` is `created_at`. */
export const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
