import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'

import type { Database } from './database.ts'
import type { Sql } from '../core/sql.ts'
import { wholeScripts } from './scripts.ts'

const INT8 = 20

// A bigint here is a position or a count, far below 2^53.
const TYPES = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format ?? 'text')) as typeof pg.types.getTypeParser,
}

const MIGRATION_LOCK = 7_203_114_559

interface PoolOptions {
  url: string
  size: number
  /** Told of connections that die while nobody uses them. */
  onError: (error: Error) => void
}

/** A PostgreSQL server, through one pool that the hot statements and Prisma share. */
export async function openServer({ url, size, onError }: PoolOptions): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    types: TYPES,
    application_name: 'engagement-service',
    keepAlive: true,
    connectionTimeoutMillis: 5000,
    idle_in_transaction_session_timeout: 30_000,
    statement_timeout: 60_000,
  })
  pool.on('error', onError)
  // The pool listens to idle connections only: the end of one in use would end the process. Whoever uses it hears by its query.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  const sqlOn =
    (target: pg.Pool | pg.PoolClient): Sql =>
    async <Row>({ name, text }: { name: string; text: string }, params: readonly unknown[] = []) =>
      (await target.query<Row & pg.QueryResultRow>({ name, text, values: params as unknown[] })).rows
  try {
    await pool.query('SELECT 1')
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    db: { query: sqlOn(pool), transaction: (work) => transaction(pool, (client) => work(sqlOn(client))) },
    adapter: new PrismaPg(pool),
    exclusively: (work) => exclusively(url, work),
    close: () => pool.end(),
  }
}

async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // A connection that dies between two statements has nobody else to tell.
  const onError = (cause: Error): void => void (broken = cause)
  client.on('error', onError)
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(onError)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/**
 * Runs `work` while no other node does: an advisory lock on a connection of its own. The migration engine takes one too
 * and never lets go of it: on the shared pool the next node would wait for that connection's end.
 */
async function exclusively<T>(
  url: string,
  work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  // What a dying connection takes with it is told by the statement that waits for it.
  client.on('error', () => undefined)
  pool.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    return await work(wholeScripts(new PrismaPg(pool), (script) => pool.query(script)))
  } finally {
    await pool.end()
    await client.end()
  }
}
