import { randomUUID } from 'node:crypto'
import type { Server, ServerResponse } from 'node:http'
import { constants, type Http2SecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'

import { problemOf, ServiceError } from '../../../core/errors.ts'
import type { Id } from '../../../core/ids.ts'
import type { Settings } from '../../../core/settings/settings.ts'

/**
 * How long a connection may wait for its next request: longer than proxies keep one, which is a
 * minute.
 */
const KEEP_ALIVE_MS = 65_000
/** How long an ending connection stays, so that its client can read the last answer. */
const LINGER_MS = 500

/**
 * What the clients of a process may leave unread of its answers. Only slow ones count, because the
 * system takes some 100 KB of each answer at once.
 */
const MAX_UNREAD_BYTES = 256 * 1024 * 1024

interface Times {
  headersMs: number
  requestMs: number
  responseMs: number
}

/** Ten checks within the shortest time, and at least one a second. */
const lookEveryMs = ({ headersMs, requestMs, responseMs }: Times): number =>
  Math.min(1000, Math.ceil(Math.min(headersMs, requestMs, responseMs) / 10))

export const timesOf = (settings: Settings): Times => ({
  headersMs: settings.HEADERS_TIMEOUT_SECONDS * 1000,
  requestMs: settings.REQUEST_TIMEOUT_SECONDS * 1000,
  responseMs: settings.RESPONSE_TIMEOUT_SECONDS * 1000,
})

/**
 * Ends slow requests and answers on a server that does not listen yet: headers and bodies that
 * arrive too slowly, answers that are not read. Node itself limits the first two over HTTP/1.1
 * only. Call the result for each event stream: it has bounds of its own.
 */
export function limitTimes(server: Server, times: Times): (stream: ServerResponse) => void {
  const { headersMs, requestMs, responseMs } = times
  const everyMs = lookEveryMs(times)
  Object.assign(server, {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: everyMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })
  const answers = new Answers(responseMs)
  const watch = (socket: Socket): void => answers.watch(socket, () => socket.destroy())
  // With TLS, what is written to the encrypted socket does not show on the one below.
  server.on('connection', watch).on('secureConnection', watch)
  const sessions = new Http2Sessions(times, answers)
  ;(server as unknown as Http2SecureServer).on('session', (session) => sessions.watch(session))
  const timer = setInterval(() => {
    const now = performance.now()
    answers.look(now)
    sessions.look(now)
  }, everyMs).unref()
  server.once('close', () => clearInterval(timer))
  return (stream) => answers.exempt(stream)
}

interface Watched {
  end: () => void
  /** Null without unsent data. */
  busySince: number | null
  isStream: boolean
}

const outOf = (response: object): Writable => {
  const { stream, socket } = response as { stream?: Writable; socket: Writable | null }
  return stream ?? socket ?? (response as Writable)
}

/** The tenant that has asked last on a connection, or on a stream of HTTP/2. */
const tenants = new WeakMap<Writable, Id>()

/** Says which tenant an answer is for, so that none has more unread at the cost of others. */
export const noteTenant = (response: object, tenantId: Id): void => void tenants.set(outOf(response), tenantId)

/**
 * Ends connections that have had unsent data at every check for too long. While all of them have
 * too much, ends one after another of the tenant that has the most, the longest first.
 */
class Answers {
  readonly #maxMs: number
  readonly #watched = new Map<Writable, Watched>()

  constructor(maxMs: number) {
    this.#maxMs = maxMs
  }

  watch(out: Writable, end: () => void): void {
    this.#watched.set(out, { end, busySince: null, isStream: false })
    out.once('close', () => this.#watched.delete(out))
  }

  exempt(response: ServerResponse): void {
    const one = this.#watched.get(outOf(response))
    if (one === undefined) return
    one.isStream = true
    response.once('close', () => (one.isStream = false))
  }

  look(now: number): void {
    let unread = 0
    for (const [out, one] of this.#watched) {
      if (out.writableLength === 0) one.busySince = null
      else one.busySince ??= now
      if (!one.isStream) unread += out.writableLength
      if (one.busySince !== null && now - one.busySince > this.#maxMs) one.end()
    }
    if (unread > MAX_UNREAD_BYTES) this.#endSlowest(unread - MAX_UNREAD_BYTES)
  }

  #endSlowest(bytes: number): void {
    const slow = [...this.#watched]
      .filter(([out, { isStream }]) => !isStream && out.writableLength > 0)
      .map(([out, { busySince, end }]) => ({ tenantId: tenants.get(out), length: out.writableLength, busySince, end }))
      .sort((a, b) => (a.busySince ?? 0) - (b.busySince ?? 0))
    const unread = new Map<Id | undefined, number>()
    const add = (tenantId: Id | undefined, length: number): void =>
      void unread.set(tenantId, (unread.get(tenantId) ?? 0) + length)
    for (const { tenantId, length } of slow) add(tenantId, length)
    for (let left = bytes; left > 0;) {
      const most = Math.max(...unread.values())
      const index = slow.findIndex(({ tenantId }) => unread.get(tenantId) === most)
      const [one] = slow.splice(index, 1)
      if (one === undefined) return
      left -= one.length
      add(one.tenantId, -one.length)
      // It may also end others, as those of one HTTP/2 connection.
      one.end()
    }
  }
}

interface Http2Session {
  /** When it last began to be without a request. */
  idleSince: number
  /** How long it may be without one. */
  maxIdleMs: number
  /** Requests under way, with their start times. */
  readonly requests: Map<ServerHttp2Stream, number>
}

/** The connections of HTTP/2. What keeps one alive is a request, not a ping or half a frame. */
class Http2Sessions {
  readonly #times: Times
  readonly #answers: Answers
  readonly #open = new Map<ServerHttp2Session, Http2Session>()

  constructor(times: Times, answers: Answers) {
    this.#times = times
    this.#answers = answers
  }

  watch(session: ServerHttp2Session): void {
    const known: Http2Session = { idleSince: performance.now(), maxIdleMs: this.#times.headersMs, requests: new Map() }
    this.#open.set(session, known)
    session.once('close', () => this.#open.delete(session))
    session.on('stream', (stream) => {
      if (known.maxIdleMs !== LINGER_MS) known.maxIdleMs = KEEP_ALIVE_MS
      known.requests.set(stream, performance.now())
      this.#answers.watch(stream, () => stream.close(constants.NGHTTP2_CANCEL))
      stream.once('close', () => {
        known.requests.delete(stream)
        known.idleSince = performance.now()
      })
    })
  }

  look(now: number): void {
    for (const [session, known] of this.#open) {
      for (const [stream, begunAt] of known.requests) {
        if (now - begunAt <= this.#times.requestMs || isWhole(stream)) continue
        endLate(stream)
        known.maxIdleMs = LINGER_MS
      }
      if (known.requests.size === 0 && now - known.idleSince > known.maxIdleMs) session.destroy()
    }
  }
}

const isWhole = (stream: ServerHttp2Stream): boolean => stream.endAfterHeaders || stream.readableEnded

function endLate(stream: ServerHttp2Stream): void {
  if (stream.headersSent || stream.destroyed) return stream.close(constants.NGHTTP2_CANCEL)
  const requestId = randomUUID()
  const refusal = new ServiceError('request_timeout')
  stream.respond({ ':status': refusal.status, 'content-type': 'application/problem+json', 'x-request-id': requestId })
  stream.end(JSON.stringify(problemOf(refusal, requestId)), () => stream.close(constants.NGHTTP2_NO_ERROR))
}
