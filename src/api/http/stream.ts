import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { requireSecondFactor } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Actor, Tenant } from '../../core/caller.ts'
import { type FieldError, ServiceError, unknownParameter, validationFailed } from '../../core/errors.ts'
import { type Id, inLowerCase, isId } from '../../core/ids.ts'
import { countRefusal } from '../../core/telemetry/metrics.ts'
import { credentialOf } from '../../live/credentials.ts'
import { viewerOf, type StreamViewer } from '../../live/viewer.ts'
import { admitStream, type BrowserUse } from '../../live/caps.ts'
import { chargeReplayOfTicket, countTicket } from '../../live/browser-limits.ts'
import {
  type ConnectionOptions,
  type EventConnection,
  lifetimeMs,
  type Owner,
  refuseConnection,
  StreamConnection,
} from '../../live/connection.ts'
import { ConnectionOfSeveral } from '../../live/connection-of-several.ts'
import { Cursors } from '../../live/streams/cursor.ts'
import { type Hub, hubOf, type JoinRequest } from '../../live/hub.ts'
import { joinSeveral } from '../../live/join-several.ts'
import { type Headers, headersOf } from '../../live/streams/outlet.ts'
import { presenceOf } from '../../domains/tickets/presence.ts'
import { checkTicketAge, readTicket, type Ticket } from '../../live/tickets.ts'
import { discussionsOf } from '../../domains/sites/pages.ts'
import { findSiteOf } from '../../domains/sites/sites.ts'
import { admitTenant } from '../../domains/tenants/tenants.ts'
import { toServiceError } from '../execution/errors.ts'
import { type AllowedOrigins, type CorsHeaders, corsHeaders, originHeaders, preflightHeaders } from './cors.ts'
import { authenticate, authenticateToken, credentialsOf, headerOf } from './credentials.ts'
import { takesGzip } from './pages/encoding.ts'
import { countAddress, countCaller, onBudgetOf } from './limits.ts'
import { warnOfUnknownProxy } from './sockets/proxies.ts'

const PATH = '/api/v1/stream/:discussionId'
const PATH_OF_SEVERAL = '/api/v1/stream'
const PARAMETERS = new Set(['ticket', 'token', 'lastEventId'])
const NOTHING = {}
const NO_LINES: string[] = []
const NO_PAGE = { allowedOrigins: [], gone: [] }
const NEEDS_TICKET = 'Send a ticket for several discussions in the query.'

/** The requested stream, and whether the browser's EventSource reconnects by itself. */
interface StreamRequest {
  query: ReadonlyMap<string, string>
  /** Null for the stream of several discussions, which the ticket names. */
  discussionId: Id | null
  isReconnect: boolean
}

/** Who opens a stream, and by which credentials. */
interface Opener {
  tenant: Tenant
  viewer: StreamViewer
  /** Null for a ticket. */
  actor: Actor | null
  /** Null for a key or an admin token. */
  use: (BrowserUse & Pick<Ticket, 'minter' | 'discussionIds'>) | null
  headers: Headers
}

/**
 * Mounts `GET /stream/{discussionId}`, and `GET /stream` for the several discussions of a ticket
 * (docs/reference/choices/streams.md).
 */
export function registerStream(server: FastifyInstance, app: App): void {
  // From the first stream on, this process reports its streams to the others.
  presenceOf(app)
  server.route<{ Params: { discussionId: string } }>({
    method: 'GET',
    url: PATH,
    exposeHeadRoute: false,
    handler: async (request, reply) => openStream(app, request, reply, inLowerCase(request.params.discussionId)),
  })
  server.route({
    method: 'GET',
    url: PATH_OF_SEVERAL,
    exposeHeadRoute: false,
    handler: async (request, reply) => openStream(app, request, reply, null),
  })
  for (const url of [PATH, PATH_OF_SEVERAL]) {
    server.route({ method: 'OPTIONS', url, handler: async (request, reply) => answerPreflight(app, request, reply) })
  }
}

