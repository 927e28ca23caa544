import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'

import { ServiceError } from '../core/errors.ts'
import { type Chunk, frame, type Framed } from './chunk.ts'
import { GZIP_HEAD, GzipSums } from './deflate.ts'
import { HEARTBEAT } from './frames.ts'

/** A consumer with more unsent data than this is cut off (docs/reference/choices.md). */
export const MAX_UNSENT_BYTES = 1024 * 1024
/** A replay that the socket takes nothing of for this long is cut off, and so is a goodbye. */
const STALL_MS = 10_000

export type Headers = Readonly<Record<string, string>>

export const STREAM_HEADERS: Headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would hold events back.
  'x-accel-buffering': 'no',
}

/** No `Vary`: a stream is never stored. */
const GZIP_HEADERS: Headers = { 'content-encoding': 'gzip' }
const HEAD = frame([GZIP_HEAD])

/** What hooks have put on an answer: `X-Request-Id`, limits, CORS. */
export const headersOf = (set: Readonly<Record<string, string | number | string[] | undefined>>): Headers =>
  Object.fromEntries(
    Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )

/**
 * Why an outlet ended before its stream did: unsent data over the bound, or none taken for 10 s.
 */
export type Cut = 'unsent' | 'stalled'

/** Whether nobody can hear the response any more. That of HTTP/2 knows it only of its stream. */
export function isClosed(response: ServerResponse): boolean {
  const { stream } = response as { stream?: { destroyed: boolean } }
  return response.destroyed || stream?.destroyed === true
}

/**
 * What becomes of a socket that is full: there is room again, or its response is over, or it takes
 * nothing in time.
 */
export function drained(out: Writable, response: ServerResponse): Promise<'room' | 'closed' | 'stalled'> {
  return new Promise((resolve) => {
    const settle = (outcome: 'room' | 'closed' | 'stalled'): void => {
      clearTimeout(timer)
      out.off('drain', onDrain)
      response.off('close', onClose)
      resolve(outcome)
    }
    const onDrain = (): void => settle('room')
    const onClose = (): void => settle('closed')
    const timer = setTimeout(settle, STALL_MS, 'stalled').unref()
    out.once('drain', onDrain)
    response.once('close', onClose)
  })
}

/**
 * Throws `unavailable` where the answer waits behind another one on its connection (HTTP/1.1
 * pipelining): behind a stream that may be minutes, and nobody would tell it of the connection's
 * end.
 */
export function requireTurn(response: ServerResponse): void {
  if (response.socket !== null || isClosed(response)) return
  const detail = 'A stream is not opened behind another answer on its connection.'
  throw new ServiceError('unavailable', { detail, retryAfterSeconds: 1 })
}

/**
 * The writing end of one event stream: shared bytes go to its socket in one write each, and it cuts
 * itself off rather than hold much unsent. There are many, for long: what it is made of is counted
 * in bytes.
 */
export abstract class Outlet {
  readonly #response: ServerResponse
  readonly #heartbeatMs: number
  /**
   * Where bytes go; once the head is out, the socket itself where its chunks can be framed here.
   */
  #out: Writable
  #isFramed = false
  /** Null where the client is sent plain bytes. */
  readonly #gzip: GzipSums | null
  #isOpen = false
  #isOver = false
  #lastWriteAt = Date.now()

  /**
   * `heartbeatMs`: silence after which a comment line is sent, so that no proxy takes the stream
   * for dead.
   */
  constructor(response: ServerResponse, { heartbeatMs, isGzip = false }: { heartbeatMs: number; isGzip?: boolean }) {
    this.#response = response
    this.#gzip = isGzip ? new GzipSums() : null
    this.#out = response
    this.#heartbeatMs = heartbeatMs
    const abandon = (): void => this.abandon()
    response.on('error', abandon).on('close', abandon)
  }

  /** Called once, when nothing can be sent any more. */
  protected abstract closed(cut: Cut | null): void

  /** The client is gone, or has been told goodbye, perhaps before anything was sent. */
  get isOver(): boolean {
    return this.#isOver || isClosed(this.#response)
  }

  /** Whether the client has not taken what was sent before. */
  get isFull(): boolean {
    return this.#out.writableNeedDrain
  }

  get isGzip(): boolean {
    return this.#gzip !== null
  }

  /** Sends the head, with `headers` beside those of every stream, and the first bytes. */
  protected begin(headers: Headers, first: Chunk): void {
    if (this.#isOver) return
    this.#isOpen = true
    const coding = this.isGzip ? GZIP_HEADERS : {}
    this.#response.writeHead(200, { ...headers, ...STREAM_HEADERS, ...coding })
    // Held back until the first bytes are there, so that they go together.
    this.#response.cork()
    this.#response.flushHeaders()
    this.#bypass()
    if (this.isGzip) this.#send(HEAD)
    this.write(first)
    this.#response.uncork()
  }

  protected write(chunk: Chunk): void {
    if (this.#isOver) return
    this.#lastWriteAt = Date.now()
    this.#gzip?.add(chunk.deflated)
    const length = this.#send(this.#gzip === null ? chunk : chunk.deflated)
    // One oversized chunk does not make a client slow.
    if (this.#out.writableLength > Math.max(MAX_UNSENT_BYTES, length)) this.cut('unsent')
  }

  #send({ bytes, framed }: Framed): number {
    const sent = this.#isFramed ? framed : bytes
    this.#out.write(sent)
    return sent.length
  }

  /**
   * Resolves once there is room for more. A client that makes none in time is cut off. Never
   * rejects.
   */
  async ready(): Promise<void> {
    if (this.#isOver || !this.#out.writableNeedDrain) return
    if ((await drained(this.#out, this.#response)) === 'stalled') this.cut('stalled')
  }

  /** Sends a heartbeat where it is time. Returns when it wants to be looked at again. */
  tick(now: number): number {
    if (this.#isOpen && now - this.#lastWriteAt >= this.#heartbeatMs) this.write(HEARTBEAT)
    return (this.#isOpen ? this.#lastWriteAt : now) + this.#heartbeatMs
  }

  /** Sends the last bytes, and closes. */
  protected finish(last: Chunk): void {
    if (this.#isOver) return
    const response = this.#response
    if (!this.#isOpen) return this.abandon()
    this.write(last)
    if (this.#gzip !== null && !this.#isOver) this.#send(frame([this.#gzip.trailer()]))
    this.abandon()
    response.end()
    const timer = setTimeout(() => response.destroy(), STALL_MS).unref()
    response.once('close', () => clearTimeout(timer))
  }

  /** Closes at once, whatever is unsent. */
  protected cut(reason: Cut): void {
    this.#close(reason)
    this.#response.destroy()
  }

  /** Nothing is sent by it any more. Who has the response may end it otherwise. */
  abandon(): void {
    this.#close(null)
  }

  /**
   * HTTP/1.1 has its chunks framed once for all sockets; HTTP/2 frames its own, and HTTP/1.0 has
   * none.
   */
  #bypass(): void {
    const { stream } = this.#response as { stream?: Writable }
    if (stream !== undefined) this.#out = stream
    else if (this.#response.chunkedEncoding && this.#response.socket !== null) {
      this.#out = this.#response.socket
      this.#isFramed = true
    }
  }

  #close(cut: Cut | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.closed(cut)
  }
}
