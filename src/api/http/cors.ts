import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { type App, identityHeader, type Tenant } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { isOriginAllowed } from '../../domains/tickets/origins.ts'

/**
 * The routes that pages of other origins may call: GraphQL, tickets and their streams, and no other
 * part of REST.
 */
const METHODS = new Map([
  ['/graphql', 'GET, POST'],
  ['/graphql/stream', 'GET, POST, PUT, DELETE'],
  ['/api/v1/stream/ticket', 'POST'],
])

/** Further headers of an answer that a page may read. */
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
 * Lets a page of this origin read the answer, also one that asks with credentials, as an
 * EventSource `withCredentials` does. A browser then wants the origin itself, never `*`. No cookie
 * and no other credential that a browser sends by itself is read on these routes, so that this lets
 * a page do no more than it could without.
 */
export const originHeaders = (origin: string): CorsHeaders => ({
  'access-control-allow-origin': origin,
  'access-control-allow-credentials': 'true',
})

/**
 * The CORS headers of the tenant's answers for a page of this origin; null if the tenant does not
 * allow it.
 */
export function corsHeaders({ settings }: Tenant, origin: string | undefined): CorsHeaders | null {
  if (origin === undefined || !settings.allowedOrigins.includes(origin)) return null
  return { ...originHeaders(origin), 'access-control-expose-headers': EXPOSED }
}

export const preflightHeaders = (origin: string, methods: string, headers: readonly string[]): CorsHeaders => ({
  ...originHeaders(origin),
  'access-control-allow-methods': methods,
  'access-control-allow-headers': headers.join(', '),
  'access-control-max-age': MAX_AGE_SECONDS,
})

/**
 * Marks every answer that depends on the origin, including refusals, so that caches keep them
 * apart.
 */
export function varyByOrigin({ routeOptions }: FastifyRequest, reply: FastifyReply): void {
  if (METHODS.has(routeOptions.url ?? '')) void reply.header('vary', 'Origin')
}

/** Lets a page read the answer if the caller's tenant allows its origin. */
export function allowOrigin({ routeOptions, headers }: FastifyRequest, reply: FastifyReply, tenant: Tenant): void {
  if (METHODS.has(routeOptions.url ?? '')) void reply.headers(corsHeaders(tenant, headers.origin) ?? {})
}

/**
 * The same without a tenant, for a refusal of the credentials that would name it: if any tenant
 * allows the origin.
 */
export async function allowSomeOrigin(
  app: App,
  { routeOptions, headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (origin === undefined || !METHODS.has(routeOptions.url ?? '') || !(await isOriginAllowed(app, origin))) return
  void reply.headers({ ...originHeaders(origin), 'access-control-expose-headers': EXPOSED })
}

/**
 * Refuses a client token in a page of another site. An app sends no origin. Throws
 * `origin_not_allowed`.
 */
export function requireOrigin({ headers: { origin } }: FastifyRequest, { settings }: Tenant): void {
  if (origin !== undefined && !settings.allowedOrigins.includes(origin)) throw new ServiceError('origin_not_allowed')
}

/**
 * Answers the preflights for everything that pages may call. They carry no credentials, so they are
 * granted if any tenant allows the origin.
 */
export function registerPreflights(scope: FastifyInstance, app: App): void {
  const allowed = [
    'Content-Type',
    'X-API-Key',
    'Authorization',
    'X-Request-Id',
    'Idempotency-Key',
    'X-GraphQL-Event-Stream-Token',
    'Last-Event-ID',
    identityHeader(app),
    `${app.settings.HEADER_PREFIX}Cost`,
    // Of Apollo Client, which tells its name where it has one, and of a page that is traced.
    'apollographql-client-name',
    'apollographql-client-version',
    'traceparent',
    'tracestate',
  ]
  for (const [url, methods] of METHODS) {
    scope.route({
      method: 'OPTIONS',
      url,
      handler: async (request, reply) => {
        const { origin } = request.headers
        // Not from a browser.
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
