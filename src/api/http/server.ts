import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'

import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

import { listensOn } from '../../core/address.ts'
import { countCaches } from '../../core/cache.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { problemOf, refusalHeaders, ServiceError } from '../../core/errors.ts'
import { countRefusal, type Surface } from '../../core/telemetry/metrics.ts'
import { SettingsError } from '../../core/settings/settings.ts'
import { traceIds } from '../../core/span.ts'
import { API_BASE } from '../../graphql/route.ts'
import { GRAPHQL_RESPONSE, responseErrorOf, toServiceError } from '../execution/errors.ts'
import { registerGraphQL } from './graphql.ts'
import { JSON_TYPE, registerBodies } from './body.ts'
import { registerCaller } from './caller.ts'
import { limitConnections } from './sockets/connection-limits.ts'
import { askForBodies } from './sockets/continue.ts'
import { registerConsole } from './site/console.ts'
import { type CorsHeaders, headersWithoutTenant, registerPreflights } from './cors.ts'
import { preferredType } from './pages/encoding.ts'
import { registerExportFile } from './export-file.ts'
import { registerDocs } from './site/docs.ts'
import { pathOf } from './path.ts'
import { isOpenedByPerson, isPageForBrowsers, NOT_FOUND_HEADERS, notFoundPage, withoutSlash } from './site/not-found.ts'
import { refuseUntilSetUp, registerHealth, surviveAccept } from './health.ts'
import { answerOnce, hasIdempotencyKey } from './idempotency.ts'
import { countAddress, countCaller } from './limits.ts'
import { Methods } from './methods.ts'
import { MAX_HEAD_BYTES, oversized, oversizedHead } from './sockets/oversized.ts'
import { registerMetrics } from './metrics.ts'
import { pageCache } from './pages/page-cache.ts'
import { registerReference } from './site/reference.ts'
import { measureRequests } from './request-metrics.ts'
import { registerRest } from './rest.ts'
import { registerSignOn } from './sign-on.ts'
import { takeMoreOfSite } from './sites/graphql.ts'
import { registerSites } from './sites/sites.ts'
import { registerStream } from './stream.ts'
import { registerUploadPart } from './upload-part.ts'
import { limitTimes, timesOf } from './sockets/timeouts.ts'
import { takeTurns } from './sockets/turns.ts'
import { traceRequests } from './tracing.ts'
import { registerWidget } from './site/widget.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Set on every request of REST and GraphQL before its handler runs. */
    ctx: Ctx
    /** The body's bytes; empty without a body. */
    rawBody: Buffer
  }
}

const MAX_BODY_BYTES = 256 * 1024
/** The most concurrent requests on an HTTP/2 connection; beyond that, clients open another one. */
const MAX_CONCURRENT = 100
/** How long a refused client may take to read the refusal. */
const LINGER_MS = 500
/** An external id of 512 characters, each four bytes, percent-encoded. */
const MAX_PARAM_LENGTH = 512 * 12
/** Answers depend on the caller and the reader, so that no cache may store them. */
const NOT_STORED = 'private, no-store'
const WELL_FORMED_REQUEST_ID = /^[\x21-\x7e]{1,128}$/

