import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'

import type { Logger } from 'pino'

import { inBatches } from '../core/queues/batches.ts'
import { type Bus, CHANNELS, type Unsubscribe } from '../core/bus.ts'
import { ServiceError } from '../core/errors.ts'
import { decodeNews, type News } from '../core/events.ts'
import { Broadcast, piecesOf } from './streams/batch.ts'
import { type Frame, frameOf } from './streams/frames.ts'
import type { StreamViewer } from './viewer.ts'
import type { EventLog, DiscussionKey, Head, MissedEvents, ReplayBounds } from './event-log.ts'
import type { StreamMetrics } from './metrics.ts'
import { Past } from './past.ts'
import { TopicSeat } from './topic-seat.ts'
import type { Pause } from './streams/pause.ts'
import type { RingBudget } from './ring.ts'
import type { Sink, Stream } from './seat.ts'

/**
 * A message that arrives before earlier ones waits this long for them; then the database is asked.
 */
const HOLE_WAIT_MS = 20
const RETRY_MS = 250
/** Rows of one read of events that the bus lost. */
const READ_ROWS = 200
/** The most messages kept until the missing one before them arrives. */
const MAX_EARLY = 100
const pause = (ms: number): Promise<void> => delay(ms, undefined, { ref: false })
const FOR_ALL = null

export interface TopicOptions {
  key: DiscussionKey
  bus: Bus
  events: EventLog
  log: Logger
  budget: RingBudget
  metrics: StreamMetrics
  pause: Pause
}

/**
 * One discussion with listeners in this process.
 *
 * `seq` only grows: by the next message, or by later events in the database. So each event goes out
 * once and in order, whatever the bus loses, doubles or reorders. A seat has a position: while that
 * is behind `seq`, the seat is fed from the past; once it is not, the seat is live.
 */
export class Topic {
  readonly key: DiscussionKey
  /** Settles once `seq` is known. Rejects with `not_found`, or if the database does not answer. */
  readonly started: Promise<void>
  readonly #options: TopicOptions
  readonly #past: Past
  readonly #seats = new Set<TopicSeat>()
  /** How many of these are of streams of several discussions. */
  #seatsOfMany = 0
  /** Messages that wait for an earlier one. */
  readonly #early = new Map<number, News>()
  #seq = -1
  /** The latest events up to `seq`, to be sent together at the next turn or after the pause. */
  #gathered: Frame[] = []
  #isGathering = false
  /** The highest position seen so far in any message or answer. */
  #target = -1
  /** The count of the last head that was read. */
  #scrubs = 0
  /** Settles when the missing events have arrived; null while none are missing. Never rejects. */
  #catching: Promise<void> | null = null
  #closed = false
  #unsubscribe: Unsubscribe | undefined

  constructor(options: TopicOptions) {
    this.key = options.key
    this.#options = options
    this.#past = new Past(options)
    this.started = this.#start()
    // Callers of `join` await it and get its error; without one, the rejection would be unhandled.
    this.started.catch(() => undefined)
  }

  get seq(): number {
    return this.#seq
  }

  /** The position that live seats have reached. */
  get sent(): number {
    return this.#gathered[0] === undefined ? this.#seq : this.#gathered[0].seq - 1
  }

  /** The number of streams of this discussion alone: a page of many discussions shows none. */
  get size(): number {
    return this.#seats.size - this.#seatsOfMany
  }

  get isEmpty(): boolean {
    return this.#seats.size === 0
  }

  /** Takes a seat, so that the topic is kept. It gets events after `start`. */
  sit(viewer: StreamViewer, stream: Stream): TopicSeat {
    const seat = new TopicSeat(viewer, stream, this)
    this.#seats.add(seat)
    if (stream.gone !== undefined) this.#seatsOfMany++
    return seat
  }

  /** Ends all streams, because the discussion was deleted. */
  end(): void {
    for (const { stream } of this.#seats) {
      if (stream.gone !== undefined) {
        stream.gone()
        continue
      }
      this.#options.metrics.cut('deleted')
      stream.end()
    }
  }

