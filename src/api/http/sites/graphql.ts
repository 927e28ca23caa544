import type { FastifyReply, FastifyRequest } from 'fastify'

import { siteHeader } from '../../../core/access.ts'
import type { App } from '../../../core/app.ts'
import type { Caller, Identity, Tenant } from '../../../core/caller.ts'
import { ServiceError } from '../../../core/errors.ts'
import { ensureReader } from '../../../domains/readers/readers.ts'
import { admitTenant } from '../../../domains/tenants/tenants.ts'
import { unauthenticatedRate } from '../../../live/browser-limits.ts'
import { opensToBrowsers } from '../credentials.ts'
import { addressAt, asksPersonally, enter, readerOf, takeAt } from './sites.ts'

/** Whether a page asks GraphQL by the key of a site. */
export const asksBySite = (app: App, request: FastifyRequest): boolean =>
  opensToBrowsers(request) && (keyInQuery(request) ?? keyInHeader(app, request)) !== undefined

/**
 * The public key with which a page asks. The one in the address counts, as caches keep the answer
 * for that address. Throws `ambiguous_credentials` where the header has another one.
 */
function siteKeyOf(app: App, request: FastifyRequest): string {
  const inQuery = keyInQuery(request)
  const inHeader = keyInHeader(app, request)
  if (inQuery !== undefined && inHeader !== undefined && inHeader !== inQuery) {
    const detail = `The address names another site than ${siteHeader(app)}.`
    throw new ServiceError('ambiguous_credentials', { detail })
  }
  return inQuery ?? inHeader ?? ''
}

function keyInHeader(app: App, { headers }: FastifyRequest): string | undefined {
  const named = headers[siteHeader(app).toLowerCase()]
  return typeof named === 'string' && named !== '' ? named : undefined
}

/** Of a GET, which caches may keep by its address. */
function keyInQuery({ method, query }: FastifyRequest): string | undefined {
  const { site } = query as Record<string, unknown>
  return (method === 'GET' || method === 'HEAD') && typeof site === 'string' && site !== '' ? site : undefined
}

/**
 * The caller of a request by the key of a site, whose reader is in `Authorization`. A GET that
 * names the site in its address is answered as to nobody, unless it has `signedIn=1`: so caches may
 * keep the answer. Throws `ambiguous_credentials`, `not_found`, `origin_not_allowed`,
 * `rate_limited`, `tenant_suspended`, `invalid_identity`.
 */
export async function siteCallerOf(app: App, request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
  const publicKey = siteKeyOf(app, request)
  if (request.headers['x-api-key'] !== undefined)
    throw new ServiceError('ambiguous_credentials', { detail: 'Send the key of a site without an API key.' })
  const site = await enter(app, request, reply, publicKey)
  const { id, tenantId, origins, posting } = site
  const tenant = await admitTenant(app, tenantId)
  const isShared =
    request.routeOptions.url === '/graphql' && keyInQuery(request) !== undefined && !asksPersonally(request)
  const identity = isShared ? null : await readerOf(app, site, tenant, request)
  if (identity !== null) takeOfReader(app, tenant, identity, 1)
  const readerId = identity === null ? null : (await ensureReader(app, tenant, identity)).id
  const graphql = { readerId, posting, isShared }
  const actor = {
    kind: 'site',
    id,
    origins,
    capabilities: new Set<never>(),
    expiresAt: null,
    title: null,
    graphql,
  } as const
  return { tenant, actor, identity }
}

/** Takes further tokens of a site's page. Throws `rate_limited`. */
export function takeMoreOfSite(app: App, { tenant, actor, identity }: Caller, ip: string, tokens: number): void {
  const rate = unauthenticatedRate(app)
  if (rate !== null) takeAt(app, 'site', addressAt(actor, { ip }), rate, tokens)
  if (identity !== null) takeOfReader(app, tenant, identity, tokens)
}

const takeOfReader = (app: App, { id, settings }: Tenant, { externalId }: Identity, tokens: number): void =>
  takeAt(app, 'siteReader', `${id}/${externalId}`, settings.clientToken, tokens)
