/** CPU time to write an event to one stream alone (docs/decisions/0012). */
const WRITE_MICROS = 11
const MIN_MS = 5
/** From this share of a core on, the pause has its greatest length. */
const FULL_SHARE = 0.5
/** A delivery of this age counts a third: the weight decays exponentially. */
const MEMORY_MS = 1000

/** How long a topic's events gather after a write, before the next write. */
export interface Pause {
  /** Counts events that went out, once for each stream. */
  count(deliveries: number): void
  readonly ms: number
}

/**
 * How long a discussion's events gather after a write before the next one. It follows from the
 * share of a core that this process would need to write each event to each stream alone. That share
 * does not depend on the grouping, so the pause is steady under a steady load.
 */
export class WritePause implements Pause {
  readonly #maxMs: number
  readonly #now: () => number
  /** Deliveries, weighted less the older they are. */
  #deliveries = 0
  #countedAt = 0

  /** `now`: a monotonic clock in milliseconds. */
  constructor({ maxMs, now = () => performance.now() }: { maxMs: number; now?: () => number }) {
    this.#maxMs = maxMs
    this.#now = now
  }

  count(deliveries: number): void {
    this.#deliveries = this.#recent() + deliveries
    this.#countedAt = this.#now()
  }

  get ms(): number {
    const micros = (this.#recent() * WRITE_MICROS) / MEMORY_MS
    const share = micros / 1000
    return Math.min(this.#maxMs, Math.max(MIN_MS, (this.#maxMs * share) / FULL_SHARE))
  }

  #recent(): number {
    return this.#deliveries * Math.exp((this.#countedAt - this.#now()) / MEMORY_MS)
  }
}
