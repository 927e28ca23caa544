import type { Logger } from 'pino'

import { type Bus, CHANNELS } from '../../core/bus.ts'
import type { Id } from '../../core/ids.ts'
import { Batch, type Payload } from '../../live/batch.ts'
import type { Feed, Sink } from '../../live/seat.ts'
import type { QueueCounts, QueueState } from './queue-sql.ts'

/** What those who follow the queues are told. */
export interface QueueFrame extends Payload {
  readonly counts: QueueCounts
}

export interface QueueTopicOptions {
  tenantId: Id
  bus: Bus
  /**
   * How the tenant's queues are, no older than the call. Two that overlap answer in the order of
   * their calls.
   */
  read: (tenantId: Id) => Promise<QueueState>
  log: Logger
  onEmpty: () => void
}

/** After news that was acted on, the next waits until so long after it. */
const PACE_MS = 250

/**
 * The moderation queues of a tenant with listeners in this process. Each is told how they are: at
 * once, and whenever that is otherwise. What went unsaid in between is in what is said next, so
 * that nothing is kept or replayed.
 */
export class QueueTopic {
  readonly #options: QueueTopicOptions
  readonly #seats = new Set<QueueSeat>()
  /** Listening first: what is committed after a read cannot go unheard. */
  readonly #listening: Promise<() => void>
  #mark: string | undefined
  /** What is so now, as far as is known: all are told of it at their pace. */
  #latest: Batch<QueueFrame> | undefined
  #timer: NodeJS.Timeout | undefined
  #actedAt = -Infinity

  constructor(options: QueueTopicOptions) {
    this.#options = options
    const { bus, tenantId } = options
    this.#listening = bus.subscribe(CHANNELS.queues(tenantId), this.#hear)
    // Those that join await it, and get its error.
    this.#listening.catch(() => undefined)
  }

  get latest(): Batch<QueueFrame> | undefined {
    return this.#latest
  }

  /** Reserves a place, so that the topic stays. */
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

  /** Reads how the queues are, for one who joins. To the others it is news like any other. */
  async prepare(): Promise<void> {
    if ((await this.#read()) && this.#seats.size > 1) this.#hear()
  }

  /** Reads how the queues are, and tells all whom it is news to. */
  async refresh(): Promise<void> {
    await this.#read()
    for (const seat of this.#seats) seat.tell()
  }

  /** Whether they are otherwise than before. */
  async #read(): Promise<boolean> {
    await this.#listening
    const { mark, pending, reported } = await this.#options.read(this.#options.tenantId)
    if (mark === this.#mark) return false
    this.#mark = mark
    const counts = { pending, reported }
    this.#latest = new Batch([{ counts, bytes: Buffer.from(JSON.stringify(counts)) }])
    return true
  }

  readonly #hear = (): void => {
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
  /** Who is told; null before it has begun. */
  #live: Sink<QueueFrame> | null = null
  #told: Batch<QueueFrame> | undefined
  readonly #topic: QueueTopic

  constructor(topic: QueueTopic) {
    this.#topic = topic
  }

  start(sink: Sink<QueueFrame>): void {
    this.#live = sink
    this.tell()
  }

  /** Tells what is so now, once. */
  tell(): void {
    const { latest } = this.#topic
    if (this.#live === null || latest === undefined || latest === this.#told) return
    this.#told = latest
    this.#live.deliver(latest)
  }

  leave(): void {
    this.#live = null
    this.#topic.leave(this)
  }
}
