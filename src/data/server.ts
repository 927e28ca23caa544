import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'

import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'

import type { Database } from './database.ts'
import { StandbyError } from '../core/outage.ts'
import { LOCK_WAIT_MS } from '../core/sql.ts'
import { migrationAdapter, overPool, TYPES } from './pool.ts'

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
  try {
    await pool.query('SELECT 1')
  } catch (error) {
    await pool.end()
    throw error
  }
  return overPool(pool, { exclusively: (work) => exclusively(url, work), renew, abandon })
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
    return await work(migrationAdapter(pool))
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
