import type { Batch, Payload } from './batch.ts'
import type { Frame } from './frames.ts'
import type { StreamViewer } from './viewer.ts'

/**
 * Where a stream's events go: a socket, a GraphQL subscription. The hub knows nothing more of it.
 */
export interface Sink<P extends Payload = Frame> {
  /** Takes events in order. Never throws; one that cannot keep up gives its seat up. */
  deliver(batch: Batch<P>): void
  /** Whether it would rather have no more for now. */
  readonly isFull: boolean
  /** Resolves once there is room for more of a replay. Never rejects. */
  ready(): Promise<void>
  /** Learns how many bytes of a replay it has taken. */
  replayed?(bytes: number): void
}

/** A sink that hears of the end. */
export interface Taker<P extends Payload = Frame> extends Sink<P> {
  /** There is no more to come: the credentials are over, or the process stops. */
  end(): void
  /** Does what silence asks for. Returns when it wants to be looked at again (ms since 1970). */
  tick?(now: number): number
}

/** What feeds one listener. */
export interface Feed<P extends Payload = Frame> {
  /** Begins with what the listener has missed, goes over to live. */
  start(sink: Sink<P>): void
  /** Ends it for good; nothing is delivered from then on. May be called again. */
  leave(): void
}

/** One listener's place in a discussion. */
export interface Seat extends Feed {
  readonly viewer: StreamViewer
  /**
   * The position that the listener has been brought up to: nothing of its audience up to there is
   * still to come.
   */
  readonly position: number
}
