import type { Payload } from '../../live/batch.ts'
import { Backlog } from '../../live/source-queue.ts'
import type { SourceStream } from '../../live/source-stream.ts'

/** What the operations of one connection share: together they hold no more than one may. */
export class SharedConnection {
  readonly gate = new Gate()
  readonly backlog = new Backlog()
  readonly #sources = new Set<SourceStream<Payload>>()
  #isOver = false

  add(source: SourceStream<Payload>): void {
    // Its connection may have gone while it was begun: the library would not end it any more.
    if (this.#isOver) return source.leave()
    this.#sources.add(source)
    source.onLeave(() => this.#sources.delete(source))
  }

  /** Nobody takes anything any more. */
  close(): void {
    this.#isOver = true
    for (const source of this.#sources) source.leave()
    this.gate.close()
  }
}

/** Results that wait for the client. The library itself would hold any number. */
const MAX_WAITING = 16

/** Holds results back while the client has not taken the ones before. */
export class Gate {
  #waiting = 0
  #isOpen = true
  #wake: (() => void)[] = []

  async enter(): Promise<void> {
    while (this.#waiting >= MAX_WAITING && this.#isOpen) await new Promise<void>((resolve) => this.#wake.push(resolve))
    this.#waiting++
  }

  leave(): void {
    this.#waiting--
    this.#wake.splice(0).forEach((wake) => wake())
  }

  /** Nobody takes anything any more: those that wait go on, and end. */
  close(): void {
    this.#isOpen = false
    this.#wake.splice(0).forEach((wake) => wake())
  }
}
