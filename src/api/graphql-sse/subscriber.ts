import type { ServerResponse } from 'node:http'

import type { Batch, Payload } from '../../live/streams/batch.ts'
import { chunkOf } from '../../live/streams/chunk.ts'
import { HEARTBEAT, positionLine } from '../../live/streams/frames.ts'
import type { CutReason } from '../../live/metrics.ts'
import { type Cut, type Headers, MAX_UNSENT_BYTES, Outlet } from '../../live/streams/outlet.ts'
import type { Taker } from '../../live/seat.ts'
import type { SourceStream } from '../../live/source-stream.ts'
import type { Pieces, Subscription } from './subscription.ts'

const sizeOf = ({ chunks }: Pieces): number => chunks.reduce((sum, { bytes }) => sum + bytes.length, 0)

/**
 * One subscription on its own connection: the graphql-sse protocol in distinct-connections mode.
 */
export class Subscriber extends Outlet implements Taker<Payload> {
  readonly #source: SourceStream<Payload>
  readonly #subscription: Subscription
  readonly #onCut: (reason: CutReason) => void
  /**
   * Settles when everything delivered has been written; null if no answer is awaited. Never
   * rejects.
   */
  #writing: Promise<void> | null = null
  /** The bytes that wait behind the current write. */
  #waitingBytes = 0

  constructor(
    response: ServerResponse,
    { source, subscription }: { source: SourceStream<Payload>; subscription: Subscription },
    { heartbeatMs, onCut }: { heartbeatMs: number; onCut: (reason: CutReason) => void },
  ) {
    super(response, { heartbeatMs })
    this.#source = source
    this.#subscription = subscription
    this.#onCut = onCut
  }

  override get isFull(): boolean {
    return this.#writing !== null || super.isFull
  }

  /** Sends the head, then the replay, then live events. */
  open(headers: Headers): void {
    if (this.isOver) return this.#source.leave()
    this.begin(headers, HEARTBEAT, false)
    this.#source.start(this)
  }

  deliver(batch: Batch<Payload>): void {
    const pieces = this.#subscription.piecesFor(batch)
    const [only, ...others] = pieces instanceof Promise || pieces.breaksOff ? [] : pieces.chunks
    if (this.#writing === null && only !== undefined && others.length === 0) this.write(only)
    // The current write itself runs at the client's pace, however long it is.
    else if (this.#writing === null) this.#writeLater(pieces, 0)
    else this.#writeLater(pieces, pieces instanceof Promise ? batch.size : sizeOf(pieces))
  }

  passed(position: number): void {
    const chunk = chunkOf([positionLine(position)])
    if (this.#writing === null) this.write(chunk)
    else this.#writeLater({ chunks: [chunk], breaksOff: false }, chunk.bytes.length)
  }

  override async ready(): Promise<void> {
    while (this.#writing !== null && !this.isOver) await this.#writing
    await super.ready()
  }

  /** Without `complete`, after which clients do not try again. */
  end(): void {
    this.breakOff()
  }

  protected closed(cut: Cut | null): void {
    this.#source.leave()
    if (cut !== null) this.#onCut(cut)
  }

  /** Each answer waits for the earlier ones, and each piece for room. */
  #writeLater(pieces: Pieces | Promise<Pieces>, bytes: number): void {
    this.#waitingBytes += bytes
    if (this.#waitingBytes > MAX_UNSENT_BYTES) return this.cut('unsent')
    const writing = Promise.all([pieces, this.#writing]).then(async ([ready]) => {
      for (const piece of ready.chunks) {
        await super.ready()
        this.write(piece)
      }
      this.#waitingBytes -= bytes
      if (ready.breaksOff && !this.isOver) {
        this.#onCut('failed')
        this.breakOff()
      }
    })
    this.#writing = writing
    void writing.then(() => {
      if (this.#writing === writing) this.#writing = null
    })
  }
}
