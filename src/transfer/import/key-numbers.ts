import type { Key } from '../../domains/imports/keys.ts'

const FIRST_ROOM = 1024

/**
 * Numbers keys, from 0 on. It holds 64 bits of each, in some 20 bytes: among ten million keys, the
 * chance that two are taken for one is one in 370 000.
 */
export class KeyNumbers {
  private count = 0
  private high = new Uint32Array(FIRST_ROOM)
  private low = new Uint32Array(FIRST_ROOM)
  /** Hash table of the keys' numbers plus 1, so that 0 is an empty slot. */
  private places = new Uint32Array(2 * FIRST_ROOM)

  get size(): number {
    return this.count
  }

  /** The number of a key, and whether it is new. */
  add(key: Key): { number: number; isNew: boolean } {
    const [high, low] = bitsOf(key)
    const place = this.placeOf(high, low)
    const before = this.places[place] ?? 0
    if (before > 0) return { number: before - 1, isNew: false }
    const number = this.count++
    this.high[number] = high
    this.low[number] = low
    this.places[place] = this.count
    if (this.count === this.high.length) this.grow()
    return { number, isNew: true }
  }

  /** The number of a key; undefined if it has none. */
  find(key: Key): number | undefined {
    const before = this.places[this.placeOf(...bitsOf(key))] ?? 0
    return before === 0 ? undefined : before - 1
  }

  /** Compares the keys of two numbers: negative if the first key is less. */
  compare(one: number, other: number): number {
    const byHigh = (this.high[one] ?? 0) - (this.high[other] ?? 0)
    return byHigh === 0 ? (this.low[one] ?? 0) - (this.low[other] ?? 0) : byHigh
  }

  /** The slot of a key, or the empty one for it. At least half of the slots are empty. */
  private placeOf(high: number, low: number): number {
    const { places } = this
    for (let place = low % places.length; ; place = (place + 1) % places.length) {
      const number = (places[place] ?? 0) - 1
      if (number < 0 || (this.low[number] === low && this.high[number] === high)) return place
    }
  }

  private grow(): void {
    const room = 2 * this.count
    this.high = grown(this.high, room)
    this.low = grown(this.low, room)
    this.places = new Uint32Array(2 * room)
    for (let number = 0; number < this.count; number++) {
      this.places[this.placeOf(this.high[number] ?? 0, this.low[number] ?? 0)] = number + 1
    }
  }
}

/** Keys are digests, so any of their bits serve as a hash. */
const bitsOf = (key: Key): [high: number, low: number] => [
  Number.parseInt(key.slice(0, 8), 16),
  Number.parseInt(key.slice(-8), 16),
]

function grown(numbers: Uint32Array, room: number): Uint32Array<ArrayBuffer> {
  const next = new Uint32Array(room)
  next.set(numbers)
  return next
}
