/** CPU of an event that is written to one stream by itself (docs/decisions/0012). */
const WRITE_MICROS = 11
const MIN_MS = 5
/** The share of a core from which on the pause is as long as it may be. */
const FULL_SHARE = 0.5
/** Deliveries of so long ago count a third. */
const MEMORY_MS = 1000

/** How long a topic's events gather after a write, before the next one. */
export interface Pause {
  /** Events have gone out: `deliveries` counts each of them once for each stream. */
  count(deliveries: number): void
  readonly ms: number
}

/**
 * How long a discussion's events gather after a write before the next one. It follows from the
 * share of a core that the events of this process would take, were each written to its streams by
 * itself. It does not depend on how they are grouped, so that it is steady under a steady load.
 */
export class WritePause implements Pause {
  readonly #maxMs: number
  readonly #now: () => number
  /** Events at streams, each worth less the longer ago it was. */
  #deliveries = 0
  #countedAt = 0

  /** `now`: a clock in milliseconds that never goes back. */
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