/** The HTTP server of an api process. It listens once `listen` is called. */
export async function createServer(app: App): Promise<FastifyInstance> {
  const server = Fastify({
    ...tlsOptions(app),
    bodyLimit: MAX_BODY_BYTES,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && WELL_FORMED_REQUEST_ID.test(given) ? given : randomUUID()
    },
    requestIdHeader: false,
    http: { requireHostHeader: false, maxHeaderSize: MAX_HEAD_BYTES },
    // Proxies whose `X-Forwarded-For` we trust.
    trustProxy: app.settings.TRUSTED_PROXIES.length === 0 ? false : [...app.settings.TRUSTED_PROXIES],
    clientErrorHandler: (error, socket) => void refuseMalformed(app, error as unknown as ClientError, socket),
    logger: false,
    forceCloseConnections: 'idle',
    // During a stop, a request on an open connection is served, and then the connection ends.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // Answered as a problem document, not in Fastify's form.
    frameworkErrors: (error, request, reply) => void sendProblem(app, error, request, reply),
  })
  server.decorateRequest('ctx')
  server.decorateRequest('rawBody')
  takeTurns(server)
  server.addHook('onListen', (done) => {
    const address = server.server.address()
    if (typeof address === 'object' && address !== null) listensOn(app, address.port)
    done()
  })
  server.addHook('onRequest', (request, reply, done) => {
    // Without it, shared caches keep what they like, for as long as they like: some a 404 of an old
    // process for a file of the new release. Routes set their own.
    void reply.headers({ 'x-request-id': request.id, 'cache-control': NOT_STORED })
    if (!hasHost(request)) return done(malformed('An HTTP/1.1 request needs one header Host.'))
    done(oversized(request.raw) ?? (lacksParam(request) ? noRoute(request) : undefined))
  })
  // Node would answer 417 by itself, without a problem document; an unknown expectation may be
  // ignored (RFC 9110, 10.1.1).
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response))
  askForBodies(server)
  if (app.log.isLevelEnabled('debug')) logRequests(server, app)
  surviveAccept(server, app)
  const exemptStream = limitTimes(server.server, timesOf(app.settings))
  const [countStream, endTrace] = [limitConnections(server.server, app), traceRequests(server, app)]
  measureRequests(server, app, (request, reply) => {
    countStream(request, reply)
    exemptStream(reply.raw)
    endTrace(request, reply)
  })
  refuseUntilSetUp(server, app)
  server.setErrorHandler((error, request, reply) => sendProblem(app, error, request, reply))
  const methods = new Methods()
  server.setNotFoundHandler((request, reply) => {
    const allow = methods.allowedMethods(request.url)
    const refusal = allow === null ? noRoute(request) : new ServiceError('method_not_allowed', { allow })
    return sendProblem(app, refusal, request, reply)
  })
  // Created now, so that its metrics exist from the start.
  pageCache(app)
  countCaches(app)
  registerBodies(server)
  /** Serves routes in a scope of their own. Other methods on their paths are refused. */
  const serve = (register: (scope: FastifyInstance) => Promise<void>) =>
    server.register(async (scope) => {
      const refuseOthers = methods.watch(scope)
      await register(scope)
      refuseOthers()
    })
  await serve(async (scope) => {
    scope.addHook('onRequest', async ({ ip }) => countAddress(app, ip))
    registerReference(scope, app)
    registerDocs(scope)
    registerConsole(scope, app)
    registerSignOn(scope, app)
  })
  await serve(async (scope) => {
    registerHealth(scope, app)
    // Clients reach this listener, so it has no metrics without a token, nor if they have their
    // own port.
    if (app.settings.METRICS_TOKEN !== undefined && app.settings.METRICS_PORT === undefined) registerMetrics(scope, app)
    registerStream(scope, app)
    registerWidget(scope)
  })
  await serve(async (scope) => registerSites(scope, app))
  await serve(async (scope) => {
    registerCaller(scope, app)
    registerPreflights(scope, app)
    registerRest(scope)
    registerExportFile(scope)
    await registerUploadPart(scope)
    registerGraphQL(scope, app, {
      hasIdempotencyKey,
      answerOnce,
      takeTokens: ({ ip, ctx: { caller } }, reply, tokens) => {
        if (caller === null) countAddress(app, ip, tokens)
        else if (caller.actor.kind === 'site') takeMoreOfSite(app, caller, ip, tokens)
        else countCaller(app, reply, caller, { address: ip, tokens })
      },
    })
  })
  return server
}

function logRequests(server: FastifyInstance, { log }: App): void {
  server.addHook('onResponse', (request, reply, done) => {
    // The route, not the address, whose query may contain credentials.
    const { url: route = 'unknown' } = request.routeOptions
    const { method, id: requestId } = request
    const ms = Math.round(reply.elapsedTime)
    log.debug({ requestId, method, route, status: reply.statusCode, ms, ...traceIds(request.span) }, 'request')
    done()
  })
}

const malformed = (detail: string): ServiceError => new ServiceError('malformed_json', { detail })

const MAX_SHOWN_PATH = 100

/** Without the query, which may contain credentials. */
const noRoute = ({ method, url }: FastifyRequest): ServiceError => {
  const path = pathOf(url)
  const shown = path.length > MAX_SHOWN_PATH ? `${path.slice(0, MAX_SHOWN_PATH)}…` : path
  return new ServiceError('not_found', { detail: `There is no route ${method} ${shown}.` })
}

