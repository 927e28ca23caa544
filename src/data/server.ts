import { setTimeout } from 'node:timers/promises'

import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'

import { LOCK_WAIT_MS } from '../core/sql.ts'
import { Connection, DEADLINES, type Deadlines } from './connection.ts'
import type { Database } from './database.ts'
import { Hosts, refuseStandby } from './hosts.ts'
import { type TimeLimits, migrationAdapter, overPool, sqlOn, TYPES } from './pool.ts'
import { explainPooler, refusePooler, type UrlSetting } from './pooler.ts'

const MIGRATION_LOCK = 7_203_114_559

/** How often the connections are looked at. */
const WATCH_MS = 500

/**
 * The server ends a statement at its deadline, and the connection goes on. One that does not even
 * do that within this time is given up.
 */
const GRACE_MS = 500

/** How long the one that asks after the health of a server waits for its answer. */
const PROBE_MS = 4000

/** How long a session may be idle in a transaction. */
const IDLE_MS = 30_000

export interface ServerOptions {
  url: string
  /** The variable that has it. */
  setting?: UrlSetting
  /** Leads to the server itself, where `url` leads to a pooler. */
  directUrl?: string | undefined
  size: number
  /**
   * A pooler in transaction mode stands before the server: each transaction may have another
   * session, and what is set on one would be other clients' too.
   */
  isPooled?: boolean
  /** Follows another server. It may be away. */
  isReplica?: boolean
  /** Whether statements keep their names on a connection. Default true. */
  isPreparing?: boolean
  deadlines?: Deadlines | undefined
  /** What the server shows of its sessions. Default what the URL says, or 'engagement-service'. */
  name?: string | undefined
}

interface PoolOptions extends ServerOptions {
  /** Called with the error of a connection that dies while it is idle. */
  onError: (error: Error) => void
}

/** A PostgreSQL server, through one pool that the hot statements and Prisma share. */
export async function openServer({ url, size, onError, ...given }: PoolOptions): Promise<Database> {
  const { isPooled = false, isPreparing = true, isReplica = false, setting = 'DATABASE_URL' } = given
  const { deadlines = DEADLINES, name = 'engagement-service' } = given
  const { connectMs, poolMs, statementMs } = deadlines
  const hosts = new Hosts(url, connectMs, given.name)
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
    // PgBouncer takes no connection that asks for them.
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
  // Questions about the server's health wait for nobody else's statements.
  const probe = new pg.Pool({ ...options, max: 1 })
  const pools = [pool, probe]
  for (const each of pools) {
    each.on('error', onError)
    // The pool drops a connection that ends.
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
    await (isPooled ? Promise.resolve() : refusePooler(client, hosts, setting)).finally(() => client.release())
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
    // What is read there can be long: without a limit the server would go on after its caller has
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

/** The connections of a process to its server, those that are still being made too. */
class Fleet {
  /** Each, and which renewal it came after. */
  readonly #open = new Map<Connection, number>()
  #renewals = 0

  add(connection: Connection): void {
    this.#open.set(connection, this.#renewals)
    connection.once('end', () => this.#open.delete(connection))
  }

  /** From now on all that were made before are old. */
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

/** A new connection goes where the writes go then, and has its own time to get there. */
const connectionTo = (hosts: Hosts, fleet: Fleet): typeof Connection =>
  class extends Connection {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...hosts.config })
      fleet.add(this)
    }
  }

/** Has each idle connection of a pool released once more. */
function releaseIdle(pool: pg.Pool): void {
  for (let idle = pool.idleCount; idle > 0; idle--) {
    pool.connect().then(
      (client) => client.release(),
      () => undefined,
    )
  }
}

/**
 * Runs `work` while no other node does: an advisory lock on a connection of its own. The migration
 * engine takes one too and never lets go of it: on the shared pool the next node would wait for
 * that connection's end.
 */
async function exclusively<T>(
  hosts: Hosts,
  work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<T>,
): Promise<T> {
  await hosts.find()
  const client = new Connection(hosts.config)
  const pool = new pg.Pool({ max: 2, Client: connectionTo(hosts, new Fleet()) })
  pool.on('error', () => undefined)
  await client.connect()
  try {
    await refusePooler(client, hosts, 'DATABASE_DIRECT_URL')
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
