import type { FastifyRequest } from 'fastify'
import { type Request, type ResponseInit, TOKEN_HEADER_KEY, TOKEN_QUERY_KEY } from 'graphql-sse'

import type { Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import type { Payload } from '../../live/streams/batch.ts'
import type { SourceStream } from '../../live/source-stream.ts'
import { SharedConnection } from './shared-connection.ts'
import type { Subscription } from './subscription.ts'

/** A request of the graphql-sse protocol, and the target of its answers. */
export interface SseContext {
  ctx: Ctx
  /** The token of its shared connection; null for a connection of its own. */
  token: string | null
  shared: SharedConnection
  /** The started subscription on a connection of its own; null otherwise. */
  begun: { source: SourceStream<Payload>; subscription: Subscription } | null
}

export type SseRequest = Request<FastifyRequest | null, SseContext>

/** What the library reads of a request. */
export interface OperationRequest {
  method: string
  url: string
  accept: string | null
  body: Record<PropertyKey, unknown> | null
}

/** The place of a request on its own connection. */
export const ownPlace = (ctx: Ctx): SseContext => ({ ctx, token: null, shared: new SharedConnection(), begun: null })

/** The token of a shared connection that a request names; null for none. */
export function tokenIn(request: FastifyRequest): string | null {
  const sent = header(request, TOKEN_HEADER_KEY) ?? (request.query as Record<string, unknown>)[TOKEN_QUERY_KEY]
  return typeof sent === 'string' ? sent : null
}

export const EVENT_STREAM = 'text/event-stream'

/** What the library reads of a request; others than JSON were refused before. */
export const operationIn = (request: FastifyRequest): OperationRequest => ({
  method: request.method === 'GET' && request.body != null ? 'POST' : request.method,
  url: request.url,
  accept: header(request, 'accept') ?? null,
  body: (request.body ?? null) as OperationRequest['body'],
})

/** A request for the library, which expects the media type in lower case. */
export function sseRequest({ method, url, accept, body }: OperationRequest, context: SseContext): SseRequest {
  const headers: Readonly<Record<string, string | null>> = { accept, 'content-type': 'application/json' }
  return { method, url, headers: { get: (name) => headers[name] }, body, raw: null, context }
}

function header({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name.toLowerCase()]
  return Array.isArray(value) ? value.join(', ') : value
}

const NO_STREAM = 'There is no such open stream; for one of its own a request accepts text/event-stream.'
const NOT_FREE = 'The stream is open already, or has an operation with this id.'

export const noStream = (): ServiceError => new ServiceError('not_found', { detail: NO_STREAM })
export const notFree = (): ServiceError => new ServiceError('invalid_transition', { detail: NOT_FREE })

/** The library's own refusals as errors of the service. */
export function refusalOf({ method, context }: SseRequest, { status, headers }: ResponseInit): ServiceError {
  // The library takes a client that does not accept events for an operation of a reserved stream.
  if (status === 404) return noStream()
  if (status === 405) return new ServiceError('method_not_allowed', { allow: headers?.allow?.split(', ') ?? [] })
  if (status === 406) return new ServiceError('not_acceptable')
  if (status === 409) return notFree()
  if (status === 415) return new ServiceError('unsupported_media_type')
  // The only missing value that the library finds; all others were checked before.
  if (method === 'DELETE') return invalid('/operationId', 'required', 'is required')
  if (method === 'POST' && context.token !== null) return invalid('/extensions/operationId', 'required', 'is required')
  return invalid('/query', 'required', 'is required')
}
