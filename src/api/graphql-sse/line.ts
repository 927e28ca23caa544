import type { Payload } from '../../live/batch.ts'
import { Backlog } from '../../live/source-queue.ts'
import type { Source } from '../../live/source.ts'
import { Gate } from './gate.ts'

/** What the operations of one connection share: together they hold no more than one may. */
export class Line {
  readonly gate = new Gate()
  readonly backlog = new Backlog()
  readonly #sources = new Set<Source<Payload>>()
  #isOver = false

  add(source: Source<Payload>): void {
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
