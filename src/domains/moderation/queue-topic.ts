import type { Logger } from 'pino'

import { type Bus, CHANNELS } from '../../core/bus.ts'
import type { Id } from '../../core/ids.ts'
import { Batch, type Payload } from '../../live/streams/batch.ts'
import type { Feed, Sink } from '../../live/seat.ts'
import type { QueueCounts, QueueState } from './queue-sql.ts'

/** A message to followers of the queues. */
export interface QueueFrame extends Payload {
  readonly counts: QueueCounts
}

export interface QueueTopicOptions {
  tenantId: Id
  bus: Bus
  /**
   * Reads the state of the tenant's queues, no older than the call. Overlapping calls are answered
   * in order.
   */
  read: (tenantId: Id) => Promise<QueueState>
  log: Logger
  onEmpty: () => void
}

/** The least time between two reads because of messages. */
const PACE_MS = 250

/**
 * The moderation queues of a tenant with listeners in this process. Each listener gets the state of
 * the queues at once, and whenever it changes. A message replaces the earlier ones, so nothing is
 * kept or replayed.
 */
export class QueueTopic {
  readonly #options: QueueTopicOptions
  readonly #seats = new Set<QueueSeat>()
  /** Subscribes first, so that no commit after a read is missed. */
  readonly #listening: Promise<() => void>
  #mark: string | undefined
  /** The latest known state; each listener takes it at its own pace. */
  #latest: Batch<QueueFrame> | undefined
  #timer: NodeJS.Timeout | undefined
  #actedAt = -Infinity

  constructor(options: QueueTopicOptions) {
    this.#options = options
    const { bus, tenantId } = options
    this.#listening = bus.subscribe(CHANNELS.queues(tenantId), this.#onChange)
    // Callers of `join` await it, and get its error.
    this.#listening.catch(() => undefined)
  }

  get latest(): Batch<QueueFrame> | undefined {
    return this.#latest
  }

  /** Takes a seat, so that the topic is kept. */
  sit(): QueueSeat {
    const seat = new QueueSeat(this)
    this.#seats.add(seat)
    return seat
  }

  leave(seat: QueueSeat): void {
    if (!this.#seats.delete(seat) || this.#seats.size > 0) return
    clearTimeout(this.#timer)
    this.#listening.then(
      (unsubscribe) => unsubscribe(),
      () => undefined,
    )
    this.#options.onEmpty()
  }

  /** Reads the state for a new listener. If it has changed, the others get it too. */
  async prepare(): Promise<void> {
    if ((await this.#read()) && this.#seats.size > 1) this.#onChange()
  }

  /** Reads the state, and sends it to all who do not have it yet. */
  async refresh(): Promise<void> {
    await this.#read()
    for (const seat of this.#seats) seat.tell()
  }

  /** Reads the state. Returns whether it has changed. */
  async #read(): Promise<boolean> {
    await this.#listening
    const { mark, pending, reported } = await this.#options.read(this.#options.tenantId)
    if (mark === this.#mark) return false
    this.#mark = mark
    const counts = { pending, reported }
    this.#latest = new Batch([{ counts, bytes: Buffer.from(JSON.stringify(counts)) }])
    return true
  }

  readonly #onChange = (): void => {
    if (this.#seats.size === 0) return
    this.#timer ??= setTimeout(this.#act, Math.max(0, this.#actedAt + PACE_MS - performance.now())).unref()
  }

  readonly #act = (): void => {
    this.#timer = undefined
    this.#actedAt = performance.now()
    const { log, tenantId } = this.#options
    this.refresh().catch((err: unknown) => {
      log.warn({ err, tenantId }, 'the moderation queues could not be read; they are at the next repair')
    })
  }
}

export class QueueSeat implements Feed<QueueFrame> {
  /** The listener; null before it has started. */
  #live: Sink<QueueFrame> | null = null
  #sent: Batch<QueueFrame> | undefined
  readonly #topic: QueueTopic

  constructor(topic: QueueTopic) {
    this.#topic = topic
  }

  start(sink: Sink<QueueFrame>): void {
    this.#live = sink
    this.tell()
  }

  /** Sends the latest state, once. */
  tell(): void {
    const { latest } = this.#topic
    if (this.#live === null || latest === undefined || latest === this.#sent) return
    this.#sent = latest
    this.#live.deliver(latest)
  }

  leave(): void {
    this.#live = null
    this.#topic.leave(this)
  }
}
