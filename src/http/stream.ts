import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import type { Actor, App, Tenant } from '../core/context.ts'
import { type FieldError, ServiceError } from '../core/errors.ts'
import { type Id, isId } from '../core/ids.ts'
import { capsOf, keyIdOf } from '../domains/stream/admission.ts'
import { Connection, type Headers, lifetimeMs, refuseConnection } from '../domains/stream/connection.ts'
import type { Viewer } from '../domains/stream/frames.ts'
import { hubOf } from '../domains/stream/hub.ts'
import { presenceOf } from '../domains/stream/presence.ts'
import type { Session } from '../domains/stream/sessions.ts'
import { checkTicketAge, readTicket } from '../domains/stream/tickets.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import { type CorsHeaders, corsHeaders, preflightHeaders } from './cors.ts'
import { authenticate, authenticateToken } from './credentials.ts'
import { countAddress, countCaller, refuseAt } from './limits.ts'

const PATH = '/api/v1/stream/:discussionId'
const PARAMETERS = new Set(['ticket', 'token', 'lastEventId'])

/** Who opens a stream, and what goes with the way they came in. */
interface Opener {
  tenant: Tenant
  viewer: Viewer
  /** Null for a ticket. */
  actor: Actor | null
  headers: Headers
}

/** Mounts `GET /stream/{discussionId}` (contract, section 6). */
export function registerStream(server: FastifyInstance, app: App): void {
  // From the first stream on, other processes are told of this one.
  presenceOf(app)
  server.route<{ Params: { discussionId: string } }>({
    method: 'GET',
    url: PATH,
    exposeHeadRoute: false,
    handler: async (request, reply) => openStream(app, request, reply, request.params.discussionId),
  })
  server.route({
    method: 'OPTIONS',
    url: PATH,
    handler: async (request, reply) => answerPreflight(app, request, reply),
  })
}

async function openStream(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  discussionId: Id,
): Promise<FastifyReply> {
  void reply.header('vary', 'Origin')
  const query = readQuery(request)
  const reconnectId = header(request, 'last-event-id') || undefined
  const lastEventId = reconnectId ?? query.get('lastEventId') ?? null
  const isReconnect = reconnectId !== undefined
  const opener = await openerOf(app, request, query, discussionId, isReconnect).catch(refuseAt(app, request.ip))
  const { tenant, viewer, actor } = opener
  void reply.headers(opener.headers)
  // A ticket has no bucket: the caps on streams hold it. A browser would not come back after a 429.
  if (actor !== null) countCaller(app, reply, { tenant, actor })
  if (!isId(discussionId)) throw new ServiceError('not_found')

  const hub = hubOf(app)
  const headers = headersOf(reply)
  let release = (): void => undefined
  const heartbeatMs = app.settings.STREAM_HEARTBEAT_SECONDS * 1000
  const connection = new Connection(reply.raw, { heartbeatMs, onClose: () => release() })
  const session = sessionOf(opener, connection)
  try {
    release = hub.sessions.admit(session, capsOf(app, tenant))
    if (session.keyId !== null) await hub.requireLiveKey({ tenantId: tenant.id, keyId: session.keyId })
    const beginning = await hub.join({
      tenantId: tenant.id,
      discussionId,
      viewer,
      lastEventId,
      window: tenant.settings.stream,
    })
    if (connection.isOver) {
      beginning.seat.leave()
      throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    }
    reply.hijack()
    connection.open(headers, beginning)
  } catch (error) {
    release()
    if (actor !== null || !(error instanceof ServiceError) || error.code !== 'too_many_streams') throw error
    reply.hijack()
    refuseConnection(reply.raw, headers, lastEventId)
  }
  return reply
}

function sessionOf({ tenant, viewer, actor }: Opener, connection: Connection): Session {
  const lifetime = lifetimeMs(tenant.settings.stream.maxDurationSeconds, Math.random())
  return {
    tenantId: tenant.id,
    keyId: actor === null ? null : keyIdOf(actor),
    readerId: viewer.kind === 'public' ? viewer.readerId : null,
    endsAt: Math.min(Date.now() + lifetime, actor?.expiresAt?.getTime() ?? Infinity),
    end: () => connection.end(),
    tick: (now) => connection.tick(now),
  }
}

