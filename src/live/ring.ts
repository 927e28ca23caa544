import type { Frame } from './streams/frames.ts'
import { applyWithdrawal } from './streams/withdrawn-frames.ts'

const MAX_FRAMES = 1000
const MAX_BYTES = 256 * 1024
/** The bytes that a ring keeps when all rings together are over budget. */
const MIN_BYTES = 16 * 1024

/** The bytes that the rings of a process hold together, and their bound. */
export interface RingBudget {
  bytes: number
  readonly maxBytes: number
}

/** The latest frames of a discussion, consecutive, bounded in number and bytes. */
export class Ring {
  readonly #budget: RingBudget
  #frames: Frame[] = []
  #bytes = 0

  constructor(budget: RingBudget) {
    this.#budget = budget
  }

  push(frame: Frame): void {
    const last = this.#frames.at(-1)
    if (last !== undefined && frame.seq !== last.seq + 1) this.clear()
    this.#frames.push(frame)
    applyWithdrawal(frame, this.#frames)
    this.#count(frame.bytes.length)
    while (this.#isOver(0)) this.#count(-(this.#frames.shift()?.bytes.length ?? 0))
  }

  /** Adds frames from right before the first one, while there is room and no hole. */
  prepend(frames: readonly Frame[]): void {
    let next = this.firstSeq
    const older: Frame[] = []
    for (const frame of frames.toReversed()) {
      if ((next !== null && frame.seq !== next - 1) || this.#isOver(frame.bytes.length)) break
      older.push(frame)
      this.#count(frame.bytes.length)
      next = frame.seq
    }
    // Later events, already kept here, may have withdrawn their texts since they were read.
    const inView = older.filter(({ withdrawn }) => withdrawn === null)
    for (const frame of this.#frames) applyWithdrawal(frame, inView)
    this.#frames = [...older.toReversed(), ...this.#frames]
  }

  /** Every frame after `seq`, or null if the ring does not reach back that far. */
  after(seq: number): readonly Frame[] | null {
    const first = this.#frames[0]
    if (first === undefined || seq + 1 < first.seq) return null
    return this.#frames.slice(seq + 1 - first.seq)
  }

  /** The seq of the first frame; null if the ring is empty. */
  get firstSeq(): number | null {
    return this.#frames[0]?.seq ?? null
  }

  clear(): void {
    this.#count(-this.#bytes)
    this.#frames = []
  }

  #isOver(more: number): boolean {
    const maxBytes = this.#budget.bytes > this.#budget.maxBytes ? MIN_BYTES : MAX_BYTES
    return this.#frames.length > MAX_FRAMES || this.#bytes + more > maxBytes
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#budget.bytes += bytes
  }
}