  leave(seat: TopicSeat): void {
    if (this.#seats.delete(seat) && seat.stream.gone !== undefined) this.#seatsOfMany--
  }

  close(): void {
    this.#closed = true
    this.#past.forget()
    this.#unsubscribe?.()
  }

  /** Drops the events cached for replays, because an erasure has rewritten some. */
  forgetEvents(): void {
    this.#past.forget()
    this.#early.clear()
    if (this.#target > this.#seq && this.#seq >= 0) this.#catchUp()
  }

  /** Takes the position that was read from the database. */
  learn({ seq, scrubs }: Pick<Head, 'seq' | 'scrubs'>): void {
    if (this.#seq < 0) return
    if (scrubs > this.#scrubs) {
      this.#scrubs = scrubs
      this.forgetEvents()
    }
    if (seq <= this.#seq) return
    this.#target = Math.max(this.#target, seq)
    this.#catchUp()
  }

  /** What a replay from `after` up to now would contain. */
  async missed(after: number, viewer: StreamViewer, bounds: ReplayBounds): Promise<MissedEvents> {
    return this.#past.missed({ after, upTo: this.#seq }, viewer, bounds)
  }

  /**
   * Reads the position of the discussion from the database, and catches up. Concurrent callers
   * share one read.
   */
  readonly refresh = (): Promise<void> => this.#refresh(undefined)

  readonly #refresh = inBatches<undefined, void>(Infinity, async (waiting) => {
    const [head] = await this.#options.events.heads([this.key])
    if (head === undefined) throw new ServiceError('not_found')
    this.learn(head)
    await this.#catching
    for (const { resolve } of waiting) resolve()
  })

  /**
   * Brings a seat from its position to live. If the database fails, it is asked again until the
   * seat is left.
   */
  async feed(seat: TopicSeat, sink: Sink): Promise<void> {
    let delivered = seat.fed
    while (!seat.left) {
      if (seat.fed >= this.#seq) {
        // No await between this check and the next delivery, so that no event is missed.
        seat.live = sink
        if (seat.fed > delivered) sink.passed?.(seat.fed)
        return
      }
      const { frames, upTo } = await this.#missedBy(seat)
      for (const piece of piecesOf(frames)) {
        await sink.ready()
        if (seat.left) return
        piece.taken++
        sink.deliver(piece)
        this.#options.metrics.replayed(piece)
        sink.replayed?.(piece.size)
        seat.fed = delivered = piece.frames.at(-1)?.seq ?? seat.fed
        // A fast client is ready again and again at once, while others wait behind its replay.
        await turn()
        if (seat.left) return
      }
      seat.fed = upTo
    }
  }

  async #missedBy(seat: TopicSeat): Promise<{ frames: readonly Frame[]; upTo: number }> {
    for (;;) {
      try {
        return await this.#past.read({ after: seat.fed, upTo: this.#seq }, seat.viewer)
      } catch (err) {
        this.#options.log.warn({ err, ...this.key }, 'a replay could not be read; trying again')
        await pause(RETRY_MS)
        if (seat.left) return { frames: [], upTo: seat.fed }
      }
    }
  }

  async #start(): Promise<void> {
    const { bus, events } = this.#options
    // Subscribes first: no commit after the read below can then be missed.
    const unsubscribe = await bus.subscribe(CHANNELS.discussion(this.key), (message) => this.#hear(message))
    this.#unsubscribe = unsubscribe
    if (this.#closed) return unsubscribe()
    const [head] = await events.heads([this.key])
    if (head === undefined) throw new ServiceError('not_found')
    this.#seq = head.seq
    this.#past.begin(head.seq)
    this.#scrubs = head.scrubs
    this.#target = Math.max(this.#target, head.seq)
    this.#goOn()
  }

  #hear(message: string): void {
    for (const news of decodeNews(message)) {
      if (news.seq <= this.#seq) continue
      this.#target = Math.max(this.#target, news.seq)
      if (this.#early.size < MAX_EARLY) this.#early.set(news.seq, news)
    }
    if (this.#seq >= 0) this.#goOn()
  }

  /**
   * Sends the events that follow `seq`. Missing ones are read from the database unless they arrive
   * at once.
   */
  #goOn(): void {
    const frames: Frame[] = []
    for (let news = this.#early.get(this.#seq + 1); news !== undefined; news = this.#early.get(this.#seq + 1)) {
      frames.push(this.#advance(frameOf(news)))
    }
    this.#gather(frames)
    if (this.#target > this.#seq) this.#catchUp(HOLE_WAIT_MS)
    // These are from before `seq` was known, or the database was faster.
    if (this.#target <= this.#seq) this.#early.clear()
  }

  #advance(frame: Frame): Frame {
    this.#seq = frame.seq
    this.#early.delete(frame.seq)
    this.#past.push(frame)
    return frame
  }

  /**
   * An event after a silence goes out at the end of this turn; events that follow within the pause
   * go out together in the next write.
   */
  #gather(frames: readonly Frame[]): void {
    if (frames.length === 0) return
    this.#gathered.push(...frames)
    if (this.#isGathering) return
    this.#isGathering = true
    setImmediate(this.#endPause)
  }

  readonly #endPause = (): void => {
    this.#isGathering = this.#gathered.length > 0
    if (!this.#isGathering) return
    this.#flush()
    setTimeout(this.#endPause, this.#options.pause.ms).unref()
  }

  #flush(): void {
    const frames = this.#gathered
    this.#gathered = []
    this.#broadcast(frames)
  }

  #catchUp(waitMs = 0): void {
    this.#catching ??= this.#fillHoles(waitMs).finally(() => (this.#catching = null))
  }

  async #fillHoles(waitMs: number): Promise<void> {
    if (waitMs > 0) await pause(waitMs)
    while (this.#target > this.#seq && !this.#closed) {
      try {
        await this.#readOn()
      } catch (err) {
        this.#options.log.warn({ err, ...this.key }, 'missing events could not be read; trying again')
        await pause(RETRY_MS)
      }
    }
  }

  async #readOn(): Promise<void> {
    const range = { after: this.#seq, upTo: this.#target }
    const { forgets } = this.#past
    const read = await this.#options.events.events(this.key, range, FOR_ALL, READ_ROWS)
    // If an erasure rewrote events during the read, read again.
    if (this.#closed || forgets !== this.#past.forgets) return
    if (read.length === 0 && this.#seq === range.after && this.#target === range.upTo) {
      // A message about an event that is not committed. The database is right.
      this.#target = this.#seq
      this.#early.clear()
      return
    }
    for (const piece of piecesOf(read.map(frameOf))) {
      this.#flush()
      // The bus may have delivered some of these meanwhile. Numbers that the database no longer
      // has are skipped.
      const frames = piece.frames.filter(({ seq }) => seq > this.#seq).map((frame) => this.#advance(frame))
      this.#options.metrics.repaired(frames.length)
      this.#broadcast(frames, { isBurst: true })
      // Let sockets work, or a long catch-up would make clients look slow.
      await turn()
      if (this.#closed) return
    }
    this.#goOn()
  }

  #broadcast(frames: readonly Frame[], { isBurst = false } = {}): void {
    const [first] = frames
    if (first === undefined) return
    const broadcast = new Broadcast(frames, { isLate: isBurst })
    for (const seat of this.#seats) {
      const sink = seat.live
      if (sink === null) continue
      if (seat.fed >= first.seq || (isBurst && sink.isFull)) {
        // The seat's replay has delivered some of this already, or its client cannot take a
        // catch-up at our pace. It continues by itself.
        seat.fed = Math.max(seat.fed, first.seq - 1)
        seat.live = null
        void this.feed(seat, sink)
        continue
      }
      const batch = broadcast.for(seat.viewer)
      if (batch === null) continue
      batch.taken++
      sink.deliver(batch)
    }
    this.#options.metrics.sent(broadcast)
    this.#options.pause.count(broadcast.deliveries)
  }
}
