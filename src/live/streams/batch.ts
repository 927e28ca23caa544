import type { Id } from '../../core/ids.ts'
import { type Chunk, chunkOf } from './chunk.ts'
import { type Frame, visibleTo } from './frames.ts'
import type { StreamViewer } from '../viewer.ts'

/** Something that is sent to listeners. */
export interface Payload {
  readonly bytes: Buffer
}

/**
 * Events, or other messages, that are sent together: one write to each socket, of the same bytes.
 */
export class Batch<P extends Payload = Frame> {
  readonly frames: readonly P[]
  /** How many streams have taken it, and how many of these as gzip. */
  taken = 0
  takenAsGzip = 0
  /** How many streams of several discussions have taken it, and the bytes that they have sent. */
  takenApart = 0
  sentApart = 0
  #chunk: Chunk | undefined
  #unnumbered: readonly Chunk[] | undefined

  constructor(frames: readonly P[]) {
    this.frames = frames
  }

  get size(): number {
    return this.frames.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  /** Its bytes, over all streams that it was sent to. */
  get sentBytes(): number {
    const plain = this.size * (this.taken - this.takenAsGzip - this.takenApart) + this.sentApart
    return this.takenAsGzip === 0 ? plain : plain + this.chunk.deflated.bytes.length * this.takenAsGzip
  }

  get chunk(): Chunk {
    return (this.#chunk ??= chunkOf(this.frames.map(({ bytes }) => bytes)))
  }

  /**
   * Each event without its first line, the `id:`, for streams whose ids tell positions in several
   * discussions. All these streams share the bytes.
   */
  get unnumbered(): readonly Chunk[] {
    return (this.#unnumbered ??= this.frames.map(({ bytes }) => chunkOf([bytes.subarray(bytes.indexOf('\n') + 1)])))
  }
}

/** Events for all listeners: split by audience once, however many listeners there are. */
export class Broadcast {
  readonly #whole: Batch
  readonly #moderators: Batch | null
  readonly #keys: Batch | null
  readonly #anyone: Batch | null
  /** For each reader, the batch with that reader's own events. */
  readonly #readers = new Map<Id, Batch | null>()

  /**
   * `frames`: at least one, in order. If `isLate`, because the bus had lost them, they are sent as
   * in a replay; live, keys get every event as it was written.
   */
  constructor(frames: readonly Frame[], { isLate = false } = {}) {
    this.#whole = new Batch(frames)
    this.#moderators = this.#batchFor({ kind: 'moderator' })
    this.#keys = isLate ? this.#batchFor({ kind: 'tenant' }) : this.#moderators
    this.#anyone = this.#batchFor({ kind: 'public', readerId: null })
    for (const { recipientId } of frames) {
      if (recipientId === null || this.#readers.has(recipientId)) continue
      this.#readers.set(recipientId, this.#batchFor({ kind: 'public', readerId: recipientId }))
    }
  }

  get frames(): readonly Frame[] {
    return this.#whole.frames
  }

  /** All its different batches. */
  get batches(): ReadonlySet<Batch> {
    const all = [this.#moderators, this.#keys, this.#anyone, ...this.#readers.values()]
    return new Set(all.filter((batch) => batch !== null))
  }

  /** How many events were taken, counted once for each stream. */
  get deliveries(): number {
    return [...this.batches].reduce((sum, { frames, taken }) => sum + frames.length * taken, 0)
  }

  /** The events for this viewer; null for none. */
  for(viewer: StreamViewer): Batch | null {
    if (viewer.kind === 'moderator') return this.#moderators
    if (viewer.kind === 'tenant') return this.#keys
    if (this.#readers.size === 0 || viewer.readerId === null) return this.#anyone
    const own = this.#readers.get(viewer.readerId)
    return own === undefined ? this.#anyone : own
  }

  #batchFor(viewer: StreamViewer): Batch | null {
    const { frames } = this.#whole
    const visible = visibleTo(frames, viewer)
    if (visible.length === 0) return null
    return visible === frames ? this.#whole : new Batch(visible)
  }
}

/** A replay is sent in pieces of about this size, each of which waits for room on the socket. */
const PIECE_BYTES = 64 * 1024

/** Splits frames into pieces of about 64 KiB; a single longer one is a piece by itself. */
export function* piecesOf(frames: readonly Frame[]): Generator<Batch> {
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
