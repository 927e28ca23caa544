import type { IncomingMessage, ServerResponse } from 'node:http'

import { type Backend, type PageRequest, requireBackend } from './requests.ts'

/** What frameworks add to Node's request. */
interface Mounted {
  /** The whole address, if the framework has removed the mount path from `url`. */
  originalUrl?: string
  /** The body as an earlier parser has parsed it. */
  body?: unknown
}

type NodeHandler<Incoming> = (request: Incoming, response: ServerResponse, next?: (error?: unknown) => void) => void

/**
 * The handler for Express, Connect and Node's own server, wherever it is mounted: it goes by the
 * base path alone, and passes other requests to `next`. A JSON parser may come before it.
 */
export function nodeHandler<Incoming extends IncomingMessage>(backend: Backend<Incoming>): NodeHandler<Incoming> {
  requireBackend('nodeHandler', backend)
  return (request, response, next) => {
    const url = urlOf(request, addressOf(request))
    if (next !== undefined && !new URL(url).pathname.startsWith(`${backend.basePath}/`)) return next()
    backend
      .answer(toPageRequest(request, url, bodyOf(request), response), request)
      .then((answer) => send(request, response, answer))
      .catch(next ?? (() => response.destroy()))
  }
}

const addressOf = (request: IncomingMessage & Mounted): string => request.originalUrl ?? request.url ?? '/'

/** Converts a framework's request, which is aborted when the connection of `response` is lost. */
export function toPageRequest(
  { method = 'GET', headers }: IncomingMessage,
  url: string,
  body: AsyncIterable<Uint8Array> | null,
  response: ServerResponse,
): PageRequest {
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    // HTTP/2 includes pseudo-headers.
    typeof value === 'string' && !name.startsWith(':') ? [[name, value]] : [],
  )
  return { method, url, headers: new Headers(entries), body, signal: gone.signal }
}

/**
 * The absolute address, built as text: the URL parser would take the host from a path that begins
 * with two slashes.
 */
export function urlOf({ headers }: IncomingMessage, address: string): string {
  const host = String(headers.host ?? headers[':authority'])
  const origin = /^[\w.:[\]-]+$/.test(host) && URL.canParse(`http://${host}`) ? `http://${host}` : 'http://unknown'
  return address.startsWith('/') ? origin + address : `${origin}/`
}

function bodyOf(request: IncomingMessage & Mounted): AsyncIterable<Uint8Array> {
  const { body } = request
  if (request.readableDidRead && body !== undefined) return parsed(body)
  // An oversized body is left unread, not destroyed: that would also destroy the socket, whose
  // address a log may need.
  return request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
}

async function* parsed(body: unknown): AsyncGenerator<Uint8Array> {
  yield body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

async function send(request: IncomingMessage, response: ServerResponse, answer: Response): Promise<void> {
  const bytes = Buffer.from(await answer.arrayBuffer())
  // The client has disconnected, or an earlier handler has answered.
  if (response.destroyed || response.headersSent) return
  response.statusCode = answer.status
  for (const [name, value] of answer.headers) {
    if (name === 'vary') response.appendHeader(name, value)
    else response.setHeader(name, value)
  }
  if (mustClose(request)) response.setHeader('connection', 'close')
  response.end(bytes)
}

/** Discards the rest of a body. Returns whether it is too long to reuse the connection. */
export function mustClose(request: IncomingMessage): boolean {
  request.resume()
  return !request.complete && request.httpVersionMajor === 1
}
