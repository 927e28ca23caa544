import type { ServerResponse } from 'node:http'

import type { Id } from '../core/ids.ts'
import type { Batch } from './streams/batch.ts'
import { chunkOf, loneChunk } from './streams/chunk.ts'
import { type ConnectionOptions, EventConnection } from './connection.ts'
import type { Cursors } from './streams/cursor.ts'
import { framingEvent } from './streams/frames.ts'
import type { Headers } from './streams/outlet.ts'
import type { Seat, Sink, Stream } from './seat.ts'

/** What a stream of several discussions begins with. */
export interface BeginningOfSeveral {
  replayed: number
  /** The discussions whose requested position is unknown or too old. */
  incomplete: readonly Id[]
}

/**
 * One open SSE connection of several discussions. The bytes of an event are those of every such
 * stream; only the line with the `id:` before them is its own, as it tells the positions in all of
 * its discussions.
 */
export class ConnectionOfSeveral extends EventConnection {
  /** One for each discussion, in the order of the cursor. */
  readonly parts: readonly Part[]
  readonly #cursors: Cursors
  /** Settles when there is room for those that have asked so far. */
  #turns: Promise<void> = Promise.resolve()

  /** `gone` are those of its discussions that it is not to have. */
  constructor(
    response: ServerResponse,
    { cursors, gone = [], ...options }: ConnectionOptions & { cursors: Cursors; gone?: readonly Id[] | undefined },
  ) {
    super(response, options)
    this.#cursors = cursors
    this.parts = cursors.ids.map((id) => new Part(id, this, gone.includes(id)))
  }

  get isOfSeveral(): boolean {
    return true
  }

  protected get position(): string {
    return this.#cursors.encode(this.parts.map(({ position }) => position))
  }

  protected leave(): void {
    for (const { seat } of this.parts) seat?.leave()
  }

  /** Sends the first frame, then the replays, then live events. */
  open(
    { replayed, incomplete }: BeginningOfSeveral,
    headers: Headers,
    charge: ((bytes: number) => void) | undefined,
  ): void {
    const gone = this.parts.filter(({ isGone }) => isGone).map(({ discussionId }) => discussionId)
    const complete = incomplete.length === 0
    this.start(headers, { lastEventId: this.position, replayed, complete, incomplete, gone }, charge)
    for (const part of this.parts) part.seat?.start(part)
  }

  /** Sends the events of one of its discussions. Returns how many bytes these have taken. */
  send(from: Part, batch: Batch): number {
    const at = this.parts.indexOf(from)
    const positions = this.parts.map(({ position }) => position)
    const chunks = batch.frames.flatMap(({ seq }, n) => {
      positions[at] = seq
      const event = batch.unnumbered[n]
      return event === undefined ? [] : [loneChunk(`id: ${this.#cursors.encode(positions)}\n`), event]
    })
    batch.takenApart++
    const bytes = this.writeAll(chunks)
    batch.sentApart += bytes
    return bytes
  }

  /**
   * One part after the other: each sends a piece of its replay as soon as there is room, and many
   * pieces at once would make the client look slow. Not an async function, so that a part whose
   * turn it is sends before the next one looks for room.
   */
  override ready(): Promise<void> {
    return (this.#turns = this.#turns.then(() => super.ready()))
  }

  /** Tells the client that a discussion was deleted. With the last one the stream ends. */
  tellGone({ discussionId }: Part): void {
    if (this.isOver || !this.isBegun) return
    if (this.parts.every(({ isGone }) => isGone)) return this.end()
    this.writeAll([chunkOf([framingEvent('discussion-gone', { discussionId })])])
  }
}

/** The place of a stream in one of its discussions. */
export class Part implements Sink, Stream {
  readonly discussionId: Id
  seat: Seat | null = null
  /** Whether the discussion was deleted, or has left the site of the ticket. */
  isGone: boolean
  /** Where it stays without a seat. */
  #at = 0
  /** Of the latest events. */
  #sentBytes = 0
  readonly #stream: ConnectionOfSeveral

  constructor(discussionId: Id, stream: ConnectionOfSeveral, isGone: boolean) {
    this.discussionId = discussionId
    this.#stream = stream
    this.isGone = isGone
  }

  get position(): number {
    return this.seat?.position ?? this.#at
  }

  get isFull(): boolean {
    return this.#stream.isFull
  }

  /** Takes a seat, and leaves it when the stream is over or the discussion gone. */
  sit(seat: Seat): void {
    this.seat = seat
    if (this.isGone || this.#stream.isOver) seat.leave()
  }

  /** Begins without its discussion, at the position that the client has. */
  stayAway(position: number): void {
    this.isGone = true
    this.#at = position
  }

  deliver(batch: Batch): void {
    this.#sentBytes = this.#stream.send(this, batch)
  }

  ready(): Promise<void> {
    return this.#stream.ready()
  }

  /** With the lines of its ids, which are longer than those of a stream of one discussion. */
  replayed(bytes: number): void {
    this.#stream.replayed(Math.max(bytes, this.#sentBytes))
  }

  end(): void {
    this.#stream.end()
  }

  gone(): void {
    if (this.isGone) return
    this.isGone = true
    this.seat?.leave()
    this.#stream.tellGone(this)
  }
}
