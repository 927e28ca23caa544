import { setImmediate, setTimeout } from 'node:timers/promises'

import type { Logger } from 'pino'

import { type Bus, CHANNELS, type Unsubscribe } from '../../core/bus.ts'
import { ServiceError } from '../../core/errors.ts'
import { decodeNews, type News } from '../../core/events.ts'
import { type Frame, frameOf, type Viewer, visibleTo } from './frames.ts'
import type { EventLog } from './log.ts'
import { Ring } from './ring.ts'
import type { Seat, Sink } from './seat.ts'
import type { DiscussionKey, Head, Survey } from './sql.ts'

/** News that overtook others waits this long for them before the database is asked. */
const HOLE_WAIT_MS = 20
const RETRY_MS = 250
/** Rows of one read. A row may carry a comment of 10 000 characters twice, as Markdown and HTML. */
const READ_ROWS = 200
/** A replay goes out in pieces of about this size, each waiting for room on the socket. */
const PIECE_BYTES = 64 * 1024
/** News kept until what is missing before it has come. */
const MAX_EARLY = 100
const pause = (ms: number): Promise<void> => setTimeout(ms, undefined, { ref: false })
const EVERYTHING: Viewer = { kind: 'tenant' }

export interface TopicOptions {
  key: DiscussionKey
  bus: Bus
  events: EventLog
  log: Logger
}

/**
 * One discussion with listeners in this process.
 *
 * `seq` only ever grows: by news that follows on it, and by what the database holds beyond it. Whatever the bus loses,
 * doubles or reorders, each event so goes out once and in order. A seat has a position: while it is behind, it is fed
 * from the ring or the database; in the instant that it is not, it is live.
 */
export class Topic {
  readonly key: DiscussionKey
  /** Settles once `seq` is known. Rejects with `not_found`, or where the database does not answer. */
  readonly started: Promise<void>
  readonly #options: TopicOptions
  readonly #ring = new Ring()
  readonly #seats = new Set<TopicSeat>()
  /** News that cannot go out yet, because some before it is missing. */
  readonly #early = new Map<number, News>()
  #seq = -1
  /** The highest position that anything has told of. */
  #target = -1
  /** Of the last head that was read. */
  #scrubs = 0
  /** Counts how often what is kept was forgotten: a read from before must not bring it back. */
  #forgets = 0
  /** Settles when what is missing has come; null while nothing is. Never rejects. */
  #catching: Promise<void> | null = null
  #closed = false
  #unsubscribe: Unsubscribe | undefined

  constructor(options: TopicOptions) {
    this.key = options.key
    this.#options = options
    this.started = this.#start()
    // Whoever joins hears of it; the promise itself may have no one.
    this.started.catch(() => undefined)
  }

  get seq(): number {
    return this.#seq
  }

  /** How many seats are taken. */
  get size(): number {
    return this.#seats.size
  }

  get isEmpty(): boolean {
    return this.#seats.size === 0
  }

  /** Reserves a place, so that the topic stays. It is fed from `start` on. */
  sit(viewer: Viewer): TopicSeat {
    const seat = new TopicSeat(viewer, this)
    this.#seats.add(seat)
    return seat
  }

  leave(seat: TopicSeat): void {
    this.#seats.delete(seat)
  }

  close(): void {
    this.#closed = true
    this.#unsubscribe?.()
  }

