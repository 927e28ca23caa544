import type { Logger } from 'pino'
import type { Counter, Registry } from 'prom-client'

import { counter, gaugeOf } from '../../core/telemetry/metrics.ts'
import { codeOf, markTold } from '../../core/outage.ts'
import type { Db, Sql } from '../../core/database/database.ts'
import { type LateReads, readNow } from '../../core/database/late-reads.ts'
import { statement } from '../../core/database/statements.ts'
import type { Database } from '../database.ts'

/** How often the two servers are compared. */
const EVERY_MS = 1000
/** A server that does not answer within this time counts as down. */
const PATIENCE_MS = 2000
/** How many positions of the primary are kept: those of ten minutes. */
const MAX_SAMPLES = 600

// A commit is visible once its record is inserted into the log; with synchronous_commit = off it
// is written up to three times wal_writer_delay later.
const PRIMARY = statement(
  'replica_primary_position',
  `SELECT system_identifier::text AS system, left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline,
     pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS written,
     pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS inserted,
     (SELECT 3 * setting::int FROM pg_settings WHERE name = 'wal_writer_delay') AS "writeDelayMs"
   FROM pg_control_system()`,
)
// The timeline is null for a role that may not see it, and if the replica reads from an archive.
const REPLICA = statement(
  'replica_position',
  `SELECT system_identifier::text AS system, pg_is_in_recovery() AS "isStandby",
     (SELECT lpad(upper(to_hex(received_tli)), 8, '0') FROM pg_stat_wal_receiver) AS timeline,
     pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint AS lsn FROM pg_control_system()`,
)

interface PrimaryRow {
  system: string
  timeline: string
  /** How far the log is handed to the operating system. A standby gets no more. */
  written: number
  /** How far the log is filled. */
  inserted: number
  /** The longest delay between a commit's insertion and its write. */
  writeDelayMs: number
}

/** The primary's log positions at an instant. */
interface Sample extends Pick<PrimaryRow, 'written' | 'inserted' | 'writeDelayMs'> {
  at: number
}

interface ReplicaRow {
  system: string
  isStandby: boolean
  timeline: string | null
  lsn: number | null
}

const STATES = {
  fresh: 'the replica follows; analytics, the audit log and exports are read there',
  late: 'the replica is too far behind; the primary is read instead',
  away: 'the replica does not answer; the primary is read instead',
  foreign: 'DATABASE_REPLICA_URL leads to no standby of this primary; the primary is read instead',
} as const

interface Parts {
  replica: Database
  /** Used when the replica cannot be. */
  db: Db
  /** For reading the primary's position. */
  primary: Database['probe']
  maxLagMs: number
  /** How long a statement may take. */
  statementMs: number
  log: Logger
}

/**
 * Reads from a standby while it is at most `maxLagMs` behind, and else from the primary.
 *
 * Once a second the primary's log position is noted, with a time from before the query. A standby
 * that has replayed the position inserted by then has everything that was committed before that
 * time. On an idle primary it may never get there: the last bytes may be no commit and wait for the
 * next one, and a position at the end of a page is behind a header that comes only with the next
 * record. So the written position counts too: a standby that has replayed it has everything that
 * was committed before that time, less the delay between commit and write. (The time of the last
 * replayed transaction says nothing on an idle primary.)
 */
