import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'

import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'

import type { Database } from './database.ts'
import { StandbyError, troubleOf } from '../core/outage.ts'
import { LOCK_WAIT_MS, type Sql } from '../core/sql.ts'
import { PrismaOver, txSql } from './prisma.ts'
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
  /** Called with the error of a connection that dies while it is idle. */
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
    lock_timeout: LOCK_WAIT_MS,
    verify: (client, done) => void refuseStandby(client).then(() => done(), done),
  })
  const renew = renewing(pool)
  const abandon = abandoning(pool)
  pool.on('error', onError)
  // The pool listens to idle connections only: the end of one in use would end the process. Its
  // user learns of it by its query.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  const sqlOn =
    (target: pg.Pool | pg.PoolClient): Sql =>
    async <Row>({ name, text }: { name: string; text: string }, params: readonly unknown[] = []) =>
      (await target.query<Row & pg.QueryResultRow>({ name, text, values: params as unknown[] })).rows
  let hear: (error: unknown) => void = () => undefined
  const prisma = new PrismaOver(new PrismaPg(pool), (error) => hear(error))
  try {
    await pool.query('SELECT 1')
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    db: {
      query: sqlOn(pool),
      transaction: (work, lockWaitMs) =>
        transaction(pool, lockWaitMs, async (client) => {
          const session = prisma.on(client)
          return work(txSql(sqlOn(client), session)).finally(() => session.end())
        }),
      connections: size,
    },
    prisma: prisma.client,
    observe: (listener) => void (hear = listener),
    exclusively: (work) => exclusively(url, work),
    renew,
    abandon,
    close: async () => {
      await prisma.close()
      await pool.end()
    },
  }
}

/**
 * A standby answers from the past and takes no writes: a connection that leads to one is given up
 * before it is used.
 */
async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"')
  if (rows[0]?.isStandby === true) throw new StandbyError()
}

/**
 * Replaces all connections of a pool. It ends each one that is released, and the pool then drops
 * it.
 */
function renewing(pool: pg.Pool): () => void {
  let generation = 0
  const madeIn = new WeakMap<object, number>()
  pool.on('connect', (client) => madeIn.set(client, generation))
  pool.on('release', (_error, client) => {
    if (madeIn.get(client) !== generation && client instanceof pg.Client) void client.end().catch(() => undefined)
  })
  return () => {
    generation++
    for (let idle = pool.idleCount; idle > 0; idle--) {
      pool.connect().then(
        (client) => client.release(),
        () => undefined,
      )
    }
  }
}

/** Cuts all connections of a pool, which then drops them. */
function abandoning(pool: pg.Pool): () => void {
  const open = new Set<pg.PoolClient>()
  pool.on('connect', (client) => open.add(client))
  pool.on('remove', (client) => open.delete(client))
  return () => {
    for (const client of open) {
      // Its own `end` would wait for the answer.
      const { connection } = client as unknown as { connection: { stream: Socket } }
      connection.stream.destroy()
    }
  }
}

async function transaction<T>(
  pool: pg.Pool,
  lockWaitMs: number | undefined,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // A connection that dies between two statements has nobody else to tell.
  const onError = (cause: Error): void => void (broken = cause)
  client.on('error', onError)
  try {
    await client.query(lockWaitMs === undefined ? 'BEGIN' : `BEGIN; SET LOCAL lock_timeout = ${lockWaitMs}`)
    const result = await work(client)
    await client.query('COMMIT')
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

/**
 * Runs `work` while no other node does: an advisory lock on a connection of its own. The migration
 * engine takes one too and never lets go of it: on the shared pool the next node would wait for
 * that connection's end.
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
    await lock(client)
    return await work(wholeScripts(new PrismaPg(pool), (script) => runScript(pool, script)))
  } finally {
    await pool.end()
    await client.end()
  }
}

// It asks again and again: CREATE INDEX CONCURRENTLY waits for every statement under way in the
// database, and would wait for one that waits for this lock.
async function lock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isMine: boolean }>('SELECT pg_try_advisory_lock($1) AS "isMine"', [
      MIGRATION_LOCK,
    ])
    if (rows[0]?.isMine === true) return
    await setTimeout(100)
  }
}

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
