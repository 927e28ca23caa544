import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { type PageRequest, WRITE_HEADER } from '../../../clients/backend/requests.ts'
import { type Served, serveRoutes } from '../../../clients/backend/serve.ts'
import type { App } from '../../../core/app.ts'
import type { Identity, SiteActor, Tenant } from '../../../core/caller.ts'
import type { Ctx } from '../../../core/context.ts'
import { invalid, ServiceError } from '../../../core/errors.ts'
import type { Id } from '../../../core/ids.ts'
import { nameOrNull } from '../../../core/input/texts.ts'
import { addressBucket, type Rate } from '../../../core/limits.ts'
import { countRefusal } from '../../../core/telemetry/metrics.ts'
import { traced } from '../../../core/telemetry/trace.ts'
import { keepsGuests, takesGuests } from '../../../domains/guests/mailer.ts'
import { findGuest, isGuestToken } from '../../../domains/guests/tokens.ts'
import { verifyIssuersToken } from '../../../domains/readers/identity.ts'
import { isPageOf } from '../../../domains/sites/pages.ts'
import { findSiteByKey, type Site } from '../../../domains/sites/sites.ts'
import { admitTenant } from '../../../domains/tenants/tenants.ts'
import { unauthenticatedRate } from '../../../live/browser-limits.ts'
import { EXPOSED, preflightHeaders } from '../cors.ts'
import { cameIn } from '../credentials.ts'
import { countAddress, giveBackAddress } from '../limits.ts'
import { sharedControl } from '../pages/etags.ts'
import { appOf } from '../requester.ts'
import { warnOfUnknownProxy } from '../sockets/proxies.ts'
import { askRest } from './ask.ts'
import { answerGuests, bearerOf, guestRouteOf } from './guests.ts'

const PATH = '/engagement/:publicKey/*'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** A page's request whose site, origin and reader are known. */
interface Visit {
  site: Site
  tenant: Tenant
  /** Null for nobody. */
  identity: Identity | null
  /** Whether the answer is for one reader, and no cache may keep it. */
  isPersonal: boolean
}

/**
 * Mounts the routes of a publisher's backend for pages that have none
 * (docs/reference/choices/sites.md).
 */
export function registerSites(scope: FastifyInstance, app: App): void {
  const visits = new WeakMap<FastifyRequest, Visit>()

  scope.addHook('onRequest', async (request, reply) => {
    if (request.method === 'OPTIONS') return enter(app, request, reply).then(nothing, passIfUnknown)
    visits.set(request, await visit(app, await enter(app, request, reply), request))
  })
  scope.route<{ Params: { publicKey: string } }>({
    method: [...METHODS],
    url: PATH,
    handler: async (request, reply) => {
      const visited = visits.get(request)
      if (visited === undefined) throw new Error('a page was not admitted')
      const ofGuests = guestRouteOf(request)
      if (ofGuests !== undefined) {
        const { tenant } = visited
        const own = traced(appOf(app, tenant, request.method !== 'GET', reply), request.span)
        return answerGuests(ofGuests, { ...visited, app: own, request, reply })
      }
      const { page, title } = pageRequestOf(request, reply)
      const { answer } = routesFor(app, request, reply, visited, title)
      return send(reply, await answer(page, null))
    },
  })
  scope.route({
    method: 'OPTIONS',
    url: PATH,
    handler: async (request, reply) => {
      const { origin } = request.headers
      // Not from a browser.
      if (origin === undefined) throw new ServiceError('method_not_allowed', { allow: METHODS })
      const isKnown = reply.getHeader('access-control-allow-origin') === origin
      return reply
        .code(204)
        .headers(preflightHeaders(app, request, isKnown ? origin : '*', METHODS.join(', '), false))
        .send()
    },
  })
}

const nothing = (): void => undefined

/**
 * The preflight of an unknown site passes: a page can read the refusal of the request itself, and
 * learns that the site is gone.
 */
function passIfUnknown(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
}

/**
 * The site of a request whose origin is one of its own. Takes a token of the address at the site.
 * Throws `not_found`, `origin_not_allowed`, `rate_limited`.
 */