/** The router takes `/discussions/` for `/discussions/:id` without an id. */
const lacksParam = ({ params }: FastifyRequest): boolean =>
  Object.entries(params ?? {}).some(([name, value]) => name !== '*' && value === '')

/**
 * Whether there is a host, and one alone: of two, a proxy may take the other one (RFC 9112, 3.2).
 * Checked here, because Node's own refusal is no problem document, and it takes the first of two.
 */
function hasHost({ raw: { httpVersion, rawHeaders } }: FastifyRequest): boolean {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return true
  let hosts = 0
  for (let n = 0; n < rawHeaders.length; n += 2) if (rawHeaders[n]?.toLowerCase() === 'host') hosts++
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** An error of Node's parser. Fastify's type has the packet as JSON. */
interface ClientError extends Error {
  code?: string
  rawPacket?: Buffer
}

/**
 * Answers what never becomes a request: data that is not HTTP, and requests that do not arrive in
 * time.
 */
async function refuseMalformed(
  app: App,
  error: ClientError,
  socket: Socket & { _httpMessage?: ServerResponse },
): Promise<void> {
  // After the head of an answer (by Node's own check), a second answer would become its content.
  // Before it, this would be taken for the answer to a request that is whole, and may be running.
  const isTaken = ({ _httpMessage: answer } = socket): boolean =>
    !socket.writable || answer?.headersSent === true || answer?.req.complete === true
  // Browsers open connections ahead of need. On such a connection, a 408 would be taken for the
  // answer to its first request.
  if (error.code === 'ECONNRESET' || isTaken() || socket.bytesRead === 0) return void socket.destroy()
  const refusal = refusalOf(error)
  const { status } = refusal
  const cors = await headersWithoutTenant(app, { ...placeIn(error.rawPacket, socket), status })
  if (isTaken()) return void socket.destroy()
  countRefusal(app, 'other', refusal.code)
  const requestId = randomUUID()
  const body = JSON.stringify(problemOf(refusal, requestId))
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Connection: close',
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      `Cache-Control: ${NOT_STORED}`,
      ...Object.entries(cors).map((header) => header.join(': ')),
      '',
      body,
    ].join('\r\n'),
  )
  // The client may keep its half open.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Path and origin of a request that Node's parser refuses, as far as one packet has them. */
function placeIn(packet: Buffer | undefined, { remoteAddress: address = '' }: Socket) {
  const text = packet?.toString('latin1') ?? ''
  const path = /^[A-Z]{3,20} ([^? \r\n]*)/.exec(text)?.[1] ?? ''
  return { path, origin: /\r\norigin: *([!-~]+)\r\n/i.exec(text)?.[1], address }
}

function refusalOf({ code, rawPacket }: ClientError): ServiceError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout')
  if (code === 'HPE_HEADER_OVERFLOW') return oversizedHead(rawPacket)
  return malformed('This is not an HTTP request that can be read.')
}

async function sendProblem(
  app: App,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // The router refuses a long part of a path before any hook.
  const tooLarge = isFromFramework(error) ? oversized(request.raw) : null
  const refusal =
    tooLarge ??
    fromFramework(error) ??
    (isGone(request) ? leftEarly(error) : toServiceError(error, app.log, aboutOf(request)))
  countRefusal(app, surfaceOf(request), refusal.code)
  const isMissing = refusal.code === 'not_found'
  const there = isMissing ? withoutSlash(request) : null
  if (there !== null) return reply.redirect(there, 308)
  const isPage = isMissing && isOpenedByPerson(request)
  const isResponse = readsResponses(request)
  const cors = await corsOf(app, refusal, request, reply)
  const vary = isMissing && isPageForBrowsers(request) ? ['Accept', cors.vary ?? reply.getHeader('vary')] : []
  const answer = isResponse ? { errors: [responseErrorOf(refusal, request.id)] } : problemOf(refusal, request.id)
  return (
    reply
      .code(refusal.status)
      .headers({ ...refusalHeaders(refusal), ...cors })
      .headers(vary.length === 0 ? {} : { vary: vary.filter((name) => name !== undefined).join(', ') })
      // The router's own refusals run no hooks.
      .headers({ 'x-request-id': request.id, 'cache-control': NOT_STORED })
      .header('content-type', isResponse ? GRAPHQL_RESPONSE : 'application/problem+json')
      .headers(isPage ? NOT_FOUND_HEADERS : {})
      // Bytes: Fastify would add a charset to a text. A problem document has none (RFC 9457).
      .send(Buffer.from(isPage ? notFoundPage(request) : JSON.stringify(answer)))
  )
}

