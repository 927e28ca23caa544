import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { type App, identityHeader, type Tenant } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { isOriginAllowed } from '../../domains/stream/origins.ts'

/**
 * What pages of other origins may call: GraphQL, tickets and their streams; nothing else of REST.
 */
const METHODS = new Map([
  ['/graphql', 'POST'],
  ['/graphql/stream', 'GET, POST, PUT, DELETE'],
  ['/api/v1/stream/ticket', 'POST'],
])

/** Headers of an answer that a page may read, beside those that it always may. */
const EXPOSED = [
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'Idempotency-Replayed',
  'ETag',
].join(', ')

const MAX_AGE_SECONDS = '600'

export type CorsHeaders = Readonly<Record<string, string>>

/**
 * What a page of this origin is told of the tenant's answers; null where the tenant does not allow
 * the origin.
 */
export function corsHeaders({ settings }: Tenant, origin: string | undefined): CorsHeaders | null {
  if (origin === undefined || !settings.allowedOrigins.includes(origin)) return null
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED }
}

export const preflightHeaders = (origin: string, methods: string, headers: readonly string[]): CorsHeaders => ({
  'access-control-allow-origin': origin,
  'access-control-allow-methods': methods,
  'access-control-allow-headers': headers.join(', '),
  'access-control-max-age': MAX_AGE_SECONDS,
})

/**
 * Says of every answer that depends on the origin, a refusal too, that it does: a cache must not
 * mix them up.
 */
export function varyByOrigin({ routeOptions }: FastifyRequest, reply: FastifyReply): void {
  if (METHODS.has(routeOptions.url ?? '')) void reply.header('vary', 'Origin')
}

/** Lets a page read the answer where the caller's tenant allows its origin. */
export function allowOrigin({ routeOptions, headers }: FastifyRequest, reply: FastifyReply, tenant: Tenant): void {
  if (METHODS.has(routeOptions.url ?? '')) void reply.headers(corsHeaders(tenant, headers.origin) ?? {})
}

/**
 * Answers the preflights of all that pages may call. One carries no credentials: it is granted
 * where any tenant allows the origin.
 */
export function registerPreflights(scope: FastifyInstance, app: App): void {
  const allowed = [
    'Content-Type',
    'X-API-Key',
    'Authorization',
    'X-Request-Id',
    'Idempotency-Key',
    'X-GraphQL-Event-Stream-Token',
    identityHeader(app),
  ]
  for (const [url, methods] of METHODS) {
    scope.route({
      method: 'OPTIONS',
      url,
      handler: async (request, reply) => {
        const { origin } = request.headers
        // No browser's question.
        if (origin === undefined) throw new ServiceError('method_not_allowed', { allow: methods.split(', ') })
        if (!(await isOriginAllowed(app, origin))) throw new ServiceError('origin_not_allowed')
        return reply
          .code(204)
          .headers(preflightHeaders(origin, methods, allowed))
          .send()
      },
    })
  }
}
