import type { Viewer, Frame } from './frames.ts'

/** Where a stream's events go: a socket, a GraphQL subscription. The hub knows nothing more of it. */
export interface Sink {
  /** Takes events in order. Never throws; one that cannot keep up gives its seat up. */
  deliver(frames: readonly Frame[]): void
  /** Whether it would rather have no more for now. */
  readonly isFull: boolean
  /** Resolves once there is room for more of a replay. Never rejects. */
  ready(): Promise<void>
}

/** One listener's place in a discussion. */
export interface Seat {
  readonly viewer: Viewer
  /** The position that the listener has been brought up to: nothing of its audience up to there is still to come. */
  readonly position: number
  /** Begins with the replay, goes over to live. */
  start(sink: Sink): void
  /** Ends it for good; nothing is delivered from then on. May be called again. */
  leave(): void
}
