import { setTimeout } from 'node:timers/promises'

import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'

import { LOCK_WAIT_MS } from '../../core/database/database.ts'
import { Connection, DEADLINES, type Deadlines } from './connection.ts'
import type { Database } from '../database.ts'
import { expectSession } from './expect-session.ts'
import { Hosts, refuseStandby } from './hosts.ts'
import { type TimeLimits, migrationAdapter, overPool, sqlOn, TYPES } from '../pool.ts'
import { explainPooler, refusePooler, type UrlSetting } from './pooler.ts'

const MIGRATION_LOCK = 7_203_114_559

/** How often connections are checked. */
const WATCH_MS = 500

/**
 * The server ends a statement at its deadline, and the connection stays usable. If it does not even
 * do that within this time, the connection is dropped.
 */
const GRACE_MS = 500

/** How long a health check waits for its answer. */
const PROBE_MS = 4000

/** How long a session may be idle in a transaction. */
const IDLE_MS = 30_000

export interface ServerOptions {
  url: string
  /** The variable with the URL. */
  setting?: UrlSetting
  /** Leads to the server itself if `url` leads to a pooler. */
  directUrl?: string | undefined
  size: number
  /**
   * A pooler in transaction mode stands before the server: each transaction may get another
   * session, and its settings would affect other clients.
   */
  isPooled?: boolean
  /** Whether it is a standby, which may be down. */
  isReplica?: boolean
  /** Whether statements keep their names on a connection. Default true. */
  isPreparing?: boolean
  deadlines?: Deadlines | undefined
  /** The sessions' application name. Default: the one in the URL, or 'engagement-service'. */
  name?: string | undefined
}

interface PoolOptions extends ServerOptions {
  /** Called with the error of a connection that dies while idle. */
  onError: (error: Error) => void
}

/** A PostgreSQL server through one pool, shared by SQL statements and Prisma. */
export async function openServer({ url, size, onError, ...given }: PoolOptions): Promise<Database> {
  const { isPooled = false, isPreparing = true, isReplica = false, setting = 'DATABASE_URL' } = given
  const { deadlines = DEADLINES, name = 'engagement-service' } = given
  const { connectMs, poolMs, statementMs } = deadlines
  const hosts = new Hosts(url, connectMs, { name: given.name, isPooled })
  const direct = given.directUrl === undefined ? hosts : new Hosts(given.directUrl, connectMs)
  const fleet = new Fleet()
  const limits: TimeLimits = {
    idle_in_transaction_session_timeout: IDLE_MS,
    statement_timeout: statementMs,
    lock_timeout: LOCK_WAIT_MS,
  }
  const options: pg.PoolConfig = {
    types: TYPES,
    application_name: name,
    connectionTimeoutMillis: poolMs,
    // PgBouncer refuses connections that set them.
    ...(isPooled ? {} : limits),
    // Before the pool looks whether anybody still waits for it. (Its `verify` comes after that: who
    // had been refused got the connection, and kept it for ever.) The pool awaits it, whatever its
    // type says.
    // oxlint-disable-next-line typescript/no-misused-promises
    onConnect: async (client) => {
      if (client instanceof Connection && !isReplica) await refuseStandby(client, connectMs)
    },
    Client: connectionTo(hosts, fleet),
  }
  const pool = new pg.Pool({ ...options, max: size })
  // Health checks do not wait for other statements.
  const probe = new pg.Pool({ ...options, max: 1 })
  const pools = [pool, probe]
  for (const each of pools) {
    each.on('error', onError)
    // The pool drops a connection that has ended.
    each.on('release', (_error, client) => {
      if (client instanceof Connection && fleet.isOld(client)) void client.end().catch(() => undefined)
    })
  }
  const renew = (): void => {
    fleet.renew()
    for (const each of pools) releaseIdle(each)
  }
  const watch = setInterval(() => {
    const now = performance.now()
    fleet.cut((connection) => connection.waitedMs(now) > statementMs + GRACE_MS)
  }, WATCH_MS).unref()
  const close = async (): Promise<void> => {
    await probe.end()
    clearInterval(watch)
  }
  const open = async (): Promise<void> => {
    await hosts.find()
    const client = await pool.connect()
    try {
      if (!isPooled) await refusePooler(client, hosts, setting)
      await expectSession(client, isPooled, setting)
    } finally {
      client.release()
    }
  }
  try {
    if (!isReplica) await open()
  } catch (error) {
    await pool.end()
    await close()
    throw explainPooler(error, setting)
  }
  return overPool(pool, {
    isPreparing,
    limits: isPooled ? limits : undefined,
    // These reads can be long: without a limit the server would continue after the caller has
    // left.
    limitsReads: isReplica,
    exclusively: (work) => exclusively(direct, work),
    probe: { sql: sqlOn(probe, isPreparing), patienceMs: Math.max(PROBE_MS, connectMs + GRACE_MS) },
    findHost: async () => {
      if (await hosts.find()) renew()
    },
    renew,
    abandon: () => fleet.cut(() => true),
    close,
  })
}

/** The connections of a process to its server, including those that are being opened. */
class Fleet {
  /** Each connection, with the number of renewals before it. */
  readonly #open = new Map<Connection, number>()
  #renewals = 0

  add(connection: Connection): void {
    this.#open.set(connection, this.#renewals)
    connection.once('end', () => this.#open.delete(connection))
  }

  /** Marks all present connections as old. */
  renew(): void {
    this.#renewals++
  }

  isOld(connection: Connection): boolean {
    return this.#open.get(connection) !== this.#renewals
  }

  cut(isLate: (connection: Connection) => boolean): void {
    for (const connection of this.#open.keys()) if (isLate(connection)) connection.cut()
  }
}

/** A new connection goes to the host that takes writes, and has its own deadline. */
const connectionTo = (hosts: Hosts, fleet: Fleet): typeof Connection =>
  class extends Connection {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...hosts.config })
      fleet.add(this)
    }
  }

/** Releases each idle connection of a pool once more. */
function releaseIdle(pool: pg.Pool): void {
  for (let idle = pool.idleCount; idle > 0; idle--) {
    pool.connect().then(
      (client) => client.release(),
      () => undefined,
    )
  }
}

/**
 * Runs `work` while no other node does, by an advisory lock on a connection of its own. The
 * migration engine takes such a lock too and never releases it: on the shared pool the next node
 * would wait for that connection's end.
 */
async function exclusively<T>(
  hosts: Hosts,
  work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<T>,
): Promise<T> {
  await hosts.find()
  const client = new Connection(hosts.config)
  const pool = new pg.Pool({ max: 2, Client: connectionTo(hosts, new Fleet()) })
  pool.on('error', () => undefined)
  await client.connect().catch((error: unknown) => {
    throw explainPooler(error, 'DATABASE_DIRECT_URL')
  })
  try {
    await refusePooler(client, hosts, 'DATABASE_DIRECT_URL')
    await lock(client)
    return await work(migrationAdapter(pool))
  } finally {
    await pool.end()
    await client.end()
  }
}

// It polls: CREATE INDEX CONCURRENTLY waits for every running statement of the database, and would
// wait for one that waits for this lock.
async function lock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isMine: boolean }>('SELECT pg_try_advisory_lock($1) AS "isMine"', [
      MIGRATION_LOCK,
    ])
    if (rows[0]?.isMine === true) return
    await setTimeout(100)
  }
}
