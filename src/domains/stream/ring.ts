import type { Frame } from './frames.ts'

const MAX_FRAMES = 128
const MAX_BYTES = 128 * 1024

/** The latest frames of a discussion, one after the other without a hole, bounded in number and bytes. */
export class Ring {
  #frames: Frame[] = []
  #bytes = 0

  push(frame: Frame): void {
    const last = this.#frames.at(-1)
    if (last !== undefined && frame.seq !== last.seq + 1) this.clear()
    this.#frames.push(frame)
    this.#bytes += frame.bytes.length
    while (this.#frames.length > MAX_FRAMES || (this.#bytes > MAX_BYTES && this.#frames.length > 0)) {
      this.#bytes -= this.#frames.shift()?.bytes.length ?? 0
    }
  }

  /** Every frame after `seq`, or null where the ring does not reach back that far. */
  after(seq: number): readonly Frame[] | null {
    const first = this.#frames[0]
    if (first === undefined || seq + 1 < first.seq) return null
    return this.#frames.slice(seq + 1 - first.seq)
  }

  clear(): void {
    this.#frames = []
    this.#bytes = 0
  }
}
