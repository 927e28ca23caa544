import type { Prisma as Generated } from '../generated/prisma/client.ts'
import type { Described, Json } from '../generated/statements.ts'
import { codeOf } from './outage.ts'

/** One SQL statement. It is prepared once per connection under its name. */
export interface Statement<Columns = unknown> {
  name: string
  text: string
  /** Whether it locks rows, and so may have to wait for another transaction. */
  locks: boolean
  /** For the compiler alone: no statement has it. */
  columns?: Columns | undefined
}

/** The columns of a named statement, as PostgreSQL describes them (`npm run generate`). */
type ColumnsOf<Name> = Name extends keyof Described ? Described[Name] : unknown

/**
 * A statement whose rows are a `Row`: the compiler refuses one that lacks a column of it, or has it
 * of another type. PostgreSQL does not say which columns may be null, which texts a column holds,
 * or what is in a `json`: there the `Row` is believed.
 */
export type StatementOf<Row> = Statement<NoInfer<unknown extends Row ? unknown : ColumnsFor<Row>>>

type ColumnsFor<Row> = { [Key in keyof Row]: Json | Widened<NonNullable<Row[Key]>> }

type Widened<T> = T extends string ? string : T extends number ? number : T extends boolean ? boolean : T

/**
 * What a statement may be sent: the driver would send an object as JSON, and `undefined` as NULL.
 * Whether it fits the parameter is checked in tests (`test/harness/parameters.ts`).
 */
export type Param = Value | readonly Value[]

export type Value = string | number | bigint | boolean | Date | Uint8Array | null

/** Runs one statement: the rows, with `timestamptz` as Date, `bigint` as number, `json` parsed. */
export interface Sql {
  <Row>(statement: StatementOf<Row>, params?: readonly Param[]): Promise<Row[]>
  /** The trace of the request that it runs for, as `traceparent` has it; absent where none is. */
  readonly trace?: string | undefined
}

/** The models of `schema.prisma`. What writes has its Prisma from a transaction (`TxSql`). */
export type Prisma = Omit<Generated.TransactionClient, `$${string}`>

/** Runs something around each statement. */
export type Around = <T>(asked: Statement, run: () => Promise<T>) => Promise<T>

/** The statements of one transaction. */
export interface TxSql extends Sql {
  /** Prisma in the same transaction. */
  readonly prisma: Prisma
  /**
   * The same transaction, with `around` around each statement, those of Prisma too; and for a
   * `trace` from now on.
   */
  within(around: Around, trace?: string): TxSql
}

/** PostgreSQL, embedded or on a server. */
export interface Db {
  query: Sql
  /**
   * One transaction (READ COMMITTED) on one connection. Rolled back where `work` throws.
   * `lockWaitMs`: how long its statements wait for a lock, where that is not LOCK_WAIT_MS.
   */
  transaction<T>(work: (sql: TxSql) => Promise<T>, lockWaitMs?: number): Promise<T>
  /** How many statements can run at once. */
  connections: number
  /** How long one waits for its turn, in milliseconds. */
  maxWaitMs: number
}

/**
 * Reads that may be some seconds late: those of a replica, where there is one that is close enough.
 * A caller may not find in them what it has just written.
 */
export interface LateReads {
  /**
   * Whether there is a replica. What it answers may have been erased since: who shows texts of
   * readers has them from the database itself.
   */
  mayBeLate: boolean
  query: Sql
  /**
   * One transaction that reads. `asOf`: it sees all that was committed before. It may run again, on
   * another server, where it throws.
   */
  transaction<T>(work: (sql: TxSql, asOf: Date) => Promise<T>): Promise<T>
}

/** The same, of the database itself: they are not late. */
export const readNow = (db: Db): LateReads => ({
  mayBeLate: false,
  query: db.query,
  transaction: (work) => {
    const asOf = new Date()
    return db.transaction((sql) => work(sql, asOf))
  },
})

/**
 * How long a statement waits for one lock before it fails with 55P03. Long against a queue of
 * healthy transactions, of some milliseconds each; short, because it waits on a connection of the
 * pool that all tenants share.
 */
export const LOCK_WAIT_MS = 100

/** The column of a field: `createdAt` is `created_at`. */
export const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Whether a statement locks rows. */
export const takesLocks = (text: string): boolean => /\b(INSERT|UPDATE|DELETE|SHARE|pg_advisory_xact_lock)\b/.test(text)

const registered = new Map<string, Statement>()

/**
 * Names a statement; white space is folded, so that logs and prepared statements stay short. A name
 * stands for one text: a connection that has prepared the one would not take the other. Throws
 * where it stands for another.
 */
export function statement<Name extends string>(name: Name, text: string): Statement<ColumnsOf<Name>> {
  const made = {
    name,
    text: text.replace(/\s+/g, ' ').trim(),
    locks: takesLocks(text),
  }
  const before = registered.get(name)
  if (before === undefined) registered.set(name, made)
  else if (before.text !== made.text) throw new Error(`two statements are named ${name}`)
  return made
}

/** All statements that the modules loaded so far have named. */
export const registeredStatements = (): Statement[] => [...registered.values()]

// lock_not_available, deadlock_detected. PostgreSQL has rolled the statement back.
const LOCK_FAILURES: ReadonlySet<unknown> = new Set(['55P03', '40P01'])

/** A transaction has given up its locks for the sake of others. `message` is public. */
export class LockFailure extends Error {}

/** Whether a transaction failed only because of locks: the same again may succeed. */
export const isLockFailure = (error: unknown): boolean =>
  error instanceof LockFailure || (error instanceof Error && LOCK_FAILURES.has(codeOf(error)))

/** Bytes of text that a list reads at once. No answer has more. */
const MAX_READ_BYTES = 2_000_000

/** A row of a list whose rows can be long. */
export interface Measured {
  /** Bytes of text of this row and of those before it; absent where they were not measured. */
  bytesRead?: number
}

/** What waits is counted no further: each number costs the same however much it is. */
export const COUNT_LIMIT = 1000

/**
 * The rows of `select` in its order, up to the one with which they exceed `MAX_READ_BYTES`: a
 * hundred comments can be 14 MB. `bytes` are those of a row; PostgreSQL knows the length of a text
 * without reading it.
 */
export const upToBytes = (select: string, bytes: string): string =>
  `SELECT * FROM (
     SELECT listed.*, sum(${bytes}) OVER (ROWS UNBOUNDED PRECEDING)::int AS "bytesRead" FROM (${select}) listed
   ) measured WHERE "bytesRead" - (${bytes}) <= ${MAX_READ_BYTES}`

/** Whether `upToBytes` may have left rows out. */
export const isCut = (rows: readonly Measured[]): boolean => (rows.at(-1)?.bytesRead ?? 0) > MAX_READ_BYTES

/**
 * The same of a list that reads for several keys, in their order: it is the last key and those
 * behind it that lack rows.
 */
export function cutKeys<Key>(rows: readonly Measured[], keys: readonly Key[], last: Key | null | undefined): Set<Key> {
  return new Set(isCut(rows) ? keys.slice(keys.findIndex((key) => key === last)) : [])
}

const ONE_INSTANT = statement('read_one_instant', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')

/** First in a transaction: whatever it reads is of one instant. */
export const readOneInstant = async (sql: Sql): Promise<void> => void (await sql(ONE_INSTANT))
