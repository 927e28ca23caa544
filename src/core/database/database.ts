import type { Prisma as Generated } from '../../generated/prisma/client.ts'
import { type Sql, type Statement, statement } from './statements.ts'

export type { Sql }

/** The models of `schema.prisma`. Writers use the Prisma of a transaction instead (`TxSql`). */
export type Prisma = Omit<Generated.TransactionClient, `$${string}`>

/** Wraps the execution of each statement. */
export type Around = <T>(asked: Statement, run: () => Promise<T>) => Promise<T>

/** The statements of one transaction. */
export interface TxSql extends Sql {
  /** Prisma in the same transaction. */
  readonly prisma: Prisma
  /**
   * This transaction with `around` wrapped around each statement, Prisma's included, and with
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
 * How long a statement waits for one lock before it fails with 55P03. Long enough for a queue of
 * healthy transactions, which take some milliseconds each; short, because it holds a connection of
 * the pool that all tenants share.
 */
export const LOCK_WAIT_MS = 100

const ONE_INSTANT = statement('read_one_instant', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')

/** First in a transaction: whatever it reads is of one instant. */
export const readOneInstant = async (sql: Sql): Promise<void> => void (await sql(ONE_INSTANT))