const POSITIONS = /^\d{1,15}(, *\d{1,15})+$/

/**
 * The position in `Last-Event-ID`. Some clients send the header twice: the position with which they
 * began, and the one that they have reached. The latest counts, so that nothing comes twice.
 */
function reconnectIdOf(request: FastifyRequest): string | undefined {
  const given = headerOf(request, 'last-event-id') || undefined
  if (given === undefined || !POSITIONS.test(given)) return given
  return String(Math.max(...given.split(',').map(Number)))
}

async function openStream(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  discussionId: Id | null,
): Promise<FastifyReply> {
  void reply.header('vary', 'Origin')
  const query = readQuery(request)
  const reconnectId = reconnectIdOf(request)
  const lastEventId = reconnectId ?? query.get('lastEventId') ?? null
  const asked = { query, discussionId, isReconnect: reconnectId !== undefined }
  let connection: EventConnection | undefined
  let hasEntered = false
  try {
    const opener = await onBudgetOf(app, request.ip, (pay) => openerOf(app, request, asked, pay))
    const { tenant, viewer, actor, use } = opener
    hasEntered = true
    void reply.headers(opener.headers)
    if (actor !== null) countCaller(app, reply, { tenant, actor }, { address: request.ip })
    if (discussionId !== null && !isId(discussionId)) throw new ServiceError('not_found')

    // Before the pages of a site are looked up.
    if (use !== null) countTicket(app, use)
    const { gone, ...allowed } = use === null ? NO_PAGE : await originsOf(app, tenant, use)
    if (use !== null) void reply.headers(headersForPage(allowed, request.headers.origin))
    const hub = hubOf(app)
    const headers = headersOf(reply.getHeaders())
    const stream = streamOf(hub, reply, { ...opener, gone }, discussionId, {
      ...ownerOf(hub, opener),
      heartbeatMs: app.settings.STREAM_HEARTBEAT_SECONDS * 1000,
      isGzip: takesGzip(request.headers['accept-encoding']),
      onCut: hub.onCut,
    })
    ;({ connection } = stream)
    connection.admit(await admitStream(app, connection, tenant, use))
    if (connection.credential !== null) {
      const live = hub.requireLive(connection.credential)
      await (use === null ? live : live.catch(asInvalidTicket))
    }
    const { replayed, open } = await stream.join({ viewer, lastEventId, window: tenant.settings.stream })
    const charge = use === null ? undefined : chargeReplayOfTicket(app, use, replayed)
    if (connection.isOver) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    reply.hijack()
    open(headers, charge)
    forgetRequest(request)
  } catch (error) {
    connection?.abandon()
    const refusal = toServiceError(error, app.log, { requestId: request.id })
    const isCapped = refusal.status === 429 && hasEntered
    if (!query.has('ticket') || (refusal.status !== 503 && !isCapped)) throw refusal
    // If the database is down, the tenant's origins may be unknown. This answer reveals nothing to
    // a page.
    const { origin } = request.headers
    if (origin !== undefined) void reply.headers(originHeaders(origin))
    countRefusal(app, 'stream', refusal.code)
    reply.hijack()
    refuseConnection(reply.raw, headersOf(reply.getHeaders()), { lastEventId, isCapped })
  }
  return reply
}

interface OpenedStream {
  connection: EventConnection
  /** Takes its seats. `open` sends the first frame, then the replay, then live events. */
  join: (from: Pick<JoinRequest, 'viewer' | 'lastEventId' | 'window'>) => Promise<{
    replayed: number
    open: (headers: Headers, charge: ((bytes: number) => void) | undefined) => void
  }>
}