/** Finds out who opens the stream: by a key or admin token in a header, by `?ticket=`, or by the deprecated `?token=`. */
async function openerOf(
  app: App,
  request: FastifyRequest,
  query: ReadonlyMap<string, string>,
  discussionId: Id,
  isReconnect: boolean,
): Promise<Opener> {
  const credentials = { apiKey: header(request, 'x-api-key'), authorization: header(request, 'authorization') }
  const ticket = query.get('ticket')
  const token = query.get('token')
  const given = [credentials.apiKey, credentials.authorization, ticket, token].filter((value) => value !== undefined)
  if (given.length > 1) {
    throw new ServiceError('ambiguous_credentials', {
      detail: 'Send one of X-API-Key, Authorization, ticket and token.',
    })
  }
  if (ticket !== undefined) return openerByTicket(app, request, ticket, discussionId, isReconnect)
  if (token !== undefined) return openerByToken(app, token)
  const authenticated = await authenticate(app, credentials)
  if (authenticated === null) throw new ServiceError('missing_credentials')
  return { ...authenticated, viewer: { kind: 'tenant' }, headers: {} }
}

async function openerByToken(app: App, token: string): Promise<Opener> {
  if (!app.settings.STREAM_TOKEN_ENABLED) {
    throw new ServiceError('missing_credentials', {
      detail: 'The query parameter token is switched off: use a ticket.',
    })
  }
  const headers = { deprecation: 'true', sunset: app.settings.STREAM_TOKEN_SUNSET.toUTCString() }
  return { ...(await authenticateToken(app, token)), viewer: { kind: 'tenant' }, headers }
}

async function openerByTicket(
  app: App,
  request: FastifyRequest,
  text: string,
  discussionId: Id,
  isReconnect: boolean,
): Promise<Opener> {
  const ticket = await readTicket(app, text)
  if (ticket.discussionId !== discussionId)
    throw new ServiceError('invalid_ticket', { detail: 'It is for another discussion.' })
  const tenant = await loadTenant(app, ticket.tenantId).catch(asInvalidTicket)
  checkTicketAge(ticket, tenant, { isReconnect, now: Date.now() })
  const headers = originHeaders(tenant, request.headers.origin)
  return { tenant, viewer: { kind: 'public', readerId: ticket.readerId }, actor: null, headers }
}

function asInvalidTicket(error: unknown): never {
  // Its tenant is gone.
  throw error instanceof ServiceError && error.code === 'not_found' ? new ServiceError('invalid_ticket') : error
}

/** EventSource asks no leave beforehand, but other clients do. The ticket tells the tenant, whose origins count. */
async function answerPreflight(app: App, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  void reply.header('vary', 'Origin')
  countAddress(app, request.ip)
  const { origin } = request.headers
  // No browser's question.
  if (origin === undefined) throw new ServiceError('method_not_allowed', { allow: ['GET'] })
  const text = readQuery(request).get('ticket')
  if (text === undefined) throw new ServiceError('origin_not_allowed')
  const tenant = await loadTenant(app, (await readTicket(app, text)).tenantId).catch(asInvalidTicket)
  originHeaders(tenant, origin)
  return reply
    .code(204)
    .headers(preflightHeaders(origin, 'GET', ['Last-Event-ID', 'Cache-Control']))
    .send()
}

/** What a page of this origin is told; nothing to whoever is no page. Throws `origin_not_allowed`. */
function originHeaders(tenant: Tenant, origin: string | undefined): CorsHeaders {
  if (origin === undefined) return {}
  const headers = corsHeaders(tenant, origin)
  if (headers === null) throw new ServiceError('origin_not_allowed')
  return headers
}

/** The query parameters. Throws `validation_failed` for an unknown or a repeated one. */
function readQuery(request: FastifyRequest): Map<string, string> {
  const entries = Object.entries(request.query as Record<string, string | string[]>)
  const errors = entries.flatMap(([name, value]): FieldError[] => {
    if (!PARAMETERS.has(name)) {
      return [{ pointer: `/${name}`, code: 'unknown_parameter', message: 'is not a parameter of this request' }]
    }
    return typeof value === 'string' ? [] : [{ pointer: `/${name}`, code: 'wrong_type', message: 'must be given once' }]
  })
  if (errors.length > 0) {
    throw new ServiceError('validation_failed', {
      detail: errors.map((e) => `${e.pointer} ${e.message}`).join('; '),
      errors,
    })
  }
  return new Map(entries.flatMap(([name, value]) => (typeof value === 'string' && value !== '' ? [[name, value]] : [])))
}

function header({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** What hooks have put on the answer: `X-Request-Id`, limits. */
const headersOf = (reply: FastifyReply): Headers =>
  Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
