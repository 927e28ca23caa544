import type { Batch } from './batch.ts'
import type { Viewer } from './frames.ts'

/** Where a stream's events go: a socket, a GraphQL subscription. The hub knows nothing more of it. */
export interface Sink {
  /** Takes events in order. Never throws; one that cannot keep up gives its seat up. */
  deliver(batch: Batch): void
  /** Whether it would rather have no more for now. */
  readonly isFull: boolean
  /** Resolves once there is room for more of a replay. Never rejects. */
  ready(): Promise<void>
}

/** A sink that hears of the end. */
export interface Taker extends Sink {
  /** There is no more to come: the credentials are over, or the process stops. */
  end(): void
  /** Does what silence asks for. Returns when it wants to be looked at again (ms since 1970). */
  tick?(now: number): number
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
