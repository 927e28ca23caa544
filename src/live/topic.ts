import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'

import type { Logger } from 'pino'

import { inBatches } from '../core/batches.ts'
import { type Bus, CHANNELS, type Unsubscribe } from '../core/bus.ts'
import { ServiceError } from '../core/errors.ts'
import { decodeNews, type News } from '../core/events.ts'
import { Batch, Broadcast } from './batch.ts'
import { type Frame, frameOf } from './frames.ts'
import type { StreamViewer } from './viewer.ts'
import type { EventLog, DiscussionKey, Head, MissedEvents } from './event-log.ts'
import type { StreamMetrics } from './metrics.ts'
import { Past } from './past.ts'
import type { Pause } from './pause.ts'
import type { RingBudget } from './ring.ts'
import type { Seat, Sink } from './seat.ts'

/** News that overtook others waits this long for them before the database is asked. */
const HOLE_WAIT_MS = 20
const RETRY_MS = 250
/** Rows of one read of what the bus has lost. */
const READ_ROWS = 200
/** A replay goes out in pieces of about this size, each waiting for room on the socket. */
const PIECE_BYTES = 64 * 1024
/** News kept until what is missing before it has come. */
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
 * `seq` only ever grows: by news that follows on it, and by what the database holds beyond it.
 * Whatever the bus loses, doubles or reorders, each event so goes out once and in order. A seat has
 * a position: while it is behind, it is fed from the past; in the instant that it is not, it is
 * live.
 */
export class Topic {
  readonly key: DiscussionKey
  /**
   * Settles once `seq` is known. Rejects with `not_found`, or where the database does not answer.
   */
  readonly started: Promise<void>
  readonly #options: TopicOptions
  readonly #past: Past
  readonly #seats = new Set<TopicSeat>()
  /** News that cannot go out yet, because some before it is missing. */
  readonly #early = new Map<number, News>()
  #seq = -1
  /**
   * The last events up to `seq`, which are to go out together at the next turn or the end of the
   * write's pause.
   */
  #gathered: Frame[] = []
  #isGathering = false
  /** The highest position that anything has told of. */
  #target = -1
  /** Of the last head that was read. */
  #scrubs = 0
  /** Settles when what is missing has come; null while nothing is. Never rejects. */
  #catching: Promise<void> | null = null
  #closed = false
  #unsubscribe: Unsubscribe | undefined

  constructor(options: TopicOptions) {
    this.key = options.key
    this.#options = options
    this.#past = new Past(options)
    this.started = this.#start()
    // Those that join await it, and get its error; without one, the rejection would be unhandled.
    this.started.catch(() => undefined)
  }

  get seq(): number {
    return this.#seq
  }

  /** Up to where live seats have been brought. */
  get sent(): number {
    return this.#gathered[0] === undefined ? this.#seq : this.#gathered[0].seq - 1
  }

  /** How many seats are taken. */
  get size(): number {
    return this.#seats.size
  }

  get isEmpty(): boolean {
    return this.#seats.size === 0
  }

  /** Reserves a place, so that the topic stays. It is fed from `start` on. */
  sit(viewer: StreamViewer): TopicSeat {
    const seat = new TopicSeat(viewer, this)
    this.#seats.add(seat)
    return seat
  }

  leave(seat: TopicSeat): void {
    this.#seats.delete(seat)
  }

  close(): void {
    this.#closed = true
    this.#past.forget()
    this.#unsubscribe?.()
  }

