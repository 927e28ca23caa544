import type { ServerResponse } from 'node:http'

import type { Id } from '../core/ids.ts'
import type { Batch } from './streams/batch.ts'
import { chunkOf } from './streams/chunk.ts'
import { framingEvent, retryLine } from './streams/frames.ts'
import type { Beginning } from './hub.ts'
import { type Cut, type Headers, Outlet, STREAM_HEADERS } from './streams/outlet.ts'
import type { Seat, Sink } from './seat.ts'
import type { Session } from './sessions.ts'
import type { Credential } from './credentials.ts'

const RETRY_MS = { min: 2000, max: 5000 }
/** The least time after which clients over a cap reconnect. */
const REFUSED_RETRY_MS = 30_000

/**
 * Milliseconds until a client reconnects, random so that clients do not all return at once.
 * `chance` in [0, 1).
 */
export const retryMs = (chance: number): number => Math.floor(RETRY_MS.min + chance * (RETRY_MS.max - RETRY_MS.min + 1))

/** How long a stream may last: `seconds` ± 20 %, in milliseconds. `chance` in [0, 1). */
export const lifetimeMs = (seconds: number, chance: number): number => seconds * 1000 * (0.8 + 0.4 * chance)

/**
 * Answers a browser that comes too often, or while the service cannot serve. EventSource gives up
 * for good at any status but 200, so it gets 200, a time to wait, and the end of the stream
 * (docs/reference/choices/streams.md).
 */
export function refuseConnection(
  response: ServerResponse,
  headers: Headers,
  { lastEventId, isCapped }: { lastEventId: string | null; isCapped: boolean },
): void {
  response.writeHead(200, { ...headers, ...STREAM_HEADERS })
  const wait = isCapped ? REFUSED_RETRY_MS : retryMs(Math.random())
  response.end(retryLine(wait) + framingEvent('connection-timeout', { lastEventId }))
}

/** The owner of a stream, and when the stream must end. */
export type Owner = Pick<Session, 'tenantId' | 'credential' | 'endsAt'>

export interface ConnectionOptions extends Owner {
  heartbeatMs: number
  isGzip: boolean
  onCut: (cut: Cut) => void
}

/** One open SSE connection. */
export abstract class EventConnection extends Outlet implements Session {
  readonly tenantId: Id
  readonly credential: Credential | null
  readonly endsAt: number
  readonly #onCut: (cut: Cut) => void
  #release: (() => void) | null = null
  #charge: (bytes: number) => void = () => undefined

  constructor(response: ServerResponse, options: ConnectionOptions) {
    super(response, options)
    this.tenantId = options.tenantId
    this.credential = options.credential
    this.endsAt = options.endsAt
    this.#onCut = options.onCut
  }

  /** The position that the client has reached. */
  protected abstract get position(): string

  /** Leaves its seats. */
  protected abstract leave(): void

  /** Counts the connection as open. `release` is called when it is over, at once if it is. */
  admit(release: () => void): void {
    if (this.isOver) release()
    else this.#release = release
  }

  /** Sends the first frame. `charge` gets the bytes of each piece of the replay. */
  protected start(headers: Headers, connected: object, charge: (bytes: number) => void = () => undefined): void {
    this.#charge = charge
    const first = [retryLine(retryMs(Math.random())), framingEvent('connected', connected)]
    this.begin(headers, chunkOf(first), true)
  }

  replayed(bytes: number): void {
    this.#charge(bytes)
  }

  /** Sends the client's position, and closes. */
  end(): void {
    this.finish(chunkOf([framingEvent('connection-timeout', { lastEventId: this.position })]))
  }

  protected closed(cut: Cut | null): void {
    this.leave()
    this.#release?.()
    if (cut !== null) this.#onCut(cut)
  }
}

/** One open SSE connection of a discussion. */
export class StreamConnection extends EventConnection implements Sink {
  #seat: Seat | null = null

  protected get position(): string {
    return String(this.#seat?.position)
  }

  protected leave(): void {
    this.#seat?.leave()
  }

  /** Takes a seat, and leaves it when the connection is over, at once if it is. */
  sit(seat: Seat): void {
    if (this.isOver) seat.leave()
    else this.#seat = seat
  }

  /** Sends the first frame, then the replay, then live events. */
  open(
    { seat, lastEventId, replayed, complete }: Beginning,
    headers: Headers,
    charge: ((bytes: number) => void) | undefined,
  ): void {
    this.start(headers, { lastEventId, replayed, complete }, charge)
    seat.start(this)
  }

  deliver(batch: Batch): void {
    if (this.isGzip) batch.takenAsGzip++
    this.write(batch.chunk)
  }
}
