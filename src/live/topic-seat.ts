import type { Seat, Sink, Stream } from './seat.ts'
import type { StreamViewer } from './viewer.ts'

/** What a seat needs of its topic. */
interface Feed {
  /** The position up to which the topic has sent events. */
  readonly sent: number
  feed(seat: TopicSeat, sink: Sink): Promise<void>
  leave(seat: TopicSeat): void
}

export class TopicSeat implements Seat {
  readonly viewer: StreamViewer
  /** The position that it was fed up to before it was live. */
  fed = 0
  /** Where live events go; null while the seat is behind. */
  live: Sink | null = null
  left = false
  readonly stream: Stream
  readonly #topic: Feed

  constructor(viewer: StreamViewer, stream: Stream, topic: Feed) {
    this.viewer = viewer
    this.stream = stream
    this.#topic = topic
  }

  get position(): number {
    return this.live === null ? this.fed : Math.max(this.fed, this.#topic.sent)
  }

  start(sink: Sink): void {
    void this.#topic.feed(this, sink)
  }

  leave(): void {
    if (this.left) return
    this.fed = this.position
    this.left = true
    this.live = null
    this.#topic.leave(this)
  }
}
