import { setTimeout } from 'node:timers/promises'

import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'

import { troubleOf } from '../core/outage.ts'
import type { Db, Sql } from '../core/database/database.ts'
import type { Param, Statement } from '../core/database/statements.ts'
import { type ArrayEncoder, arrayEncoder } from './arrays.ts'
import type { Database } from './database.ts'
import { watchPool } from './pool-watch.ts'
import { PrismaOver, txSql } from './prisma.ts'
import { wholeScripts } from './migrations/scripts.ts'

const INT8 = 20

/** Parses bigint as a number: here it is a position or a count, far below 2^53. */
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
  /** Limits that each transaction sets, if its session cannot. */
  limits?: TimeLimits | undefined
  /** Whether statements without locks get the limits too, at the cost of two round trips. */
  limitsReads?: boolean
  /** Closes what must be closed after the pool. */
  close?: () => Promise<void>
}

/** A database through one pool, shared by SQL statements and Prisma. */
export function overPool(pool: pg.Pool, { close, isPreparing, limits, limitsReads = false, ...form }: Form): Database {
  // The pool listens only to idle connections, so an error of a busy one would end the process.
  // Its user gets the error from the query.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  let onPrismaError: (error: unknown) => void = () => undefined
  const prisma = new PrismaOver(new PrismaPg(pool), (error) => onPrismaError(error))
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
      // Without a limit it would hold its connection while it waits for a lock, until its
      // deadline.
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
    observe: (listener) => void (onPrismaError = listener),
    close: async () => {
      // After its end, a pool forgets the callers that wait for a connection.
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
  /** Resolves when no statement is running or waiting. Later ones are refused. */
  end: () => Promise<void>
}

/**
 * Runs concurrent statements of a transaction one after the other; Prisma's do not wait here. The
 * first is sent before the arrays of the next ones are encoded, and each further one when the one
 * before it is answered. Statements after the end of the transaction are refused: they would run
 * outside of it, perhaps in another caller's.
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

/** Encodes the parameters of a statement. Call the result to send it. */
function prepared<Row>(
  target: pg.Pool | pg.PoolClient,
  isPreparing: boolean,
  asked: Statement,
  params: readonly Param[],
): () => Promise<Row[]> {
  const { name, text, isPlannedEachTime = false } = asked
  const query = {
    ...(isPreparing && !isPlannedEachTime ? { name } : {}),
    text,
    values: encoderOf(asked)(params) as unknown[],
  }
  return async () => (await target.query<Row & pg.QueryResultRow>(query)).rows
}

const encoders = new WeakMap<Statement, ArrayEncoder>()

function encoderOf(asked: Statement): ArrayEncoder {
  const known = encoders.get(asked)
  if (known !== undefined) return known
  const encoder = arrayEncoder(asked.text)
  encoders.set(asked, encoder)
  return encoder
}

/** One text of several statements, so that it costs the same round trip as BEGIN alone. */
function beginning(limits: TimeLimits | undefined, lockWaitMs: number | undefined): string {
  const local = { ...limits, ...(lockWaitMs === undefined ? {} : { lock_timeout: lockWaitMs }) }
  // A pooled session may have another level.
  return [
    'BEGIN ISOLATION LEVEL READ COMMITTED',
    ...Object.entries(local).map(([name, ms]) => `SET LOCAL ${name} = ${ms}`),
  ].join('; ')
}

async function transaction<T>(pool: pg.Pool, begin: string, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // Between two statements nothing else listens to the connection's errors.
  const onError = (cause: Error): void => void (broken = cause)
  client.on('error', onError)
  try {
    await client.query(begin)
    const result = await work(client)
    const { command } = await client.query('COMMIT')
    // A statement has failed, and its caller has swallowed the error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a statement of it had failed')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(onError)
    // The session may date from when the server took no writes, or lead to a standby by now.
    if (troubleOf(error) === 'read_only' && error instanceof Error) broken = error
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** The database connection of the migration engine. */
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
