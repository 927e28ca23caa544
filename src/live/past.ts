import { inBatches } from '../core/queues/batches.ts'
import { type Frame, frameOf, occurredAt, visibleTo } from './streams/frames.ts'
import { isVisible, type StreamViewer } from './viewer.ts'
import type { EventLog, DiscussionKey, SeqRange, MissedEvents, ReplayBounds } from './event-log.ts'
import { Ring, type RingBudget } from './ring.ts'

/**
 * Rows of one read: few at first, then as many as fill READ_BYTES at the size of the rows so far. A
 * row may carry a comment of 10 000 characters twice, as Markdown and HTML, and the rows read wait
 * in memory for a client that may be slow.
 */
const READ_ROWS = { first: 50, least: 10, most: 200 }
const READ_BYTES = 2 ** 20
/** The most events that are loaded back into memory: about what a ring holds of usual ones. */
const REACH = 400
/**
 * Extra events, because other clients that reconnect at the same time have missed a little more.
 */
const MARGIN = 64
const FOR_ALL = null

interface PastOptions {
  key: DiscussionKey
  events: EventLog
  budget: RingBudget
}

/**
 * The past of one discussion, for replays: recent events from memory, older ones from the database.
 * Events that several returning clients have missed are read once for all of them.
 */
export class Past {
  readonly #options: PastOptions
  readonly #ring: Ring
  /** The number of the latest event. */
  #lastSeq = -1
  #forgets = 0
  #readRows = READ_ROWS.first
  readonly #reachBack: (after: number) => Promise<void>

  constructor(options: PastOptions) {
    this.#options = options
    this.#ring = new Ring(options.budget)
    this.#reachBack = inBatches<number, void>(Infinity, async (waiting) => {
      // The read that goes back furthest serves all.
      await this.#load(waiting.reduce((least, { input }) => Math.min(least, input), Infinity))
      for (const { resolve } of waiting) resolve()
    })
  }

  /** How often the cached events were dropped: a read from before must not bring them back. */
  get forgets(): number {
    return this.#forgets
  }

  /** Starts after an event. */
  begin(lastSeq: number): void {
    this.#lastSeq = lastSeq
  }

  /** Adds the next event. */
  push(frame: Frame): void {
    this.#lastSeq = frame.seq
    this.#ring.push(frame)
  }

  /** Drops the cached events, because some were rewritten. */
  forget(): void {
    this.#forgets++
    this.#ring.clear()
  }

  /** What a replay of the range would contain. */
  async missed(range: SeqRange, viewer: StreamViewer, bounds: ReplayBounds): Promise<MissedEvents> {
    const recent = await this.#recent(range)
    if (recent === null) return this.#options.events.missed(this.#options.key, range, viewer, bounds)
    const frames = recent.filter((frame) => frame.seq <= range.upTo)
    const visible = frames.filter((frame) => isVisible(frame, viewer))
    const [first] = visible
    return {
      visible: visible.length,
      firstAt: first === undefined ? null : occurredAt(first),
      isWhole: frames.length === range.upTo - range.after,
    }
  }

  /**
   * The events that the viewer may see, from the beginning of a range, and the position reached.
   */
  async read(range: SeqRange, viewer: StreamViewer): Promise<{ frames: readonly Frame[]; upTo: number }> {
    const recent = this.#ring.after(range.after)
    if (recent !== null) return { frames: visibleTo(recent, viewer), upTo: recent.at(-1)?.seq ?? range.after }
    const rows = this.#readRows
    const frames = (await this.#options.events.events(this.#options.key, range, viewer, rows)).map(frameOf)
    const bytes = frames.reduce((sum, frame) => sum + frame.bytes.length, 0)
    if (bytes > 0) {
      const fitting = Math.floor((READ_BYTES * frames.length) / bytes)
      this.#readRows = Math.min(READ_ROWS.most, Math.max(READ_ROWS.least, fitting))
    }
    const upTo = frames.length < rows ? range.upTo : (frames.at(-1)?.seq ?? range.upTo)
    return { frames: visibleTo(frames, viewer), upTo }
  }

  async #recent(range: SeqRange): Promise<readonly Frame[] | null> {
    const recent = this.#ring.after(range.after)
    if (recent !== null) return recent
    if (range.upTo - range.after > REACH) return null
    await this.#reachBack(range.after)
    return this.#ring.after(range.after)
  }

  async #load(after: number): Promise<void> {
    const { key, events } = this.#options
    const upTo = this.#ring.firstSeq === null ? this.#lastSeq : this.#ring.firstSeq - 1
    if (after >= upTo) return
    const forgets = this.#forgets
    const from = Math.max(0, after - MARGIN)
    const news = await events.events(key, { after: from, upTo }, FOR_ALL, REACH + MARGIN)
    // Only if the ring still begins where it did before the read.
    const goesOn = upTo === (this.#ring.firstSeq === null ? this.#lastSeq : this.#ring.firstSeq - 1)
    if (goesOn && forgets === this.#forgets) this.#ring.prepend(news.map(frameOf))
  }
}