/** The stream of one discussion, or of those of a ticket. */
function streamOf(
  hub: Hub,
  { raw }: FastifyReply,
  { tenant, use, gone }: Opener & { gone: readonly Id[] },
  discussionId: Id | null,
  options: ConnectionOptions,
): OpenedStream {
  if (discussionId === null) {
    const cursors = new Cursors(use?.discussionIds ?? [])
    const connection = new ConnectionOfSeveral(raw, { ...options, cursors, gone })
    const join: OpenedStream['join'] = async (from) => {
      const beginning = await joinSeveral(hub, connection, { ...from, cursors })
      return { replayed: beginning.replayed, open: (...how) => connection.open(beginning, ...how) }
    }
    return { connection, join }
  }
  const connection = new StreamConnection(raw, options)
  const join: OpenedStream['join'] = async (from) => {
    const beginning = await hub.join({ ...from, tenantId: tenant.id, discussionId, stream: connection })
    connection.sit(beginning.seat)
    return { replayed: beginning.replayed, open: (...how) => connection.open(beginning, ...how) }
  }
  return { connection, join }
}

/**
 * Frees what the request has brought, which would otherwise stay in memory as long as the stream:
 * about 1 KB.
 */
function forgetRequest(request: FastifyRequest): void {
  const { raw } = request
  request.query = NOTHING
  // HTTP/2 has its own, which cannot be set.
  if (raw.httpVersionMajor > 1) return
  raw.url = PATH
  raw.headers = NOTHING
  raw.rawHeaders = NO_LINES
}

function ownerOf(hub: Hub, { tenant, actor, use }: Opener): Owner {
  const lifetime = lifetimeMs(tenant.settings.stream.maxDurationSeconds, Math.random())
  const minter = use?.minter ?? null
  const ofTicket = minter === null ? null : hub.shared(minter)
  return {
    tenantId: tenant.id,
    credential: actor === null ? ofTicket : credentialOf({ tenant, actor }),
    endsAt: Math.min(Date.now() + lifetime, actor?.expiresAt?.getTime() ?? minter?.expiresAt ?? Infinity),
  }
}

/**
 * Authenticates the opener of a stream: by a key or admin token in a header, by `?ticket=`, or by
 * the deprecated `?token=`.
 */
async function openerOf(
  app: App,
  request: FastifyRequest,
  asked: StreamRequest,
  beforeLookUp: () => void,
): Promise<Opener> {
  const { query } = asked
  const credentials = credentialsOf(app, request)
  const ticket = query.get('ticket')
  const token = query.get('token')
  const given = [credentials.apiKey, credentials.authorization, credentials.cookie, ticket, token].filter(
    (value) => value !== undefined,
  )
  if (given.length > 1) {
    throw new ServiceError('ambiguous_credentials', {
      detail: 'Send one of X-API-Key, Authorization, ticket and token.',
    })
  }
  if (ticket !== undefined) return openerByTicket(app, request, ticket, asked)
  if (asked.discussionId === null) throw new ServiceError('missing_credentials', { detail: NEEDS_TICKET })
  if (token !== undefined) return openerByToken(app, token, beforeLookUp)
  const authenticated = await authenticate(app, credentials, beforeLookUp)
  if (authenticated === null) {
    throw new ServiceError('missing_credentials', {
      detail: 'Send an API key in X-API-Key, an admin token in Authorization, or a ticket in the query.',
    })
  }
  requireSecondFactor(authenticated.actor)
  return { ...authenticated, use: null, viewer: viewerOf(authenticated.actor), headers: {} }
}

async function openerByToken(app: App, token: string, beforeLookUp: () => void): Promise<Opener> {
  if (!app.settings.STREAM_TOKEN_ENABLED) {
    throw new ServiceError('missing_credentials', {
      detail: 'The query parameter token is switched off: use a ticket.',
    })
  }
  const headers = { deprecation: 'true', sunset: app.settings.STREAM_TOKEN_SUNSET.toUTCString() }
  const authenticated = await authenticateToken(app, token, beforeLookUp)
  requireSecondFactor(authenticated.actor)
  return { ...authenticated, use: null, viewer: viewerOf(authenticated.actor), headers }
}

