import type { Prisma as Generated } from '../generated/prisma/client.ts'
import type { Described, Json } from '../generated/statements.ts'
import { MAX_ANSWER_BYTES } from './input/cursor.ts'
import { FIRST_ID, LAST_ID } from './ids.ts'
import { codeOf } from './outage.ts'

/** One SQL statement. It is prepared once per connection under its name. */
export interface Statement<Columns = unknown> {
  name: string
  text: string
  /** Whether it locks rows, and so may wait for another transaction. */
  locks: boolean
  /** Whether it is planned for each execution instead of prepared: for sums over many rows. */
  isPlannedEachTime?: boolean
  /** For types only: no statement has it at run time. */
  columns?: Columns | undefined
}

/** The columns of a named statement, as PostgreSQL describes them (`npm run generate`). */
type ColumnsOf<Name> = Name extends keyof Described ? Described[Name] : unknown

/**
 * A statement whose rows are a `Row`: the compiler refuses a `Row` with a column that the statement
 * lacks, or of another type. PostgreSQL does not describe which columns may be null, which values a
 * text column has, or what a `json` contains: for these the `Row` is trusted.
 */
export type StatementOf<Row> = Statement<NoInfer<unknown extends Row ? unknown : ColumnsFor<Row>>>

type ColumnsFor<Row> = { [Key in keyof Row]: Json | Widened<NonNullable<Row[Key]>> }

type Widened<T> = T extends string ? string : T extends number ? number : T extends boolean ? boolean : T

/**
 * The values that a statement accepts: the driver would send an object as JSON, and `undefined` as
 * NULL. Tests check that they fit the parameters (`test/harness/parameters.ts`).
 */
export type Param = Value | readonly Value[]

export type Value = string | number | bigint | boolean | Date | Uint8Array | null

/**
 * Runs one statement. Returns its rows, with `timestamptz` as Date, `bigint` as number, `json`
 * parsed.
 */
export interface Sql {
  <Row>(statement: StatementOf<Row>, params?: readonly Param[]): Promise<Row[]>
  /** The `traceparent` of the request that it runs for; absent where that is not traced. */
  readonly trace?: string | undefined
}

/** The models of `schema.prisma`. Writers use the Prisma of a transaction instead (`TxSql`). */
export type Prisma = Omit<Generated.TransactionClient, `$${string}`>

/** Wraps the execution of each statement. */
export type Around = <T>(asked: Statement, run: () => Promise<T>) => Promise<T>

/** The statements of one transaction. */
export interface TxSql extends Sql {
  /** Prisma in the same transaction. */
  readonly prisma: Prisma
  /**
   * The same transaction with `around` wrapped around each statement, Prisma's included, and with
   * another `trace`.
   */
  within(around: Around, trace?: string): TxSql
}

/** PostgreSQL, embedded or on a server. */
export interface Db {
  query: Sql
  /**
   * One transaction (READ COMMITTED) on one connection. Rolled back if `work` throws. `lockWaitMs`:
   * how long its statements wait for a lock, where that differs from LOCK_WAIT_MS.
   */
  transaction<T>(work: (sql: TxSql) => Promise<T>, lockWaitMs?: number): Promise<T>
  /** How many statements can run at once. */
  connections: number
  /** How long a statement waits for a connection, in milliseconds. */
  maxWaitMs: number
}

/**
 * Reads that may be some seconds old: from a replica, if one is close enough to the primary. A
 * caller may not see its own latest writes.
 */
export interface LateReads {
  /**
   * Whether there is a replica. Its answers may contain texts that have been erased since, so
   * readers' texts are read from the primary.
   */
  mayBeLate: boolean
  query: Sql
  /**
   * One read-only transaction. It sees everything that was committed before `asOf`. If it throws,
   * `work` may run again on another server.
   */
  transaction<T>(work: (sql: TxSql, asOf: Date) => Promise<T>): Promise<T>
}

/** `LateReads` on the database itself, which are never late. */
export const readNow = (db: Db): LateReads => ({
  mayBeLate: false,
  query: db.query,
  transaction: (work) => {
    const asOf = new Date()
    return db.transaction((sql) => work(sql, asOf))
  },
})

/**
 * How long a statement waits for one lock before it fails with 55P03. Long enough for a queue of
 * healthy transactions, which take some milliseconds each; short, because it holds a connection of
 * the pool that all tenants share.
 */
export const LOCK_WAIT_MS = 100

/** The column of a field: `createdAt` is `created_at`. */
export const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Whether a statement locks rows. */
export const takesLocks = (text: string): boolean => /\b(INSERT|UPDATE|DELETE|SHARE|pg_advisory_xact_lock)\b/.test(text)

const registered = new Map<string, Statement>()

/**
 * Registers a statement under its name. White space is folded, so that logs and prepared statements
 * stay short. Throws where the name already has another text, because a connection prepares one
 * text per name.
 */
export function statement<Name extends string>(
  name: Name,
  text: string,
  options: Pick<Statement, 'isPlannedEachTime'> = {},
): Statement<ColumnsOf<Name>> {
  const made = {
    name,
    text: text.replace(/\s+/g, ' ').trim(),
    locks: takesLocks(text),
    ...options,
  }
  const before = registered.get(name)
  if (before === undefined) registered.set(name, made)
  else if (before.text !== made.text) throw new Error(`two statements are named ${name}`)
  return made
}

/** All statements registered by the modules that are loaded so far. */
export const registeredStatements = (): Statement[] => [...registered.values()]

// lock_not_available, deadlock_detected. PostgreSQL has rolled the statement back.
const LOCK_FAILURES: ReadonlySet<unknown> = new Set(['55P03', '40P01'])

/** A transaction gave up its locks for others. `message` is public. */
export class LockFailure extends Error {}

/** Whether a transaction failed only because of locks, so that a retry may succeed. */
export const isLockFailure = (error: unknown): boolean =>
  error instanceof LockFailure || (error instanceof Error && LOCK_FAILURES.has(codeOf(error)))

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

/** Whether `upToBytes` may have left rows out. */
export const isCut = (rows: readonly Measured[]): boolean => (rows.at(-1)?.bytesRead ?? 0) > MAX_ANSWER_BYTES

/**
 * The keys whose rows `upToBytes` may have cut: the last key that was read, and all keys after it.
 */
export function cutKeys<Key>(rows: readonly Measured[], keys: readonly Key[], last: Key | null | undefined): Set<Key> {
  return new Set(isCut(rows) ? keys.slice(keys.findIndex((key) => key === last)) : [])
}

const ONE_INSTANT = statement('read_one_instant', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')

/** First in a transaction: whatever it reads is of one instant. */
export const readOneInstant = async (sql: Sql): Promise<void> => void (await sql(ONE_INSTANT))