/** The CORS headers that a refusal lacks: it may come before the tenant is known, or any hook. */
async function corsOf(
  app: App,
  { code, status }: ServiceError,
  { ctx, url, headers: { origin }, ip: address }: FastifyRequest,
  reply: FastifyReply,
): Promise<CorsHeaders> {
  // The tenant has decided.
  if ((ctx as Ctx | null)?.caller != null || code === 'origin_not_allowed') return {}
  const { vary, ...cors } = await headersWithoutTenant(app, { path: pathOf(url), origin, address, status })
  return vary === undefined || reply.hasHeader('vary') ? cors : { vary, ...cors }
}

/**
 * Whether a refused request gets a GraphQL response: at `/graphql` always, as its clients read
 * nothing else. At `/graphql/stream` those of graphql-sse read problem documents.
 */
function readsResponses({ url, headers }: FastifyRequest): boolean {
  const path = pathOf(url)
  if (path !== '/graphql/stream') return path === '/graphql'
  return preferredType(headers.accept, ['text/event-stream', JSON_TYPE, GRAPHQL_RESPONSE]) === GRAPHQL_RESPONSE
}

/** The log's fields of a failed request. */
const aboutOf = ({ id, span }: FastifyRequest): { requestId: string } => ({
  requestId: id,
  ...(span == null ? {} : traceIds(span)),
})

function surfaceOf({ routeOptions: { url = '' } }: FastifyRequest): Surface {
  if (url.startsWith('/graphql')) return 'graphql'
  if (url === `${API_BASE}/stream` || url.startsWith(`${API_BASE}/stream/`)) return 'stream'
  return url.startsWith(API_BASE) ? 'rest' : 'other'
}

/**
 * Whether the client disconnected before its request was complete: then no one reads the answer,
 * and there is no fault on our side.
 */
const isGone = ({ raw }: FastifyRequest): boolean => raw.destroyed && !raw.complete
const leftEarly = (cause: unknown): ServiceError => new ServiceError('request_timeout', { cause })

const isFromFramework = (error: unknown): boolean => (error as { code?: string }).code?.startsWith('FST_') === true

/** Fastify's own refusals as errors of the service. */
function fromFramework(error: unknown): ServiceError | undefined {
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ServiceError('body_too_large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new ServiceError('unsupported_media_type')
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') return new ServiceError('not_found')
  if (code?.startsWith('FST_ERR_CTP') === true || (code?.startsWith('FST_') === true && statusCode === 400)) {
    return new ServiceError('malformed_json')
  }
  return undefined
}

/**
 * HTTPS with HTTP/2 if a certificate is set, because browsers open only six HTTP/1.1 connections to
 * one site.
 */
export function tlsOptions({ settings }: Pick<App, 'settings'>): object {
  const { TLS_CERT_FILE, TLS_KEY_FILE } = settings
  if (TLS_CERT_FILE === undefined || TLS_KEY_FILE === undefined) return {}
  const read = (name: string, file: string): Buffer => {
    try {
      return readFileSync(file)
    } catch (cause) {
      throw new SettingsError(`${name}: ${file} cannot be read`, { cause })
    }
  }
  const cert = read('TLS_CERT_FILE', TLS_CERT_FILE)
  const key = read('TLS_KEY_FILE', TLS_KEY_FILE)
  requireContext('TLS_CERT_FILE', `${TLS_CERT_FILE} is no certificate in PEM`, { cert })
  requireContext('TLS_KEY_FILE', `${TLS_KEY_FILE} is not the key of TLS_CERT_FILE in PEM`, { cert, key })
  const { headersMs } = timesOf(settings)
  return {
    http2: true,
    https: {
      allowHTTP1: true,
      requireHostHeader: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      cert,
      key,
      handshakeTimeout: headersMs,
      settings: { maxConcurrentStreams: MAX_CONCURRENT },
    },
  }
}

function requireContext(name: string, otherwise: string, options: SecureContextOptions): void {
  try {
    createSecureContext(options)
  } catch (cause) {
    throw new SettingsError(`${name}: ${otherwise}`, { cause })
  }
}
