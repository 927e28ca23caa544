/** The phases of a stop, as shares of what the drain leaves of the grace period. */
const SHARES = {
  /** The process takes requests as before. */
  drain: 0,
  /** Streams end, spread over this time. */
  streams: 0.5,
  /** Requests and attempts under way end. What is left belongs to databases and logs. */
  work: 0.8,
} as const

export type StopPhase = keyof typeof SHARES

/**
 * How long each phase of a stop may still take. All phases are parts of one grace period, counted
 * from its beginning: one that takes longer than its share shortens the later ones, so that their
 * sum never exceeds the period.
 */
export class StopClock {
  readonly #graceMs: number
  readonly #drainMs: number
  readonly #begunAt: number

  /** The drain takes half of the grace period at most. */
  constructor({ graceSeconds, drainSeconds }: { graceSeconds: number; drainSeconds: number }, now = performance.now()) {
    this.#graceMs = graceSeconds * 1000
    this.#drainMs = Math.min(drainSeconds * 1000, this.#graceMs / 2)
    this.#begunAt = now
  }

  get drainMs(): number {
    return this.#drainMs
  }

  /** Milliseconds until a phase is over; 0 if it is. */
  leftMs(phase: StopPhase, now = performance.now()): number {
    const endsAt = this.#begunAt + this.#drainMs + (this.#graceMs - this.#drainMs) * SHARES[phase]
    return Math.max(0, endsAt - now)
  }
}
