import type { Logger } from 'pino'

import { type Bus, CHANNELS } from '../../core/bus.ts'
import type { Id } from '../../core/ids.ts'
import { Batch, type Payload } from '../stream/batch.ts'
import type { Feed, Sink } from '../stream/seat.ts'
import type { QueueCounts, QueueState } from './queue-sql.ts'

/** What those who follow the queues are told. */
export interface QueueFrame extends Payload {
  readonly counts: QueueCounts
}

export interface QueueTopicOptions {
  tenantId: Id
  bus: Bus
  /** How the tenant's queues are, no older than the call. Two that overlap answer in the order of their calls. */
  read: (tenantId: Id) => Promise<QueueState>
  log: Logger
  onEmpty: () => void
}

/** After news that was acted on, the next waits until so long after it. */
const PACE_MS = 250

/**
 * The moderation queues of a tenant with listeners in this process. Each is told how they are: at once, and whenever that
 * is otherwise. What went unsaid in between is in what is said next, so that nothing is kept or replayed.
 */
export class QueueTopic {
  readonly #options: QueueTopicOptions
  readonly #seats = new Set<QueueSeat>()
  /** Listening first: what is committed after a read cannot go unheard. */
  readonly #listening: Promise<() => void>
  #mark: string | undefined
  /** What is so now, as far as is known. */
  #latest: Batch<QueueFrame> | undefined
  #timer: NodeJS.Timeout | undefined
  #actedAt = -Infinity

  constructor(options: QueueTopicOptions) {
    this.#options = options
    const { bus, tenantId } = options
    this.#listening = bus.subscribe(CHANNELS.queues(tenantId), this.#hear)
    // Whoever joins hears of it.
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

  /** Reads how the queues are, and says so where it is news. */
  async refresh(): Promise<void> {
    await this.#listening
    const { mark, pending, reported } = await this.#options.read(this.#options.tenantId)
    if (mark === this.#mark) return
    this.#mark = mark
    const counts = { pending, reported }
    const latest = new Batch([{ counts, bytes: Buffer.from(JSON.stringify(counts)) }])
    this.#latest = latest
    for (const { live } of this.#seats) live?.deliver(latest)
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
  live: Sink<QueueFrame> | null = null
  readonly #topic: QueueTopic

  constructor(topic: QueueTopic) {
    this.#topic = topic
  }

  start(sink: Sink<QueueFrame>): void {
    this.live = sink
    if (this.#topic.latest !== undefined) sink.deliver(this.#topic.latest)
  }

  leave(): void {
    this.live = null
    this.#topic.leave(this)
  }
}