async function openerByTicket(
  app: App,
  request: FastifyRequest,
  text: string,
  { discussionId, isReconnect }: StreamRequest,
): Promise<Opener> {
  const ticket = await readTicket(app, text)
  if (ticket.discussionId !== discussionId)
    throw new ServiceError('invalid_ticket', { detail: 'The ticket is for another stream.' })
  const tenant = await admitTenant(app, ticket.tenantId).catch(asInvalidTicket)
  checkTicketAge(ticket, tenant, { isReconnect, now: Date.now() })
  warnOfUnknownProxy(app, request)
  const use = { ...ticket, address: request.ip }
  return { tenant, viewer: { kind: 'public', readerId: ticket.readerId }, actor: null, use, headers: {} }
}

function asInvalidTicket(error: unknown): never {
  // Its tenant was deleted, or the credential that minted it has ended.
  const isOver = error instanceof ServiceError && (error.code === 'not_found' || error.status === 401)
  throw isOver ? new ServiceError('invalid_ticket', { detail: 'What minted the ticket has ended.' }) : error
}

/**
 * EventSource sends no preflight, but other clients do. The ticket names the tenant, whose origins
 * are checked.
 */
async function answerPreflight(app: App, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  void reply.header('vary', 'Origin')
  countAddress(app, request.ip)
  const { origin } = request.headers
  // Not from a browser.
  if (origin === undefined) throw new ServiceError('method_not_allowed', { allow: ['GET'] })
  const text = readQuery(request).get('ticket')
  if (text === undefined) throw new ServiceError('origin_not_allowed')
  const ticket = await readTicket(app, text)
  const tenant = await admitTenant(app, ticket.tenantId).catch(asInvalidTicket)
  headersForPage(await originsOf(app, tenant, ticket), origin)
  return reply
    .code(204)
    .headers(preflightHeaders(app, request, origin, 'GET'))
    .send()
}

/**
 * The origins that may use a ticket: those of the tenant, or of the site that minted it, while a
 * page of the ticket is still one of its own; `gone` are the others. Throws `invalid_ticket`.
 */
async function originsOf(
  app: App,
  { settings }: Tenant,
  { minter, discussionIds }: Pick<Ticket, 'minter' | 'discussionIds'>,
): Promise<AllowedOrigins & { gone: readonly Id[] }> {
  if (minter?.kind !== 'site') return { allowedOrigins: settings.allowedOrigins, gone: [] }
  const site = await findSiteOf(app, minter)
  const own = site === null ? new Set() : await discussionsOf(app, site, discussionIds)
  if (site === null || own.size === 0)
    throw new ServiceError('invalid_ticket', { detail: 'What minted the ticket has ended.' })
  return { allowedOrigins: site.origins, gone: discussionIds.filter((id) => !own.has(id)) }
}

/** CORS headers for a page of this origin; none without an origin. Throws `origin_not_allowed`. */
function headersForPage(allowed: AllowedOrigins, origin: string | undefined): CorsHeaders {
  if (origin === undefined) return {}
  const headers = corsHeaders(allowed, origin)
  if (headers === null) throw new ServiceError('origin_not_allowed')
  return headers
}

/** The query parameters. Throws `validation_failed` for an unknown or a repeated one. */
function readQuery(request: FastifyRequest): Map<string, string> {
  const entries = Object.entries(request.query as Record<string, string | string[]>)
  const errors = entries.flatMap(([name, value]): FieldError[] => {
    if (!PARAMETERS.has(name)) return [unknownParameter(name)]
    return typeof value === 'string' ? [] : [{ pointer: `/${name}`, code: 'wrong_type', message: 'must be given once' }]
  })
  if (errors.length > 0) throw validationFailed(errors)
  return new Map(entries.flatMap(([name, value]) => (typeof value === 'string' && value !== '' ? [[name, value]] : [])))
}