export async function enter(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  publicKey = (request.params as { publicKey: string }).publicKey,
): Promise<Site> {
  const { origin } = request.headers
  void reply.header('vary', 'Origin')
  // There is no site whose origins could be told from others: the page learns that it is gone.
  void reply.header('access-control-allow-origin', '*')
  const site = await findPaid(app, request, publicKey)
  void reply.removeHeader('access-control-allow-origin')
  warnOfUnknownProxy(app, request)
  const isListed = origin === undefined || site.origins.includes(origin)
  if (isListed && origin !== undefined)
    void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED })
  const rate = unauthenticatedRate(app)
  // A page cannot read why a preflight was refused: what it announces is counted.
  if (rate !== null && request.method !== 'OPTIONS') takeAt(app, 'site', addressAt(site, request), rate)
  if (!isListed) throw new ServiceError('origin_not_allowed', { detail: NOT_LISTED })
  return site
}

export const addressAt = ({ id }: { id: Id }, { ip }: { ip: string }): string => `${id}/${addressBucket(ip)}`

const NOT_LISTED = 'The Origin of the page is not one of its site.'

const NO_SITE = { pointer: '/publicKey', code: 'unknown_site', message: 'is the key of no site' }

/** A look-up of a key that this process has never found is at the expense of the address. */
async function findPaid(app: App, { ip }: FastifyRequest, publicKey: string): Promise<Site> {
  let isPaid = false
  const pay = (): void => {
    countAddress(app, ip)
    isPaid = true
  }
  const site = await findSiteByKey(app, publicKey, pay)
  if (site === null) {
    if (!isPaid) countAddress(app, ip)
    throw new ServiceError('not_found', { detail: 'There is no site with this public key.', errors: [NO_SITE] })
  }
  if (isPaid) giveBackAddress(app, ip)
  return site
}

export function takeAt({ limits }: App, kind: 'site' | 'siteReader', name: string, rate: Rate, tokens = 1): void {
  const { isAllowed, retryAfterSeconds } = limits.take(kind, name, rate, tokens)
  if (!isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds })
}

/**
 * Who visits, before a body is read. What nobody is answered is the same with and without a token,
 * so that caches may keep it. Throws `tenant_suspended`, `invalid_identity`, `rate_limited`, and
 * for a write `origin_not_allowed` and `missing_capability`.
 */
async function visit(app: App, site: Site, request: FastifyRequest): Promise<Visit> {
  const tenant = await admitTenant(app, site.tenantId)
  const isWrite = request.method !== 'GET' && request.method !== 'HEAD'
  if (isWrite) requireWriter(site, request)
  const isPersonal = asksPersonally(request) || isWrite
  const isForNobody = guestRouteOf(request)?.isForNobody === true
  const identity = isPersonal && !isForNobody ? await readerOf(app, site, tenant, request) : null
  if (identity !== null) takeAt(app, 'siteReader', `${tenant.id}/${identity.externalId}`, tenant.settings.clientToken)
  if (identity === null && isWrite && !isForNobody && !isForReading(request))
    throw new ServiceError('identity_required', { detail: 'Nobody is signed in.' })
  return { site, tenant, identity, isPersonal }
}

/** Whether a POST is for a ticket, with which a page reads. */
const isForReading = ({ params }: FastifyRequest): boolean =>
  ['ticket', 'tickets'].includes((params as { '*': string })['*'])

function requireWriter(site: Site, request: FastifyRequest): void {
  const { headers } = request
  if (headers.origin === undefined) throw new ServiceError('origin_not_allowed', { detail: 'Writes need an Origin.' })
  if (headers[WRITE_HEADER.name.toLowerCase()] !== WRITE_HEADER.value) {
    const detail = `Writes need the header ${WRITE_HEADER.name}: ${WRITE_HEADER.value}.`
    throw new ServiceError('origin_not_allowed', { detail })
  }
  if (!site.posting && !isForReading(request))
    throw new ServiceError('missing_capability', { detail: 'The site takes no writes: its setting posting is off.' })
}

/** Whether `signedIn=1` is in the query. Throws `validation_failed` for another value. */
export function asksPersonally({ query }: FastifyRequest): boolean {
  const { signedIn } = query as Record<string, unknown>
  if (signedIn === undefined || signedIn === '1') return signedIn !== undefined
  throw invalid('/signedIn', 'not_allowed', 'must be 1, or absent')
}

