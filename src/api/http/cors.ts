import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { identityHeader } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import { ServiceError } from '../../core/errors.ts'
import type { TenantSettings } from '../../core/settings/tenant.ts'
import { isNewOrigin, isOriginAllowed, isOriginOf, recallOrigin } from '../../domains/tickets/origins.ts'
import { countAddress } from './limits.ts'

/**
 * The routes that pages of other origins may call: GraphQL, tickets and their streams, and no other
 * part of REST.
 */
const METHODS = new Map([
  ['/graphql', 'GET, POST'],
  ['/graphql/stream', 'GET, POST, PUT, DELETE'],
  ['/api/v1/stream/ticket', 'POST'],
])

/** Streams with a ticket: of several discussions, and of one. */
const STREAM_OF_SEVERAL = '/api/v1/stream'
const STREAMS = '/api/v1/stream/'

/** Further headers of an answer that a page may read. */
export const EXPOSED = [
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

const readable = (origin: string): CorsHeaders => ({
  ...originHeaders(origin),
  'access-control-expose-headers': EXPOSED,
})

/** Who says which origins are allowed. */
export type AllowedOrigins = Pick<TenantSettings, 'allowedOrigins'>

/**
 * The CORS headers of the tenant's answers for a page of this origin; null if the tenant does not
 * allow it.
 */
export function corsHeaders(allowed: AllowedOrigins, origin: string | undefined): CorsHeaders | null {
  if (origin === undefined || !isOriginOf(allowed, origin)) return null
  return readable(origin)
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/**
 * The answer to a preflight. A page may send any header but the credentials of a backend: clients,
 * tracing and error reports have headers of their own.
 */
export function preflightHeaders(
  app: App,
  { headers }: FastifyRequest,
  origin: string,
  methods: string,
  takesCredentials = true,
): CorsHeaders {
  const refused = new Set(['', 'x-api-key', identityHeader(app).toLowerCase()])
  const asked = (headers['access-control-request-headers'] ?? '').split(',').map((name) => name.trim().toLowerCase())
  return {
    ...(takesCredentials ? originHeaders(origin) : { 'access-control-allow-origin': origin }),
    'access-control-allow-methods': methods,
    'access-control-allow-headers': asked.filter((name) => HEADER_NAME.test(name) && !refused.has(name)).join(', '),
    'access-control-max-age': MAX_AGE_SECONDS,
  }
}

/**
 * Marks every answer that depends on the origin, including refusals, so that caches keep them
 * apart.
 */
export function varyByOrigin({ routeOptions }: FastifyRequest, reply: FastifyReply): void {
  if (METHODS.has(routeOptions.url ?? '')) void reply.header('vary', 'Origin')
}

/** Lets a page read the answer if the caller's tenant allows its origin. */
export function allowOrigin({ routeOptions, headers }: FastifyRequest, reply: FastifyReply, tenant: Tenant): void {
  if (METHODS.has(routeOptions.url ?? '')) void reply.headers(corsHeaders(tenant.settings, headers.origin) ?? {})
}

/**
 * The headers of an answer to a caller whose tenant is not known: a page reads it if any tenant
 * allows its origin, so that it can get new credentials, or wait. The look-up of a new origin
 * counts at the address. If the database is down, the origins are unknown; such a refusal reveals
 * nothing, and does not wait for the database once more.
 */
export async function headersWithoutTenant(
  app: App,
  {
    path,
    origin,
    address,
    status = 401,
  }: { path: string; origin?: string | undefined; address: string; status?: number },
): Promise<CorsHeaders> {
  if (!METHODS.has(path) && path !== STREAM_OF_SEVERAL && !path.startsWith(STREAMS)) return {}
  const vary = { vary: 'Origin' }
  if (origin === undefined) return vary
  if (status >= 500) return recallOrigin(app, origin) === false ? vary : { ...vary, ...readable(origin) }
  try {
    if (isNewOrigin(app, origin)) countAddress(app, address)
  } catch {
    return vary
  }
  const isAllowed = await isOriginAllowed(app, origin).catch(() => true)
  return isAllowed ? { ...vary, ...readable(origin) } : vary
}

/**
 * Refuses a client token in a page of another site. An app sends no origin. Throws
 * `origin_not_allowed`.
 */
export function requireOrigin({ headers: { origin } }: FastifyRequest, { settings }: Tenant): void {
  if (origin !== undefined && !isOriginOf(settings, origin)) throw new ServiceError('origin_not_allowed')
}

/**
 * Answers the preflights for everything that pages may call. They carry no credentials, so they are
 * granted if any tenant allows the origin.
 */
export function registerPreflights(scope: FastifyInstance, app: App): void {
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
          .headers(preflightHeaders(app, request, origin, methods))
          .send()
      },
    })
  }
}
