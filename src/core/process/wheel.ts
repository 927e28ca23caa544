const TICK_MS = 100
/** Times further off than one turn of the wheel are skipped until their turn. */
const SLOTS = 512

/**
 * One timer for any number of items, each due at some time, and each able to postpone itself: a
 * timing wheel (Varghese and Lauck, 1987). Adding, postponing and removing cost the same whatever
 * it holds.
 */
export class Wheel<T> {
  readonly #slots = Array.from({ length: SLOTS }, () => new Set<T>())
  /** The tick in which each item is due. */
  readonly #ticks = new Map<T, number>()
  readonly #due: (item: T, now: number) => void
  /** The last tick that was looked at. */
  #tick = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * `due` is called once for each item that is due, up to 0.1 s late; the item is then out of the
   * wheel.
   */
  constructor(due: (item: T, now: number) => void) {
    this.#due = due
  }

  /** Adds or reschedules an item, in milliseconds since 1970. Infinity removes it. */
  put(item: T, at: number): void {
    this.delete(item)
    if (at === Infinity) return
    // An empty wheel does not turn.
    if (this.#ticks.size === 0) this.#tick = tickOf(Date.now())
    const tick = Math.max(tickOf(at), this.#tick) + 1
    this.#ticks.set(item, tick)
    this.#slotOf(tick).add(item)
    this.#timer ??= setInterval(() => this.#turn(Date.now()), TICK_MS).unref()
  }

  delete(item: T): void {
    const tick = this.#ticks.get(item)
    if (tick === undefined) return
    this.#ticks.delete(item)
    this.#slotOf(tick).delete(item)
  }

  #turn(now: number): void {
    const end = tickOf(now)
    // After a long pause, visit each slot once.
    this.#tick = Math.max(this.#tick, end - SLOTS)
    while (this.#tick < end) {
      this.#tick++
      for (const item of this.#slotOf(this.#tick)) {
        if ((this.#ticks.get(item) ?? Infinity) > this.#tick) continue
        this.delete(item)
        this.#due(item, now)
      }
    }
    if (this.#ticks.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #slotOf = (tick: number): Set<T> => this.#slots[tick % SLOTS] as Set<T>
}

const tickOf = (at: number): number => Math.floor(at / TICK_MS)