  /** Forgets the events that are kept for replays: an erasure has rewritten some of them. */
  forgetEvents(): void {
    this.#forgets++
    this.#ring.clear()
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
  async survey(after: number, viewer: Viewer): Promise<Survey> {
    return this.#options.events.survey(this.key, { after, upTo: this.#seq }, viewer)
  }

  /** Asks the database how far the discussion is, and comes up to it. */
  async refresh(): Promise<void> {
    const [head] = await this.#options.events.heads([this.key])
    if (head === undefined) throw new ServiceError('not_found')
    this.learn(head)
    await this.#catching
  }

  /** Brings a seat from its position to live. A failing database is asked again until the seat is left. */
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
        sink.deliver(piece)
        seat.fed = piece.at(-1)?.seq ?? seat.fed
      }
      seat.fed = upTo
    }
  }

  async #missedBy(seat: TopicSeat): Promise<{ frames: readonly Frame[]; upTo: number }> {
    const upTo = this.#seq
    const recent = this.#ring.after(seat.fed)
    if (recent !== null) return { frames: visibleTo(recent, seat.viewer), upTo }
    const range = { after: seat.fed, upTo }
    for (;;) {
      try {
        const news = await this.#options.events.events(this.key, range, seat.viewer, READ_ROWS)
        return { frames: news.map(frameOf), upTo: news.length < READ_ROWS ? upTo : (news.at(-1)?.seq ?? upTo) }
      } catch (err) {
        this.#options.log.warn({ err, ...this.key }, 'a replay could not be read; it is tried again')
        await pause(RETRY_MS)
        if (seat.left) return { frames: [], upTo: seat.fed }
      }
    }
  }

  async #start(): Promise<void> {
    const { bus, events } = this.#options
    // Listening first: what is committed after the read below cannot go unheard.
    const unsubscribe = await bus.subscribe(CHANNELS.discussion(this.key.discussionId), (message) =>
      this.#hear(message),
    )
    this.#unsubscribe = unsubscribe
    if (this.#closed) return unsubscribe()
    const [head] = await events.heads([this.key])
    if (head === undefined) throw new ServiceError('not_found')
    this.#seq = head.seq
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

  /** Sends what follows on `seq`. A hole is filled from the database, unless what is missing comes at once. */
  #goOn(): void {
    const frames: Frame[] = []
    for (let news = this.#early.get(this.#seq + 1); news !== undefined; news = this.#early.get(this.#seq + 1)) {
      frames.push(this.#advance(frameOf(news)))
    }
    this.#broadcast(frames)
    if (this.#target > this.#seq) this.#catchUp(HOLE_WAIT_MS)
    // Left over from before `seq` was known, or overtaken by the database.
    if (this.#target <= this.#seq) this.#early.clear()
  }

  #advance(frame: Frame): Frame {
    this.#seq = frame.seq
    this.#early.delete(frame.seq)
    this.#ring.push(frame)
    return frame
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
        this.#options.log.warn({ err, ...this.key }, 'missing events could not be read; it is tried again')
        await pause(RETRY_MS)
      }
    }
  }

  async #readOn(): Promise<void> {
    const range = { after: this.#seq, upTo: this.#target }
    const forgets = this.#forgets
    const read = await this.#options.events.events(this.key, range, EVERYTHING, READ_ROWS)
    // Read again what was read while it was being rewritten.
    if (this.#closed || forgets !== this.#forgets) return
    if (read.length === 0 && this.#seq === range.after && this.#target === range.upTo) {
      // News of what no transaction has committed. The database is right.
      this.#target = this.#seq
      this.#early.clear()
      return
    }
    for (const piece of pieces(read.map(frameOf))) {
      // The bus may have brought some of it meanwhile. A number that the database no longer has is passed over.
      const frames = piece.filter(({ seq }) => seq > this.#seq).map((frame) => this.#advance(frame))
      this.#broadcast(frames, { isBurst: true })
      // Sockets get their turn, or a long catch-up would look as if nobody read.
      await setImmediate()
      if (this.#closed) return
    }
    this.#goOn()
  }

  #broadcast(frames: readonly Frame[], { isBurst = false } = {}): void {
    const [first] = frames
    if (first === undefined) return
    for (const seat of this.#seats) {
      const sink = seat.live
      if (sink === null) continue
      if (isBurst && sink.isFull) {
        // It cannot take a catch-up at our pace. It goes on at its own.
        seat.fed = first.seq - 1
        seat.live = null
        void this.feed(seat, sink)
        continue
      }
      const visible = visibleTo(frames, seat.viewer)
      if (visible.length > 0) sink.deliver(visible)
    }
  }
}

class TopicSeat implements Seat {
  readonly viewer: Viewer
  /** How far it has been fed while not live. */
  fed = 0
  /** Where live events go; null while it is behind. */
  live: Sink | null = null
  left = false
  readonly #topic: Topic

  constructor(viewer: Viewer, topic: Topic) {
    this.viewer = viewer
    this.#topic = topic
  }

  get position(): number {
    return this.live === null ? this.fed : this.#topic.seq
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
function* pieces(frames: readonly Frame[]): Generator<readonly Frame[]> {
  let from = 0
  let bytes = 0
  for (let at = 0; at < frames.length; at++) {
    bytes += frames[at]?.bytes.length ?? 0
    if (bytes < PIECE_BYTES && at < frames.length - 1) continue
    yield frames.slice(from, at + 1)
    from = at + 1
    bytes = 0
  }
}