export class Replica {
  readonly reads: LateReads
  readonly #parts: Parts
  #reads: Counter<'server'> | undefined
  #samples: Sample[] = []
  #timeline = ''
  /**
   * The replica has everything that was committed before this instant, on the clock of
   * `performance`.
   */
  #seenUntil = -Infinity
  #state: keyof typeof STATES | undefined
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
    const { db } = parts.replica
    const now = readNow(parts.db)
    this.reads = {
      mayBeLate: true,
      query: (asked, params) =>
        this.#read(
          () => db.query(asked, params),
          () => now.query(asked, params),
        ),
      transaction: (work) =>
        this.#read(
          (asOf) => db.transaction((sql) => work(sql, asOf)),
          () => now.transaction(work),
        ),
    }
    this.#schedule(0)
  }

  /** Registers its metrics. */
  register(registry: Registry): void {
    gaugeOf(registry, 'database_replica_lag_seconds', () =>
      Number.isFinite(this.#seenUntil) ? this.#lagMs() / 1000 : null,
    )
    this.#reads = counter(registry, 'database_late_reads_total')
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#checking
    await this.#parts.replica.close()
  }

  #lagMs(): number {
    return performance.now() - this.#seenUntil
  }

  async #read<T>(late: (asOf: Date) => Promise<T>, now: () => Promise<T>): Promise<T> {
    const lagMs = this.#lagMs()
    const { maxLagMs, statementMs } = this.#parts
    if (this.#state === 'fresh' && lagMs <= maxLagMs) {
      const began = performance.now()
      try {
        const answer = await late(new Date(Date.now() - lagMs))
        this.#reads?.inc({ server: 'replica' })
        return answer
      } catch (error) {
        // The primary would take as long, and the caller has no time left. Other failures are
        // retried on the primary: a conflict with the replay, a lost connection, a row that has
        // not arrived yet.
        if (isCancelled(error) || performance.now() - began >= statementMs) throw error
      }
    }
    this.#reads?.inc({ server: 'primary' })
    return now()
  }

  #schedule(inMs: number): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#checking = this.#check().finally(() => this.#schedule(Math.min(EVERY_MS, this.#parts.maxLagMs / 4)))
    }, inMs).unref()
  }

  async #check(): Promise<void> {
    const { primary, replica } = this.#parts
    let row: ReplicaRow | undefined
    try {
      row = (await within(PATIENCE_MS, replica.probe.sql<ReplicaRow>(REPLICA)))[0]
    } catch (error) {
      // Its waiting reads go to the primary.
      replica.abandon()
      this.#set('away', error)
    }
    try {
      // Read after the replica's position, which therefore cannot be ahead.
      const at = performance.now()
      const [now] = await within(PATIENCE_MS, primary.sql<PrimaryRow>(PRIMARY))
      if (now === undefined) return
      this.#note(at, now)
      if (row !== undefined) this.#compare(row, now)
    } catch (error) {
      // The health check of the database reports it. Meanwhile the replica becomes stale.
      markTold(error)
    }
  }

  #note(at: number, { timeline, written, inserted, writeDelayMs }: PrimaryRow): void {
    // After a failover the log continues from an earlier position.
    if (timeline !== this.#timeline) this.#forget()
    this.#timeline = timeline
    this.#samples.push({ at, written, inserted, writeDelayMs })
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift()
  }

  #forget(): void {
    this.#samples = []
    this.#seenUntil = -Infinity
  }

  #compare(row: ReplicaRow, primary: PrimaryRow): void {
    if (!follows(row, primary)) {
      this.#forget()
      return this.#set('foreign')
    }
    const { lsn } = row
    const seen = seenAt(this.#samples, lsn)
    if (seen !== null) this.#seenUntil = seen
    const { maxLagMs } = this.#parts
    if (this.#lagMs() <= maxLagMs) return this.#set('fresh')
    // Right after the start it may lack everything noted so far.
    const [first] = this.#samples
    if (seen !== null || (first !== undefined && performance.now() - first.at > maxLagMs)) this.#set('late')
  }

  #set(state: keyof typeof STATES, cause?: unknown): void {
    if (state === this.#state || this.#isClosed) return
    this.#state = state
    const reason = cause instanceof Error ? cause.message : undefined
    if (state === 'fresh') this.#parts.log.info(STATES[state])
    else this.#parts.log.warn({ reason }, STATES[state])
  }
}

/** The instant before which every commit is in the log up to `lsn`; null if unknown. */
function seenAt(samples: readonly Sample[], lsn: number): number | null {
  const inserted = samples.findLast((sample) => sample.inserted <= lsn)
  const written = samples.findLast((sample) => sample.written <= lsn)
  // The written position is never ahead of the inserted one.
  return written === undefined ? null : Math.max(inserted?.at ?? -Infinity, written.at - written.writeDelayMs)
}

/** Whether a server is a standby of a primary whose position was read after it. */
const follows = (row: ReplicaRow, primary: PrimaryRow): row is ReplicaRow & { lsn: number } =>
  row.isStandby &&
  row.system === primary.system &&
  (row.timeline ?? primary.timeline) === primary.timeline &&
  row.lsn !== null &&
  row.lsn <= primary.inserted

/** Reads both positions, and returns whether one is a standby of the other. */
export async function isStandbyOf(replica: Sql, primary: Sql): Promise<boolean> {
  const [row] = await replica<ReplicaRow>(REPLICA)
  const [now] = await primary<PrimaryRow>(PRIMARY)
  return row !== undefined && now !== undefined && follows(row, now)
}

/**
 * Cancelled by its deadline or by hand. A standby that cancels a statement for its replay uses
 * other codes.
 */
const isCancelled = (error: unknown): boolean => error instanceof Error && codeOf(error) === '57014'

/** Rejects without an answer within `ms`. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`there was no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
