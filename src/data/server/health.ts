import type { Logger } from 'pino'

import { type Health, hasTenants, type NotReady } from '../../core/process/health.ts'
import { markTold, type Outage, OutageError, OUTAGES, troubleOf } from '../../core/outage.ts'
import type { Db, Sql } from '../../core/database/database.ts'
import { type Statement, statement } from '../../core/database/statements.ts'
import type { Database } from '../database.ts'

/** How often the database is asked whether it takes writes. */
interface HealthTiming {
  everyMs: number
  /** How often while it does not, or before the first tenant exists. */
  againMs: number
}

const TIMING: HealthTiming = { everyMs: 2000, againMs: 500 }

// A role sees the wait events of its own sessions.
const PROBE = statement(
  'health_probe',
  `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
     current_setting('synchronous_standby_names') <> '' AND EXISTS (
       SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user
         AND wait_event = 'SyncRep' AND state_change < now() - interval '3 seconds'
     ) AS "isUnreplicated"`,
)
// Takes pages on the disk, so that it fails while the disk is full. It leaves nothing behind.
const TAKE_SPACE = statement(
  'health_take_space',
  'CREATE TEMP TABLE health_space ON COMMIT DROP AS SELECT n FROM generate_series(1, 5000) n',
)

/**
 * Watches a database: by the errors of the statements through `db`, and by regular probes.
 * `/readyz` costs no statement. An outage is logged in one line when it begins and one when it
 * ends; errors in between are marked, so that they are not logged as news.
 */
export class DatabaseHealth implements Health {
  readonly db: Db
  readonly #database: Database
  readonly #log: Logger
  readonly #timing: HealthTiming
  #outage: Outage | null = null
  #isSetUp = false
  #isStopping = false
  #mayBeFull = false
  #mayBeUnreplicated = false
  #probing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(database: Database, log: Logger, timing = TIMING) {
    this.#database = database
    this.#log = log
    this.#timing = timing
    this.db = {
      query: (asked, params) => this.#refusal(asked) ?? database.db.query(asked, params).catch(this.#see),
      transaction: (work, lockWaitMs) => this.#refusal() ?? database.db.transaction(work, lockWaitMs).catch(this.#see),
      connections: database.db.connections,
      maxWaitMs: database.db.maxWaitMs,
    }
    database.observe((error) => this.note(error))
    this.#schedule(0)
  }

  get notReady(): NotReady | null {
    if (this.#isStopping) return 'stopping'
    return this.#outage ?? (this.#isSetUp ? null : 'starting')
  }

  get isSetUp(): boolean {
    return this.#isSetUp
  }

  setUp(): void {
    this.#isSetUp = true
  }

  stop(): void {
    this.#isStopping = true
  }

  /** Takes an error that no caller of `db` has seen, such as the end of an idle connection. */
  note(error: unknown): void {
    const trouble = troubleOf(error)
    if (trouble === null || trouble === 'busy') return
    markTold(error)
    if (trouble === 'full') this.#mayBeFull = true
    // Other connections of the pool may lead to the same server, or may date from when it took no
    // writes.
    if (trouble === 'read_only') this.#database.renew()
    // One failed connection proves little, so the database is probed at once. During an outage it
    // is probed often anyway.
    if (this.#outage === null) this.#schedule(0)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#probing
  }

  readonly #see = (error: unknown): never => {
    this.note(error)
    throw error
  }

  // Each write that hangs occupies a connection of the server, until reads have none left either.
  #refusal(asked?: Statement): Promise<never> | null {
    if (this.#outage !== 'unreplicated' || asked?.locks === false) return null
    const error = new OutageError('unreplicated')
    markTold(error)
    return Promise.reject(error)
  }

  #schedule(inMs: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#probing !== undefined) return
      this.#probing = this.#probe().finally(() => {
        this.#probing = undefined
        this.#schedule(this.#outage === null && this.#isSetUp ? this.#timing.everyMs : this.#timing.againMs)
      })
    }, inMs).unref()
  }

  async #probe(): Promise<void> {
    let isOver = false
    const giveUp = (): void => {
      if (isOver) return
      this.#set('down')
      this.#database.abandon()
    }
    // Node reads sockets between timers and immediates: an answer that has arrived while this
    // process was busy is in time.
    const late = setTimeout(() => setImmediate(giveUp), this.#database.probe.patienceMs)
    try {
      if (this.#outage !== null) await this.#database.findHost()
      this.#set(await this.#ask())
    } catch (error) {
      markTold(error)
      const trouble = troubleOf(error)
      this.#set(trouble === null || trouble === 'busy' ? 'down' : trouble, error)
    } finally {
      isOver = true
      clearTimeout(late)
    }
  }

  async #ask(): Promise<Outage | null> {
    const { probe, db } = this.#database
    const ask = (sql: Sql) => sql<{ isStandby: boolean; isReadOnly: boolean; isUnreplicated: boolean }>(PROBE)
    const [state] = await ask(probe.sql).catch((error: unknown) => {
      // A full server refuses a new connection, but may still serve those of the pool.
      if (troubleOf(error) !== 'busy') throw error
      return ask(db.query)
    })
    const wasUnreplicated = this.#mayBeUnreplicated
    this.#mayBeUnreplicated = state?.isUnreplicated === true
    // A long statement that has just begun to commit looks the same in one probe.
    if (this.#mayBeUnreplicated && wasUnreplicated) return 'unreplicated'
    if (state?.isStandby === true || state?.isReadOnly === true) {
      // A session keeps the server's state from its beginning: the next probe uses a new one.
      this.#database.renew()
      return state.isStandby ? 'standby' : 'read_only'
    }
    if (this.#mayBeFull) {
      // A role that may not create temporary tables cannot probe: the next failing write shows the
      // trouble.
      await db
        .transaction((sql: Sql) => sql(TAKE_SPACE))
        .catch((error: unknown) => {
          if (troubleOf(error) !== null) throw error
        })
      this.#mayBeFull = false
    }
    // `setUp` may have been called meanwhile.
    if (!this.#isSetUp && (await hasTenants(probe.sql))) this.#isSetUp = true
    return null
  }

  #set(trouble: Outage | null, cause?: unknown): void {
    if (trouble === this.#outage || this.#isClosed) return
    this.#outage = trouble
    if (trouble === null) return this.#log.info('the database takes writes again')
    const reason = cause instanceof Error ? cause.message : undefined
    this.#log.warn(
      { database: trouble, reason },
      `${OUTAGES[trouble]}; what needs it is answered 503 until it works again`,
    )
  }
}
