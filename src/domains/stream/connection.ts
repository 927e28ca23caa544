import type { ServerResponse } from 'node:http'

import { type Frame, framingEvent, HEARTBEAT, retryLine } from './frames.ts'
import type { Beginning } from './hub.ts'
import type { Seat, Sink } from './seat.ts'

/** A consumer with more unsent data than this is cut off (contract, section 6). */
const MAX_UNSENT_BYTES = 1024 * 1024
/** A replay that the socket takes nothing of for this long is cut off, and so is a goodbye. */
const STALL_MS = 10_000
const RETRY_MS = { min: 2000, max: 5000 }
/** Clients over a cap come back no sooner. */
const REFUSED_RETRY_MS = 30_000

export type Headers = Readonly<Record<string, string>>

const STREAM_HEADERS: Headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would hold events back.
  'x-accel-buffering': 'no',
}

/** Milliseconds until a client reconnects, drawn so that clients do not all return at once. `chance` in [0, 1). */
export const retryMs = (chance: number): number => Math.floor(RETRY_MS.min + chance * (RETRY_MS.max - RETRY_MS.min + 1))

/** How long a stream may last: `seconds` ± 20 %, in milliseconds. `chance` in [0, 1). */
export const lifetimeMs = (seconds: number, chance: number): number => seconds * 1000 * (0.8 + 0.4 * chance)

/**
 * The answer to a browser over a cap: EventSource gives up for good at any status but 200, so it is let in, told to
 * wait, and sent off (contract, section 6, "Caps").
 */
export function refuseConnection(response: ServerResponse, headers: Headers, lastEventId: string | null): void {
  response.writeHead(200, { ...headers, ...STREAM_HEADERS })
  response.end(retryLine(REFUSED_RETRY_MS) + framingEvent('connection-timeout', { lastEventId }))
}

/** Whether nobody can hear the response any more. That of HTTP/2 knows it only of its stream. */
export function isClosed(response: ServerResponse): boolean {
  const { stream } = response as { stream?: { destroyed: boolean } }
  return response.destroyed || stream?.destroyed === true
}

/** One open SSE connection: writes shared bytes to its socket, and cuts itself off rather than hold much unsent. */
export class Connection implements Sink {
  readonly #response: ServerResponse
  readonly #heartbeatMs: number
  readonly #onClose: () => void
  #seat: Seat | undefined
  #lastWriteAt = Date.now()
  #over = false
  #isFull = false

  constructor(response: ServerResponse, options: { heartbeatMs: number; onClose: () => void }) {
    this.#response = response
    this.#heartbeatMs = options.heartbeatMs
    this.#onClose = options.onClose
    response.on('error', () => this.#finish())
    response.on('close', () => this.#finish())
    response.on('drain', () => (this.#isFull = false))
  }

  /** The client is gone, or has been told goodbye, perhaps before anything was sent. */
  get isOver(): boolean {
    return this.#over || isClosed(this.#response)
  }

  /** Sends the first frame, then the replay and what is live. */
  open(headers: Headers, { seat, lastEventId, replayed, complete }: Beginning): void {
    this.#seat = seat
    this.#response.writeHead(200, { ...headers, ...STREAM_HEADERS })
    this.#write(retryLine(retryMs(Math.random())) + framingEvent('connected', { lastEventId, replayed, complete }))
    seat.start(this)
  }

  get isFull(): boolean {
    return this.#isFull
  }

  deliver(frames: readonly Frame[]): void {
    const [first] = frames
    if (first === undefined) return
    this.#write(frames.length === 1 ? first.bytes : Buffer.concat(frames.map(({ bytes }) => bytes)))
  }

  async ready(): Promise<void> {
    const response = this.#response
    if (this.#over || !this.#isFull) return
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        clearTimeout(timer)
        response.off('drain', settle).off('close', settle)
        resolve()
      }
      const timer = setTimeout(() => this.cut(), STALL_MS).unref()
      response.once('drain', settle).once('close', settle)
    })
  }

  /** A comment line after silence, so that no proxy takes the stream for dead. */
  tick(now: number): void {
    if (this.#seat !== undefined && now - this.#lastWriteAt >= this.#heartbeatMs) this.#write(HEARTBEAT)
  }

  /** Says up to where the client has been brought, and closes. */
  end(): void {
    if (this.#over) return
    const seat = this.#seat
    const lastEventId = String(seat?.position)
    this.#finish()
    if (seat === undefined) return
    this.#response.end(framingEvent('connection-timeout', { lastEventId }))
    const timer = setTimeout(() => this.#response.destroy(), STALL_MS).unref()
    this.#response.once('close', () => clearTimeout(timer))
  }

  /** Closes at once, whatever is unsent. */
  cut(): void {
    this.#finish()
    this.#response.destroy()
  }

  #write(data: Buffer | string): void {
    if (this.#over) return
    this.#lastWriteAt = Date.now()
    this.#isFull = !this.#response.write(data)
    if (this.#response.writableLength > MAX_UNSENT_BYTES) this.cut()
  }

  #finish(): void {
    if (this.#over) return
    this.#over = true
    this.#seat?.leave()
    this.#onClose()
  }
}