export async function readerOf(
  app: App,
  site: Site,
  tenant: Tenant,
  request: FastifyRequest,
): Promise<Identity | null> {
  const token = bearerOf(request)
  if (token === null) return null
  const found = isGuestToken(token) ? findGuest(app, site, tenant, token) : verifyIssuersToken(app, tenant, token)
  return found.catch(cameIn('Authorization'))
}

/** The routes for one visit. */
function routesFor(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  { site, tenant, identity, isPersonal }: Visit,
  title: string | null,
): Served<null> {
  const { id, origins } = site
  const actor: SiteActor = { kind: 'site', id, origins, capabilities: new Set(), expiresAt: null, title, graphql: null }
  const { cacheSeconds } = tenant.settings.sites
  return serveRoutes<null>({
    basePath: `/engagement/${site.publicKey}`,
    ask: async (call, { profile, requestId }) => {
      const ctx: Ctx = {
        app: traced(appOf(app, tenant, call.isWrite, reply), request.span),
        requestId,
        caller: { tenant, actor, identity: profile === null ? null : identity },
        address: request.ip,
      }
      return askRest(ctx, site, call)
    },
    settings: (given) => ({ ...given, ...settingsOf(app, { site, tenant, identity }) }),
    reader: () => identity && { ...identity, id: identity.externalId },
    isPage: (externalId) => isPageOf(site, externalId),
    countsPagesAlone: true,
    listsPagesAlone: true,
    // A page's first comment brings them.
    tell: async () => undefined,
    requireOwnPage: () => undefined,
    givesTicket: (profile) => profile !== null,
    cacheControl: isPersonal ? 'private, no-store' : sharedControl(cacheSeconds),
    vary: 'Origin',
    onError: (err) => app.log.error({ err, requestId: request.id }, 'a page of a site was not answered'),
    onRefusal: (code) => countRefusal(app, 'rest', code),
  })
}

/**
 * What the widget offers on pages of the site, beside the public settings: nothing to write where
 * nobody could.
 */
function settingsOf(
  app: App,
  { site, tenant, identity }: Omit<Visit, 'isPersonal'>,
): { guests: boolean; posting?: false; closed?: 'nobody_yet' } {
  const isGuest = identity?.readerId !== undefined
  const guests = isGuest ? keepsGuests(site, tenant) : takesGuests(app, site, tenant)
  if (!site.posting) return { guests, posting: false }
  // A widget of an earlier release reads `posting` alone.
  return tenant.settings.identity.issuer === null && !guests
    ? { guests, posting: false, closed: 'nobody_yet' }
    : { guests }
}

const MAX_TITLE = 500

/** The request without what sites alone have in the query: `signedIn`, and the title of a page. */
function pageRequestOf(request: FastifyRequest, reply: FastifyReply): { page: PageRequest; title: string | null } {
  const url = new URL(`http://site${request.url}`)
  // Each page has one address, which caches keep.
  if (url.pathname !== request.url.split('?', 1)[0]) throw new ServiceError('not_found')
  url.searchParams.delete('signedIn')
  const isComment = request.method === 'POST' && url.pathname.endsWith('/comments')
  const titles = isComment ? url.searchParams.getAll('title') : []
  if (titles.length === 1) url.searchParams.delete('title')
  const headers = new Headers()
  for (const name of PASSED) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  headers.set('x-request-id', request.id)
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const body = request.rawBody === undefined ? null : only(request.rawBody)
  return { page: { method, url: url.href, headers, body, signal: gone.signal }, title: titleOf(titles) }
}

const PASSED = ['accept-encoding', 'content-type', 'idempotency-key', 'if-none-match'] as const

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** A title that the service takes; null for none. */
function titleOf(given: readonly string[]): string | null {
  const title = given.length === 1 ? nameOrNull((given[0] ?? '').replaceAll(/\p{Surrogate}/gu, '')) : null
  return title === null ? null : Array.from(title).slice(0, MAX_TITLE).join('')
}

async function send(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  void reply.code(answer.status).headers(Object.fromEntries(answer.headers))
  const bytes = Buffer.from(await answer.arrayBuffer())
  return bytes.length === 0 ? reply.send() : reply.send(bytes)
}
