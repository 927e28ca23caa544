import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'

import { type Chunk, frame, type Framed } from './chunk.ts'
import { GZIP_HEAD, GzipSums } from './deflate.ts'
import { HEARTBEAT } from './frames.ts'

/** A client with more unsent data than this is cut off. */
export const MAX_UNSENT_BYTES = 1024 * 1024
/** A client that takes nothing of a replay, or of the last bytes, for this long is cut off. */
const STALL_MS = 10_000
/**
 * The least time between the last bytes and a broken end. graphql-sse's client reports a break that
 * it reads together with an event as fatal, instead of trying again.
 */
const QUIET_MS = 100

export type Headers = Readonly<Record<string, string>>

export const STREAM_HEADERS: Headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Without it, nginx would buffer events.
  'x-accel-buffering': 'no',
}

/** No `Vary`: streams are never cached. */
const GZIP_HEADERS: Headers = { 'content-encoding': 'gzip' }
const HEAD = frame([GZIP_HEAD])

/** Headers that hooks have set: `X-Request-Id`, limits, CORS. */
export const headersOf = (set: Readonly<Record<string, string | number | string[] | undefined>>): Headers =>
  Object.fromEntries(
    Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )

/** Why an outlet was cut off: unsent data over the bound, or none taken for 10 s. */
export type Cut = 'unsent' | 'stalled'

/**
 * Whether the response can no longer reach its client. For HTTP/2 this is known for the stream
 * only.
 */
export function isClosed(response: ServerResponse): boolean {
  const { stream } = response as { stream?: { destroyed: boolean } }
  return response.destroyed || stream?.destroyed === true
}

/**
 * How a full socket continues: it has room again, its response is over, or it took nothing in time.
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
 * Ends an answer without its last chunk, as the end of the process would: what was written arrives,
 * then the client sees a broken connection. `lastWriteAt` is in ms since 1970.
 */
export function breakOff(response: ServerResponse, lastWriteAt: number): void {
  const timer = setTimeout(
    () => {
      if (!resetHttp2(response)) response.socket?.destroySoon()
      const late = setTimeout(() => response.destroy(), STALL_MS).unref()
      response.once('close', () => clearTimeout(late))
    },
    Math.max(0, lastWriteAt + QUIET_MS - Date.now()),
  )
  response.once('close', () => clearTimeout(timer))
}

/** RFC 9113, section 7. Clients take the codes NO_ERROR and CANCEL for a complete answer. */
const HTTP2_INTERNAL_ERROR = 2

/** Ends an answer over HTTP/2 as a failure. Returns false over HTTP/1. */
function resetHttp2(response: ServerResponse): boolean {
  const { stream } = response as { stream?: { close(code: number): void } }
  stream?.close(HTTP2_INTERNAL_ERROR)
  return stream !== undefined
}

/**
 * Ends the connection of HTTP/1 with the answer. A proxy would use it again for a request at the
 * instant in which a process that stops closes it. Not for an answer that may break off: of such a
 * connection, Node's fetch takes every end for that of a whole answer.
 */
function endWith(response: ServerResponse): void {
  if ('shouldKeepAlive' in response) response.shouldKeepAlive = false
}

/**
 * For an answer that may break off: its head does not say `Connection: close`, also in a process
 * that stops, unless the client asked for it.
 */
export function mayBreakOff(response: ServerResponse): void {
  const { httpVersion, headers } = response.req
  // HTTP/1.0 has no chunks: there the end of the connection is the end of the answer.
  if (httpVersion === '1.1' && !/close/i.test(headers.connection ?? '')) response.shouldKeepAlive = true
}

/**
 * The writing end of one event stream. Shared bytes go to its socket in one write each, and it cuts
 * itself off before it holds much unsent data. There are many, each for long: every field costs
 * memory.
 */
export abstract class Outlet {
  readonly #response: ServerResponse
  readonly #heartbeatMs: number
  /** Where bytes are written: after the head, the socket itself if chunks can be framed here. */
  #out: Writable
  #isFramed = false
  /** Null if the client gets plain bytes. */
  readonly #gzip: GzipSums | null
  #isOpen = false
  #isOver = false
  #lastWriteAt = Date.now()