  /** Forgets the events that are kept for replays: an erasure has rewritten some of them. */
  forgetEvents(): void {
    this.#past.forget()
    this.#early.clear()
    if (this.#target > this.#seq && this.#seq >= 0) this.#catchUp()
  }

  /** Word of how far the discussion is, from the database. */
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

  /** What a replay after `after` up to now would bring. */
  async missed(after: number, viewer: StreamViewer): Promise<MissedEvents> {
    return this.#past.missed({ after, upTo: this.#seq }, viewer)
  }

  /** The next part of the past after `after`, up to where it goes, and whether that is all. */
  async read(after: number, viewer: StreamViewer): Promise<{ frames: readonly Frame[]; upTo: number; isAll: boolean }> {
    const part = await this.#past.read({ after, upTo: this.#seq }, viewer)
    return { ...part, isAll: part.upTo >= this.#seq }
  }

  /**
   * Asks the database how far the discussion is, and comes up to it. Those who ask at the same time
   * do so together.
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
   * Brings a seat from its position to live. A failing database is asked again until the seat is
   * left.
   */
  async feed(seat: TopicSeat, sink: Sink): Promise<void> {
    while (!seat.left) {
      if (seat.fed >= this.#seq) {
        // No await stands between this check and the next delivery: nothing comes in between.
        seat.live = sink
        return
      }
      const { frames, upTo } = await this.#missedBy(seat)
      for (const piece of pieces(frames)) {
        await sink.ready()
        if (seat.left) return
        piece.taken++
        sink.deliver(piece)
        this.#options.metrics.replayed(piece)
        sink.replayed?.(piece.size)
        seat.fed = piece.frames.at(-1)?.seq ?? seat.fed
        // A fast client is ready at once, again and again; others wait behind its replay.
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
    // Listening first: what is committed after the read below cannot go unheard.
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
   * Sends what follows on `seq`. A hole is filled from the database, unless what is missing comes
   * at once.
   */
  #goOn(): void {
    const frames: Frame[] = []
    for (let news = this.#early.get(this.#seq + 1); news !== undefined; news = this.#early.get(this.#seq + 1)) {
      frames.push(this.#advance(frameOf(news)))
    }
    this.#gather(frames)
    if (this.#target > this.#seq) this.#catchUp(HOLE_WAIT_MS)
    // Left over from before `seq` was known, or overtaken by the database.
    if (this.#target <= this.#seq) this.#early.clear()
  }

  #advance(frame: Frame): Frame {
    this.#seq = frame.seq
    this.#early.delete(frame.seq)
    this.#past.push(frame)
    return frame
  }

  /**
   * An event after a pause goes out at the end of this turn, what follows on it closely in one
   * write after that.
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
    // Read again what was read while it was being rewritten.
    if (this.#closed || forgets !== this.#past.forgets) return
    if (read.length === 0 && this.#seq === range.after && this.#target === range.upTo) {
      // News of what no transaction has committed. The database is right.
      this.#target = this.#seq
      this.#early.clear()
      return
    }
    for (const piece of pieces(read.map(frameOf))) {
      this.#flush()
      // The bus may have brought some of it meanwhile. A number that the database no longer has is
      // passed over.
      const frames = piece.frames.filter(({ seq }) => seq > this.#seq).map((frame) => this.#advance(frame))
      this.#options.metrics.repaired(frames.length)
      this.#broadcast(frames, { isBurst: true })
      // Sockets get their turn, or a long catch-up would look as if nobody read.
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
        // Its replay has brought it some of this, or it cannot take a catch-up at our pace. It goes
        // on by itself.
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

class TopicSeat implements Seat {
  readonly viewer: StreamViewer
  /** How far it was fed before it was live. */
  fed = 0
  /** Where live events go; null while it is behind. */
  live: Sink | null = null
  left = false
  readonly #topic: Topic

  constructor(viewer: StreamViewer, topic: Topic) {
    this.viewer = viewer
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

/** Cuts frames into pieces of about 64 KiB, a single longer one by itself. */
function* pieces(frames: readonly Frame[]): Generator<Batch> {
  let from = 0
  let bytes = 0
  for (let at = 0; at < frames.length; at++) {
    bytes += frames[at]?.bytes.length ?? 0
    if (bytes < PIECE_BYTES && at < frames.length - 1) continue
    yield new Batch(frames.slice(from, at + 1))
    from = at + 1
    bytes = 0
  }
}
