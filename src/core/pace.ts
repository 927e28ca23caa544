import { setTimeout as sleep } from 'node:timers/promises'

import { type Db, statement } from './sql.ts'

/** How often the database is asked who else is at work. */
const SAMPLE_MS = 50
/** So many answers, those of the last second, say how busy it is. */
const SAMPLES = 20
/** So often as long as it has worked, a job rests for each statement of others under way. */
const RESTS = 20
/** It works a twentieth of the time at least, so that it comes to its end. */
const MAX_RESTS = 19
/** A slice is cut in so many parts more for each statement of others under way. */
const PARTS = 40
/** It keeps a thirty-second of its items at least: each costs something by itself. */
const MAX_PARTS = 32
/** A slice may have waited long, for a lock or for a database that was away. */
const MAX_REST_MS = 60_000

// Long statements are no reader's: a dump, a report, a wait for a lock.
const BUSY = statement(
  'pace_busy',
  `SELECT count(*)::int AS others FROM pg_stat_activity
   WHERE datname = current_database() AND backend_type = 'client backend' AND state = 'active'
     AND query_start > now() - interval '1 second' AND application_name <> current_setting('application_name')`,
)

/**
 * The pace of a long job that nobody waits for, such as an import: it holds back while others use
 * the database, and has all of it while nobody does. The more statements of others were under way
 * of late, the shorter are the slices of its work, and the longer it rests after each. What others
 * need of the machine shows in that number, be it a processor, a disk or a lock.
 */
export class Pace {
  readonly #db: Db
  readonly #signal: AbortSignal | undefined
  readonly #samples: number[] = []
  #timer: NodeJS.Timeout | undefined
  #asking: Promise<void> | undefined

  /** Rests no more once `signal` aborts. */
  constructor(db: Db, signal?: AbortSignal) {
    this.#db = db
    this.#signal = signal
  }

  /** Runs a job in this pace. */
  async keep<T>(job: () => Promise<T>): Promise<T> {
    // The embedded database has one process, and nobody beside it.
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

  /** Rests after a slice that took so long. */
  async rest(workedMs: number): Promise<void> {
    const endedAt = performance.now()
    for (;;) {
      const wholeMs = workedMs * Math.min(RESTS * this.others, MAX_RESTS)
      const restMs = endedAt + Math.min(wholeMs, MAX_REST_MS) - performance.now()
      if (restMs < 1 || this.#signal?.aborted === true) return
      // What others do may change meanwhile.
      await sleep(Math.min(restMs, SAMPLE_MS))
    }
  }

  /**
   * How many items the next slice should have, of `most`. Each post that meets a slice takes
   * longer: short slices slow many posts a little, and long ones some posts much.
   */
  sized(most: number): number {
    return Math.ceil(most / Math.min(1 + PARTS * this.others, MAX_PARTS))
  }

  /**
   * How many statements of others were under way at once of late, on average. A single one of a
   * second is chance: a probe, a sweep, a reader now and then.
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
      // The job itself meets what is wrong with the database, and tells it.
    } finally {
      this.#asking = undefined
    }
  }
}