  /**
   * `heartbeatMs`: after a silence of this long a comment line is sent, so that no proxy takes the
   * stream for dead.
   */
  constructor(response: ServerResponse, { heartbeatMs, isGzip = false }: { heartbeatMs: number; isGzip?: boolean }) {
    this.#response = response
    this.#gzip = isGzip ? new GzipSums() : null
    this.#out = response
    this.#heartbeatMs = heartbeatMs
    const abandon = (): void => this.abandon()
    response.on('error', abandon).on('close', abandon)
  }

  /** Called once, when nothing more can be sent. */
  protected abstract closed(cut: Cut | null): void

  /** Whether the client is gone, or was sent the last bytes, perhaps before anything else. */
  get isOver(): boolean {
    return this.#isOver || isClosed(this.#response)
  }

  /** Whether the head has been sent. */
  protected get isBegun(): boolean {
    return this.#isOpen
  }

  /** Whether the client has not yet taken the earlier bytes. */
  get isFull(): boolean {
    return this.#out.writableNeedDrain
  }

  get isGzip(): boolean {
    return this.#gzip !== null
  }

  /**
   * Sends the head (`headers` and those of every stream), and the first bytes. `isWhole`: it ends
   * as a whole answer does, and with it the connection.
   */
  protected begin(headers: Headers, first: Chunk, isWhole: boolean): void {
    if (this.#isOver) return
    this.#isOpen = true
    const coding = this.isGzip ? GZIP_HEADERS : {}
    if (isWhole) endWith(this.#response)
    else mayBreakOff(this.#response)
    this.#response.writeHead(200, { ...headers, ...STREAM_HEADERS, ...coding })
    // The head waits for the first bytes, so that both go out together.
    this.#response.cork()
    this.#response.flushHeaders()
    this.#bypass()
    if (this.isGzip) this.#send(HEAD)
    this.write(first)
    this.#response.uncork()
  }

  protected write(chunk: Chunk): void {
    if (this.#isOver) return
    this.#checkRoom(this.#put(chunk))
  }

  /** Sends several chunks in one write to the socket. Returns how many bytes they have. */
  protected writeAll(chunks: readonly Chunk[]): number {
    if (this.#isOver) return 0
    this.#out.cork()
    const length = chunks.reduce((sum, chunk) => sum + this.#put(chunk), 0)
    this.#out.uncork()
    this.#checkRoom(length)
    return length
  }

  #put(chunk: Chunk): number {
    this.#lastWriteAt = Date.now()
    this.#gzip?.add(chunk.deflated)
    return this.#send(this.#gzip === null ? chunk : chunk.deflated)
  }

  /** One oversized write does not make a client slow. */
  #checkRoom(lastLength: number): void {
    if (this.#out.writableLength > Math.max(MAX_UNSENT_BYTES, lastLength)) this.cut('unsent')
  }

  #send({ bytes, framed }: Framed): number {
    const sent = this.#isFramed ? framed : bytes
    this.#out.write(sent)
    return sent.length
  }

  /** Resolves once there is room. A client that makes none in time is cut off. Never rejects. */
  async ready(): Promise<void> {
    if (this.#isOver || !this.#out.writableNeedDrain) return
    if ((await drained(this.#out, this.#response)) === 'stalled') this.cut('stalled')
  }

  /** Sends a heartbeat if it is due. Returns when to call it again. */
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

  /** Closes without an end of the answer, so that the client tries again. */
  protected breakOff(): void {
    if (this.#isOver) return
    this.abandon()
    breakOff(this.#response, this.#lastWriteAt)
  }

  /** Closes at once, and drops unsent bytes. */
  protected cut(reason: Cut): void {
    this.#close(reason)
    resetHttp2(this.#response)
    this.#response.destroy()
  }

  /** Stops using the response, which its owner may then end in another way. */
  abandon(): void {
    this.#close(null)
  }

  /**
   * Writes past the response: HTTP/1.1 chunks are framed once for all sockets. HTTP/2 frames its
   * own, and HTTP/1.0 has none.
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
