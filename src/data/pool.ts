import { setTimeout } from 'node:timers/promises'

import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'

import { troubleOf } from '../core/outage.ts'
import type { Db, Param, Sql, Statement } from '../core/sql.ts'
import { type ArrayEncoder, arrayEncoder } from './arrays.ts'
import type { Database } from './database.ts'
import { watchPool } from './pool-watch.ts'
import { PrismaOver, txSql } from './prisma.ts'
import { wholeScripts } from './migration-scripts.ts'

const INT8 = 20

/** A bigint here is a position or a count, far below 2^53. */
export const TYPES = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format ?? 'text')) as typeof pg.types.getTypeParser,
}

/** Milliseconds, by the names of PostgreSQL's settings. */
export interface TimeLimits {
  idle_in_transaction_session_timeout: number
  statement_timeout: number
  lock_timeout: number
}

interface Form extends Pick<Database, 'exclusively' | 'probe' | 'findHost' | 'renew' | 'abandon'> {
  /** Whether statements keep their names on a connection. */
  isPreparing: boolean
  /** What each transaction limits itself to, where its session cannot. */
  limits?: TimeLimits | undefined
  /** Whether also a statement that locks nothing has them, at the cost of two round trips. */
  limitsReads?: boolean
  /** What is closed after the pool. */
  close?: () => Promise<void>
}

/** A database through one pool, which the hot statements and Prisma share. */
export function overPool(pool: pg.Pool, { close, isPreparing, limits, limitsReads = false, ...form }: Form): Database {
  // The pool listens to idle connections only: the end of one in use would end the process. Its
  // user learns of it by its query.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  let hear: (error: unknown) => void = () => undefined
  const prisma = new PrismaOver(new PrismaPg(pool), (error) => hear(error))
  const query = sqlOn(pool, isPreparing)
  const inTransaction: Db['transaction'] = (work, lockWaitMs) =>
    transaction(pool, beginning(limits, lockWaitMs), async (client) => {
      const session = prisma.on(client)
      const { sql, end } = inTurn(client, isPreparing)
      try {
        return await work(txSql(sql, session))
      } finally {
        await end()
        session.end()
      }
    })
  return {
    ...form,
    db: {
      // Without a limit it would wait for a lock, with its connection, until its deadline.
      query: (asked, params) =>
        limits !== undefined && (asked.locks || limitsReads)
          ? inTransaction((sql) => sql(asked, params))
          : query(asked, params),
      transaction: inTransaction,
      connections: pool.options.max,
      maxWaitMs: pool.options.connectionTimeoutMillis ?? Infinity,
    },
    prisma: prisma.client,
    pool: watchPool(pool),
    observe: (listener) => void (hear = listener),
    close: async () => {
      // A pool that has been ended forgets who waits for a connection.
      while (pool.waitingCount > 0) await setTimeout(10)
      await pool.end()
      await prisma.close()
      await close?.()
    },
  }
}

export const sqlOn =
  (target: pg.Pool | pg.PoolClient, isPreparing: boolean): Sql =>
  async <Row>(asked: Statement, params: readonly Param[] = []) =>
    prepared<Row>(target, isPreparing, asked, params)()

interface Turns {
  sql: Sql
  /** Fulfilled when no statement is under way or waits. Later ones are refused. */
  end: () => Promise<void>
}

/**
 * Statements of a transaction may be asked for side by side; Prisma's wait for no turn. The arrays
 * of each are written at once. The first one is sent before those of the next ones are written, and
 * each other one when the one before it has its answer. After the end of the transaction it is
 * refused: it would run outside of it, perhaps in that of another caller.
 */
function inTurn(client: pg.PoolClient, isPreparing: boolean): Turns {
  let last: Promise<unknown> | undefined
  let hasEnded = false
  const sql: Sql = async <Row>(asked: Statement, params: readonly Param[] = []) => {
    if (hasEnded) throw new Error(`the transaction of ${asked.name} has ended`)
    const send = prepared<Row>(client, isPreparing, asked, params)
    const answer = last === undefined ? send() : last.then(send)
    const over = answer
      .catch(() => undefined)
      .then(() => {
        if (last === over) last = undefined
      })
    last = over
    return answer
  }
  const end = async (): Promise<void> => {
    while (last !== undefined) await last
    hasEnded = true
  }
  return { sql, end }
}

/** Writes the parameters of a statement; what it returns sends it. */
function prepared<Row>(
  target: pg.Pool | pg.PoolClient,
  isPreparing: boolean,
  asked: Statement,
  params: readonly Param[],
): () => Promise<Row[]> {
  const { name, text } = asked
  const query = { ...(isPreparing ? { name } : {}), text, values: encoderOf(asked)(params) as unknown[] }
  return async () => (await target.query<Row & pg.QueryResultRow>(query)).rows
}

const encoders = new WeakMap<Statement, ArrayEncoder>()

function encoderOf(asked: Statement): ArrayEncoder {
  const known = encoders.get(asked)
  if (known !== undefined) return known
  const made = arrayEncoder(asked.text)
  encoders.set(asked, made)
  return made
}

/** One text of several statements: it costs no round trip more than BEGIN. */
function beginning(limits: TimeLimits | undefined, lockWaitMs: number | undefined): string {
  const local = { ...limits, ...(lockWaitMs === undefined ? {} : { lock_timeout: lockWaitMs }) }
  return ['BEGIN', ...Object.entries(local).map(([name, ms]) => `SET LOCAL ${name} = ${ms}`)].join('; ')
}

async function transaction<T>(pool: pg.Pool, begin: string, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // A connection that dies between two statements has nobody else to tell.
  const onError = (cause: Error): void => void (broken = cause)
  client.on('error', onError)
  try {
    await client.query(begin)
    const result = await work(client)
    const { command } = await client.query('COMMIT')
    // A statement has failed, and its caller has hidden the error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a statement of it had failed')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(onError)
    // The session may have been made while the server took no writes, or lead to a standby by now.
    if (troubleOf(error) === 'read_only' && error instanceof Error) broken = error
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** What the migration engine talks to a database through. */
export const migrationAdapter = (pool: pg.Pool): SqlMigrationAwareDriverAdapterFactory =>
  wholeScripts(new PrismaPg(pool), (script) => runScript(pool, script))

// The database or role may have limits that are meant for requests.
async function runScript(pool: pg.Pool, script: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0')
    await client.query(script)
  } finally {
    client.release()
  }
}
