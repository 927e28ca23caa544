import { setTimeout as sleep } from 'node:timers/promises'

import type { Db } from '../database/database.ts'
import { statement } from '../database/statements.ts'

/** How often the number of other statements is sampled. */
const SAMPLE_MS = 50
/** The load is the average of this many samples: those of the last second. */
const SAMPLES = 20
/** For each other statement under way, the job rests this many times as long as it has worked. */
const RESTS = 20
/** The most it rests: it works at least a twentieth of the time, so that it finishes. */
const MAX_RESTS = 19
/** For each other statement under way, slices are cut into this many more parts. */
const PARTS = 40
/**
 * The most parts: a slice keeps a thirty-second of its items, because each slice has a cost of its
 * own.
 */
const MAX_PARTS = 32
/** The longest rest: a slice may have been slow only because of a lock or an outage. */
const MAX_REST_MS = 60_000

// Long statements are not counted: a dump, a report or a wait for a lock serves no reader.
const BUSY = statement(
  'pace_busy',
  `SELECT count(*)::int AS others FROM pg_stat_activity
   WHERE datname = current_database() AND backend_type = 'client backend' AND state = 'active'
     AND query_start > now() - interval '1 second' AND application_name <> current_setting('application_name')`,
)

/**
 * Paces a long background job, such as an import: it holds back while others use the database, and
 * uses all of it while nobody does. The more statements of others were under way lately, the
 * shorter its slices, and the longer its rests. That number reflects every shortage: processor,
 * disk or locks.
 */
export class Pace {
  readonly #db: Db
  readonly #signal: AbortSignal | undefined
  readonly #samples: number[] = []
  #timer: NodeJS.Timeout | undefined
  #asking: Promise<void> | undefined

  /** Once `signal` aborts, it no longer rests. */
  constructor(db: Db, signal?: AbortSignal) {
    this.#db = db
    this.#signal = signal
  }

  /** Runs a job at this pace. */
  async keep<T>(job: () => Promise<T>): Promise<T> {
    // The embedded database has one process, and no other users.
    if (this.#db.connections > 1) {
      await this.#ask()
      this.#timer = setInterval(() => void (this.#asking ??= this.#ask()), SAMPLE_MS)
    }
    try {
      return await job()
    } finally {
      clearInterval(this.#timer)
      await this.#asking
    }
  }

  /** Runs a slice of the job, of some hundred milliseconds at most, and rests after it. */
  async slice<T>(work: () => Promise<T>): Promise<T> {
    const beganAt = performance.now()
    const result = await work()
    await this.rest(performance.now() - beganAt)
    return result
  }

  /** Rests after a slice that took `workedMs`. */
  async rest(workedMs: number): Promise<void> {
    const endedAt = performance.now()
    for (;;) {
      const wholeMs = workedMs * Math.min(RESTS * this.others, MAX_RESTS)
      const restMs = endedAt + Math.min(wholeMs, MAX_REST_MS) - performance.now()
      if (restMs < 1 || this.#signal?.aborted === true) return
      // The load may change meanwhile.
      await sleep(Math.min(restMs, SAMPLE_MS))
    }
  }

  /**
   * How many of `most` items the next slice should have. A post that meets a slice takes longer:
   * short slices slow many posts a little, long ones slow some posts much.
   */
  sized(most: number): number {
    return Math.ceil(most / Math.min(1 + PARTS * this.others, MAX_PARTS))
  }

  /**
   * How many statements of others were under way at once lately, on average. A single one in a
   * second is ignored: a probe, a sweep, an occasional reader.
   */
  get others(): number {
    const { length } = this.#samples
    const met = this.#samples.reduce((sum, others) => sum + others, 0)
    return length === 0 || (length > 1 && met < 2) ? 0 : met / length
  }

  async #ask(): Promise<void> {
    try {
      const [found] = await this.#db.query<{ others: number }>(BUSY)
      this.#samples.push(found?.others ?? 0)
      if (this.#samples.length > SAMPLES) this.#samples.shift()
    } catch {
      // The job itself meets and reports any trouble with the database.
    } finally {
      this.#asking = undefined
    }
  }
}
