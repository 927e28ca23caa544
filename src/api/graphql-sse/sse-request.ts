import { randomUUID } from 'node:crypto'

import type { FastifyRequest } from 'fastify'
import { type Request, type ResponseInit, TOKEN_HEADER_KEY, TOKEN_QUERY_KEY } from 'graphql-sse'

import { type Ctx, requireCaller } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import type { Payload } from '../../live/streams/batch.ts'
import { credentialOf } from '../../live/credentials.ts'
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

export type SseRequest = Request<FastifyRequest, SseContext>

/** A request on its own connection, which counts as accepting events, whatever its `Accept`. */
export function distinctRequest(fastifyRequest: FastifyRequest): SseRequest {
  const request = sseRequest(fastifyRequest, {
    ctx: fastifyRequest.ctx,
    token: null,
    shared: new SharedConnection(),
    begun: null,
  })
  return { ...request, headers: { get: (name) => acceptEventStream(name) ?? request.headers.get(name) } }
}

/** A request in either mode. `sharedOf` returns the connection of a token. */
export function anyRequest(
  request: FastifyRequest,
  sharedOf: (token: string) => SharedConnection | undefined,
): SseRequest {
  const { tenant } = requireCaller(request.ctx)
  const sent = header(request, TOKEN_HEADER_KEY) ?? (request.query as Record<string, unknown>)[TOKEN_QUERY_KEY]
  const token = typeof sent === 'string' ? sent : request.method === 'PUT' ? `${tenant.id}.${randomUUID()}` : null
  const shared = (token === null ? undefined : sharedOf(token)) ?? new SharedConnection()
  return sseRequest(request, { ctx: request.ctx, token, shared, begun: null })
}

/** A token begins with its tenant's id, so that other tenants cannot use it. */
export const isOfTenant = (ctx: Ctx, token: string): boolean => token.startsWith(`${requireCaller(ctx).tenant.id}.`)

/**
 * To whom a reserved stream belongs: to the credential that has reserved it, or to the reader of a
 * client token, whose browser gets another token before that one expires.
 */
export function ownerOf(ctx: Ctx): Id {
  const { tenant, actor } = requireCaller(ctx)
  return (actor.kind === 'client' ? actor.readerId : null) ?? credentialOf(actor, tenant.id).id
}

export const acceptEventStream = (name: string): string | null => (name === 'accept' ? 'text/event-stream' : null)

function sseRequest(request: FastifyRequest, context: SseContext): SseRequest {
  return {
    method: request.method === 'GET' && request.body != null ? 'POST' : request.method,
    url: request.url,
    // The library expects the media type in lower case; types other than JSON were refused before.
    headers: { get: (name) => (name === 'content-type' ? 'application/json' : header(request, name)) },
    body: (request.body ?? null) as Record<PropertyKey, unknown> | null,
    raw: request,
    context,
  }
}

function header({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name.toLowerCase()]
  return Array.isArray(value) ? value.join(', ') : value
}

const NO_STREAM = 'There is no such reserved stream; for one of its own a request accepts text/event-stream.'

/** The library's own refusals as errors of the service. */
export function refusalOf({ method, context }: SseRequest, { status, headers }: ResponseInit): ServiceError {
  // The library takes a client that does not accept events for an operation of a reserved stream.
  if (status === 404) return new ServiceError('not_found', { detail: NO_STREAM })
  if (status === 405) return new ServiceError('method_not_allowed', { allow: headers?.allow?.split(', ') ?? [] })
  if (status === 406) return new ServiceError('not_acceptable')
  if (status === 409) return new ServiceError('invalid_transition', { detail: NOT_FREE })
  if (status === 415) return new ServiceError('unsupported_media_type')
  // The only missing value that the library finds; all others were checked before.
  if (method === 'DELETE') return invalid('/operationId', 'required', 'is required')
  if (method === 'POST' && context.token !== null) return invalid('/extensions/operationId', 'required', 'is required')
  return invalid('/query', 'required', 'is required')
}

const NOT_FREE = 'The stream is reserved or open already, or has an operation with this id.'
