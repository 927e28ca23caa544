import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import type { Actor, App, Tenant } from '../core/context.ts'
import { type FieldError, ServiceError, validationFailed } from '../core/errors.ts'
import { type Id, isId } from '../core/ids.ts'
import { credentialOf } from '../domains/stream/admission.ts'
import { admitStream } from '../domains/stream/caps.ts'
import { Connection, lifetimeMs, type Owner, refuseConnection } from '../domains/stream/connection.ts'
import type { Viewer } from '../domains/stream/frames.ts'
import { hubOf } from '../domains/stream/hub.ts'
import { type Headers, headersOf, requireTurn } from '../domains/stream/outlet.ts'
import { presenceOf } from '../domains/stream/presence.ts'
import { checkTicketAge, readTicket } from '../domains/stream/tickets.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import { type CorsHeaders, corsHeaders, preflightHeaders } from './cors.ts'
import { authenticate, authenticateToken } from './credentials.ts'
import { countAddress, countCaller, refuseAt } from './limits.ts'

const PATH = '/api/v1/stream/:discussionId'
const PARAMETERS = new Set(['ticket', 'token', 'lastEventId'])
const NOTHING = {}
const NO_LINES: string[] = []

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
  const headers = headersOf(reply.getHeaders())
  const connection = new Connection(reply.raw, {
    ...ownerOf(opener),
    heartbeatMs: app.settings.STREAM_HEARTBEAT_SECONDS * 1000,
    onCut: hub.onCut,
  })
  try {
    connection.admit(await admitStream(app, connection, tenant))
    if (connection.credential !== null) await hub.requireLive(connection.credential)
    const beginning = await hub.join({
      tenantId: tenant.id,
      discussionId,
      viewer,
      lastEventId,
      window: tenant.settings.stream,
    })
    connection.sit(beginning.seat)
    if (connection.isOver) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    requireTurn(reply.raw)
    reply.hijack()
    connection.open(headers, beginning)
    forgetRequest(request)
  } catch (error) {
    connection.abandon()
    if (actor !== null || !(error instanceof ServiceError) || error.code !== 'too_many_streams') throw error
    reply.hijack()
    refuseConnection(reply.raw, headers, lastEventId)
  }
  return reply
}

/** What the request has brought would otherwise be kept for as long as its stream lasts: about 1 KB. */
function forgetRequest(request: FastifyRequest): void {
  const { raw } = request
  request.query = NOTHING
  // HTTP/2 has its own, which cannot be set.
  if (raw.httpVersionMajor > 1) return
  raw.url = PATH
  raw.headers = NOTHING
  raw.rawHeaders = NO_LINES
}

function ownerOf({ tenant, viewer, actor }: Opener): Owner {
  const lifetime = lifetimeMs(tenant.settings.stream.maxDurationSeconds, Math.random())
  return {
    tenantId: tenant.id,
    credential: actor === null ? null : credentialOf(actor, tenant.id),
    readerId: viewer.kind === 'public' ? viewer.readerId : null,
    endsAt: Math.min(Date.now() + lifetime, actor?.expiresAt?.getTime() ?? Infinity),
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
  if (authenticated === null) {
    throw new ServiceError('missing_credentials', {
      detail: 'Send an API key in X-API-Key, an admin token in Authorization, or a ticket in the query.',
    })
  }
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
  if (errors.length > 0) throw validationFailed(errors)
  return new Map(entries.flatMap(([name, value]) => (typeof value === 'string' && value !== '' ? [[name, value]] : [])))
}

function header({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
