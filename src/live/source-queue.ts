import { ServiceError } from '../core/errors.ts'
import type { Batch, Payload } from './streams/batch.ts'
import type { Frame } from './streams/frames.ts'
import type { Taker } from './seat.ts'

const MAX_BYTES = 1024 * 1024
/** A replay waits while more bytes than this are queued. */
const ROOMY_BYTES = 64 * 1024

/** The queued bytes of one connection. */
export class Backlog {
  #bytes = 0
  readonly #waiting: (() => void)[] = []

  get isFull(): boolean {
    return this.#bytes > ROOMY_BYTES
  }

  /** Whether the queues hold more than a connection may. */
  get isOver(): boolean {
    return this.#bytes > MAX_BYTES
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Wakes one waiting replay at a time: together they would fill the queues at once. */
  remove(bytes: number): void {
    this.#bytes -= bytes
    if (!this.isFull) this.#waiting.shift()?.()
  }

  /** Resolves when there may be room. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

/** The events of a queue. */
export interface Events<P> extends AsyncIterableIterator<P> {
  /** Those that wait behind the last one. */
  readonly waiting: readonly P[]
}

interface QueueOptions {
  /** Called once, when nothing more is taken. */
  onEnd: () => void
  onOverflow: () => void
}

/** A bounded queue of events that an iteration has not taken yet. */
export class SourceQueue<P extends Payload = Frame> implements Taker<P> {
  readonly #backlog: Backlog
  readonly #options: QueueOptions
  #frames: P[] = []
  #bytes = 0
  #isOver = false
  #failure: ServiceError | undefined
  #waiting: (() => void)[] = []

  constructor(backlog: Backlog, options: QueueOptions) {
    this.#backlog = backlog
    this.#options = options
  }

  get isFull(): boolean {
    return this.#backlog.isFull
  }

  deliver({ frames, size }: Batch<P>): void {
    if (this.#isOver) return
    this.#frames.push(...frames)
    this.#bytes += size
    this.#backlog.add(size)
    if (this.#backlog.isOver) {
      this.#failure = new ServiceError('unavailable', {
        detail: 'The subscriber is too slow; resume with lastEventId.',
      })
      this.#options.onOverflow()
      this.end()
    } else this.#wakeAll()
  }

  async ready(): Promise<void> {
    while (!this.#isOver && this.isFull) await this.#backlog.changed()
    // A replay that was woken after its end wakes the next one.
    if (this.#isOver) this.#backlog.remove(0)
  }

  /** Ends the iteration; queued events are dropped. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#frames = []
    this.#backlog.remove(this.#bytes)
    this.#bytes = 0
    this.#options.onEnd()
    this.#wakeAll()
  }

  /**
   * The queue as an async iterator. It is written out because `return` must end it at any time,
   * also before the first `next` and while one waits: an async generator would do neither. `begin`
   * is called with the first `next`.
   */
  iterate(begin: () => void): Events<P> {
    let hasBegun = false
    const waiting = (): readonly P[] => this.#frames
    const finish = (): Promise<IteratorReturnResult<undefined>> => {
      this.end()
      return Promise.resolve({ done: true, value: undefined })
    }
    return {
      next: async () => {
        if (!hasBegun) begin()
        hasBegun = true
        const value = await this.#take()
        return value === undefined ? { done: true, value } : { done: false, value }
      },
      get waiting() {
        return waiting()
      },
      return: finish,
      throw: finish,
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  /** The next event; undefined at the end. Rejects once after an overflow. */
  async #take(): Promise<P | undefined> {
    while (this.#frames.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    if (this.#failure !== undefined) {
      const failure = this.#failure
      this.#failure = undefined
      throw failure
    }
    const frame = this.#frames.shift()
    if (frame === undefined) return undefined
    this.#bytes -= frame.bytes.length
    this.#backlog.remove(frame.bytes.length)
    return frame
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}
