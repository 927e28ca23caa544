import type { Batch, Payload } from './streams/batch.ts'
import type { Frame } from './streams/frames.ts'
import type { StreamViewer } from './viewer.ts'

/**
 * The target of a stream's events: a socket or a GraphQL subscription. The hub knows nothing else
 * of it.
 */
export interface Sink<P extends Payload = Frame> {
  /** Takes events in order. Never throws; a sink that cannot keep up leaves its seat. */
  deliver(batch: Batch<P>): void
  /** Whether it needs a break from the replay. */
  readonly isFull: boolean
  /** Resolves once there is room for more of a replay. Never rejects. */
  ready(): Promise<void>
  /** Gets the bytes of each taken piece of a replay. */
  replayed?(bytes: number): void
  /** The replay is over at this position; its last events were not for the listener. */
  passed?(position: number): void
}

/** A sink that is notified of the end. */
export interface Taker<P extends Payload = Frame> extends Sink<P> {
  /** No more events follow: its credentials, its discussion or the process have ended. */
  end(): void
  /** Sends a heartbeat if it is due. Returns when to call it again (ms since 1970). */
  tick?(now: number): number
}

/** A listener, whatever carries its events. */
export interface Stream extends Pick<Taker, 'end'> {
  /** Its discussion was deleted. Only a stream of several discussions has this: it goes on. */
  gone?(): void
}

/** Feeds one listener. */
export interface Feed<P extends Payload = Frame> {
  /** Replays what the listener has missed, then continues live. */
  start(sink: Sink<P>): void
  /** Ends it for good; nothing is delivered after that. May be called again. */
  leave(): void
}

/** One listener's place in a discussion. */
export interface Seat extends Feed {
  readonly viewer: StreamViewer
  /**
   * The position that the listener has reached: every event of its audience up to there was
   * delivered.
   */
  readonly position: number
}
