// The publisher's backend for comments on its pages: `import { createBackend } from
// 'engagement-service/backend'`. It needs nothing but Node.
import { randomUUID } from 'node:crypto'

import { sendable } from './compress.ts'
import { logErrors } from './log.ts'
import { type Page, teller } from './pages.ts'
import { problem, Refusal, requestIdOf } from './problems.ts'
import { idempotencyKeyFor, type Profile, profileOf, type SignedInReader, signAssertion } from './readers.ts'
import { drawingOf, type FirstPage, render, type RenderedThread, type RenderOptions, tombstoneOf } from './render.ts'
import {
  type Backend,
  type ClientToken,
  type ClientTokenOptions,
  type PageRequest,
  readBody,
  requireOwnPage,
} from './requests.ts'
import { findRoute, type Match } from './routes.ts'
import { askService } from './service.ts'
import { threadOf } from './thread.ts'

export { fastifyPlugin } from './fastify.ts'
export { nodeHandler } from './node.ts'
export type { Page } from './pages.ts'
export type { SignedInReader } from './readers.ts'
export type { RenderedThread, RenderOptions } from './render.ts'
export type { Backend, ClientToken, ClientTokenOptions, PageRequest } from './requests.ts'

type Awaitable<T> = T | Promise<T>

/** A page's request, and the signed-in reader whose it is. */
interface Asked {
  request: PageRequest
  profile: Profile | null
  requestId: string
}

const NOTHING = new Uint8Array()
/** The headers by which a site knows who is signed in. */
const PERSONAL = 'Cookie, Authorization'
/** As many as a token names; the service refuses more. */
const MAX_PAGES = 50

/** `Incoming` is the framework's request: Express's, Fastify's, Node's, or that of fetch. */
export interface BackendOptions<Incoming> {
  /** The service's address, without `/api/v1`. */
  url: string
  /**
   * A live key of the tenant. Give this key no capability: with `moderate_content` it would show
   * comments that wait for approval.
   */
  apiKey: string
  /** The tenant's slug. */
  tenant: string
  /** Signs for the readers; its `kid` is derived from it. */
  identitySecret: string
  /**
   * The signed-in reader, by the publisher's own session; null for none. Nothing else identifies
   * the reader.
   */
  reader: (incoming: Incoming) => Awaitable<SignedInReader | null | undefined>
  /**
   * Whether the page exists, and the caller may read it. Called for each request that names a
   * page, except counts, and for each page of a list over many. Return its title and address
   * instead of `true` to show them to moderators. Without this option every text is a page, and
   * anyone can create its discussion.
   */
  isPage?: ((externalId: string, incoming: Incoming) => Awaitable<boolean | Page | null | undefined>) | undefined
  /** The base path; `/engagement` by default. */
  basePath?: string | undefined
  /** Further origins whose pages may write. The publisher sets their CORS headers. */
  origins?: readonly string[] | undefined
  /**
   * The prefix of the service's header names, if it has another one (`HEADER_PREFIX`); `X-Service-`
   * by default.
   */
  headerPrefix?: string | undefined
  /** How long the service may take to answer; 10 000 by default. */
  timeoutMs?: number | undefined
  /**
   * Called with each error that keeps this backend from serving. By default `console.error` gets
   * it, with the same text at most once a minute.
   */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * Serves pages: each request goes to the service as the signed-in reader's. Throws a TypeError for
 * a wrong option.
 */
export function createBackend<Incoming = Request>(options: BackendOptions<Incoming>): Backend<Incoming> {
  const settings = readOptions(options)
  const { reader, isPage, basePath, origins, headerPrefix, onError } = settings
  // Without the signal of the browser's request: the page's details are sent on behalf of
  // everyone.
  const tellOf = teller(async (call) => {
    const response = await askService(settings, call, new AbortController().signal)
    // An archived discussion keeps its title.
    if (response.ok || response.status === 409) return
    onError(new Error(`the service does not take the page: ${await response.text()}`))
    throw new Error('not told')
  })

  /** The details of the page, if there are any. Throws `not_found` if the page does not exist. */
  async function requirePage({ route, externalIds }: Match, incoming: Incoming): Promise<Page> {
    const [externalId = ''] = externalIds
    const page = await pageOf(externalId, incoming)
    if (route.begins === true) await tellOf(externalId, page)
    return page
  }

  async function pageOf(externalId: string, incoming: Incoming): Promise<Page> {
    const page = await isPage(externalId, incoming)
    if (!page) throw noPage()
    return page === true ? {} : page
  }

  const profileFor = async ({ route }: Match, incoming: Incoming): Promise<Profile | null> => {
    const found = route.reader === 'untold' ? null : await reader(incoming)
    if (found != null) return profileOf(found)
    if (route.reader === 'required') throw new Refusal('identity_required', { detail: 'Nobody is signed in.' })
    return null
  }

  /**
   * The headers for the service: some of the page's own, and the assertion of the signed-in reader,
   * bound to `body`.
   */
  function headersFor(
    { method, headers }: Pick<PageRequest, 'method' | 'headers'>,
    profile: Profile | null,
    body: Uint8Array,
  ) {
    const isWrite = method !== 'GET'
    const told: Record<string, string> = {}
    if (profile !== null) told[`${headerPrefix}Identity`] = signAssertion(settings, profile, isWrite ? body : null)
    const key = headers.get('idempotency-key')
    if (profile !== null && isWrite && key !== null) told['idempotency-key'] = idempotencyKeyFor(profile, key)
    const known = headers.get('if-none-match')
    if (!isWrite && known !== null) told['if-none-match'] = known
    return told
  }

  /**
   * The ban that keeps a reader from writing. A failure of the service is no error here, because
   * the signed-in reader is known without it.
   */
  async function banOf(profile: Profile, request: PageRequest): Promise<unknown> {
    const call = {
      method: 'GET',
      path: '/readers/me',
      headers: headersFor({ method: 'GET', headers: new Headers() }, profile, NOTHING),
      body: null,
    }
    const response = await askService(settings, call, request.signal).catch(() => null)
    if (response?.ok !== true) return null
    const { ban = null } = (await response.json()) as { ban?: unknown }
    return ban
  }

  /** Without badges: the reader may have others, which moderators have given. */
  async function signedIn(profile: Profile, request: PageRequest) {
    const { badges: _, ...shown } = profile
    return { ...shown, ban: await banOf(profile, request) }
  }

  /** The service's answer as the page gets it. `given` is the body of the page's request. */
  async function passOn({ route, externalIds, service }: Match, asked: Asked, given = NOTHING): Promise<Response> {
    const { request, profile, requestId } = asked
    const body = route.body === undefined ? given : Buffer.from(JSON.stringify(route.body(externalIds)))
    const headers = { ...headersFor(request, profile, body), 'x-request-id': requestId }
    const call = { ...service, headers, body: body.length === 0 ? null : body }
    const response = await askService(settings, call, request.signal)
    // With `parentId`, the comment may be what is missing.
    const isNone = response.status === 404 && !service.path.includes('parentId=')
    if (isNone && route.ifNone !== undefined) return Response.json(route.ifNone)
    if (response.ok && route.isComment === true) return shownTo(profile, response)
    if (response.ok && route.cacheControl !== undefined && profile === null) {
      response.headers.set('cache-control', route.cacheControl)
      if (route.reader === 'told') response.headers.set('vary', PERSONAL)
    }
    return response
  }

  function thread(externalId: string, page: Page, asked: Asked): Promise<Response> {
    const { url, signal } = asked.request
    const part = (method: string, path: string, query: Record<string, string> = {}): Promise<Response> => {
      const match = findRoute(method, path, new URLSearchParams(query))
      return passOn(match, { ...asked, request: { method, url, headers: new Headers(), body: null, signal } })
    }
    return threadOf({
      externalId,
      query: Object.fromEntries(new URL(url).searchParams),
      part,
      ticket: () => part('POST', '/ticket', { externalId }),
      signedIn: async () => asked.profile && (await signedIn(asked.profile, asked.request)),
      tell: () => tellOf(externalId, page),
    })
  }

  async function serve(request: PageRequest, incoming: Incoming, requestId: string): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (!pathname.startsWith(`${basePath}/`)) throw new Refusal('not_found')
    const match = findRoute(request.method, pathname.slice(basePath.length), searchParams)
    const { route, externalIds } = match
    const isWrite = route.method !== 'GET'
    if (isWrite) requireOwnPage(request, origins)
    const profile = await profileFor(match, incoming)
    if (route.path === '/me') return Response.json({ reader: profile && (await signedIn(profile, request)) })
    const page = route.externalId === 'one' ? await requirePage(match, incoming) : {}
    const asked = { request, profile, requestId }
    if (route.path === '/thread') return thread(externalIds[0] ?? '', page, asked)
    const response = await passOn(match, asked, isWrite ? await readBody(request, route.hasBody === true) : NOTHING)
    return route.isOfPages === true && response.ok ? ofOwnPages(response, incoming) : response
  }

  /** What belongs to pages that the caller may read. */
  async function ofOwnPages(response: Response, incoming: Incoming): Promise<Response> {
    if (options.isPage === undefined) return response
    type OfPages = { data: { discussion: { externalId: string } | null }[] }
    const { data, ...rest } = (await response.json()) as OfPages
    const isShown = await Promise.all(
      data.map(async ({ discussion }) => discussion !== null && isPage(discussion.externalId, incoming)),
    )
    return Response.json({ data: data.filter((_item, n) => isShown[n]), ...rest })
  }

  async function answer(request: PageRequest, incoming: Incoming): Promise<Response> {
    const requestId = requestIdOf(request.headers)
    const response = await serve(request, incoming, requestId).catch((error: unknown) => {
      if (error instanceof Refusal) return problem(error, requestId)
      if (!request.signal.aborted) onError(error)
      return problem(new Refusal('internal'), requestId)
    })
    return sendable(finish(response, requestId), request)
  }

  async function clientToken(
    incoming: Incoming,
    { ttlSeconds, externalIds }: ClientTokenOptions = {},
  ): Promise<ClientToken> {
    const found = await reader(incoming)
    const tell = async (externalId: string) => tellOf(externalId, await pageOf(externalId, incoming))
    await Promise.all((externalIds ?? []).slice(0, MAX_PAGES).map(tell))
    const body = Buffer.from(JSON.stringify({ ttlSeconds, externalIds }))
    const headers: Record<string, string> = {}
    if (found != null) headers[`${headerPrefix}Identity`] = signAssertion(settings, profileOf(found), body)
    const call = { method: 'POST', path: '/client-tokens', headers, body }
    const response = await askService(settings, call, new AbortController().signal)
    if (!response.ok) throw new Error(`the service gives no client token: ${await response.text()}`)
    return (await response.json()) as ClientToken
  }

  /** All that a signed-out reader's page shows first. Throws where there is no such answer. */
  async function publicThread(externalId: string, page: Page, query: Record<string, string>): Promise<FirstPage> {
    const { signal } = new AbortController()
    const request = { method: 'GET', url: '', headers: new Headers(), body: null, signal }
    const asked = { request, profile: null, requestId: randomUUID() }
    const response = await threadOf({
      externalId,
      query: { externalId, ...query },
      part: (method, path, given = {}) => passOn(findRoute(method, path, new URLSearchParams(given)), asked),
      signedIn: async () => null,
      tell: () => tellOf(externalId, page),
      ticket: async () => null,
    })
    if (!response.ok) throw new Error(`the service gives no comments to render: ${await response.text()}`)
    return (await response.json()) as FirstPage
  }

  /** Null where the page does not know it: a session that cannot be read keeps no page back. */
  async function isSignedIn(request: Incoming): Promise<boolean | null> {
    try {
      return (await reader(request)) != null
    } catch (error) {
      onError(error)
      return null
    }
  }

  async function renderThread(asked: RenderOptions<Incoming>): Promise<RenderedThread> {
    const drawing = drawingOf(asked, settings)
    const { request, cursor } = asked
    const { externalId, posting, sort, pageSize: limit } = drawing
    const { title, url } = posting
    const query = { sort, limit, replies: '3', ...(typeof cursor === 'string' && { cursor }) }
    const known = request === undefined ? null : await isSignedIn(request)
    return render({ ...drawing, signedIn: known }, () => publicThread(externalId, { title, url }, query), onError)
  }

  return { basePath, answer, fetch: (request) => answer(request, request), clientToken, renderThread }
}

/**
 * A comment that the service has shown to the key, as the page may show it: a key that may moderate
 * gets more than the public.
 */
async function shownTo(profile: Profile | null, response: Response): Promise<Response> {
  type Shown = { status?: unknown; replyCount?: unknown; author?: { externalId?: unknown } | null }
  const comment = (await response.clone().json()) as Shown
  const { status, replyCount, author } = comment
  const isOwn = profile !== null && author?.externalId === profile.id
  if (isOwn || status === 'approved' || status === 'withheld') return response
  if (replyCount === 0) throw new Refusal('not_found')
  return Response.json(tombstoneOf(comment))
}

/** A separate refusal, distinct from those of a deleted comment and of a page without comments. */
const noPage = (): Refusal =>
  new Refusal('not_found', {
    detail: 'There are no comments for this page.',
    errors: [{ pointer: '/externalId', code: 'unknown_page', message: 'is no page of this site' }],
  })

function finish(response: Response, requestId: string): Response {
  const { headers } = response
  if (!headers.has('x-request-id')) headers.set('x-request-id', requestId)
  if (!headers.has('cache-control')) headers.set('cache-control', 'private, no-store')
  // The signed-in reader shows in these answers.
  if (!/\bpublic\b/.test(headers.get('cache-control') ?? '')) headers.set('vary', PERSONAL)
  headers.set('x-content-type-options', 'nosniff')
  return response
}

/** The options that may be left out, and what they take. */
const OPTIONAL = {
  isPage: 'function',
  basePath: 'string',
  headerPrefix: 'string',
  timeoutMs: 'number',
  onError: 'function',
} as const

/** Throws a TypeError that names the option: errors of Node name what the caller never wrote. */
function requireTypes(options: unknown): void {
  const require = (holds: boolean, rule: string): void => {
    if (!holds) throw new TypeError(`createBackend: ${rule}`)
  }
  require(typeof options === 'object' && options !== null, 'options must be an object')
  const given = options as Record<string, unknown>
  for (const name of ['url', 'apiKey', 'tenant', 'identitySecret'])
    require(typeof given[name] === 'string', `${name} must be a string`)
  for (const [name, type] of Object.entries(OPTIONAL))
    require(given[name] === undefined || typeof given[name] === type, `${name} must be a ${type}`)
  const { origins = [] } = given
  const isList = Array.isArray(origins) && origins.every((each) => typeof each === 'string')
  require(isList, 'origins must be a list of strings')
}

function readOptions<Incoming>(options: BackendOptions<Incoming>) {
  requireTypes(options)
  const { url, apiKey, tenant, identitySecret, reader, basePath = '/engagement', timeoutMs = 10_000 } = options
  const require = (holds: boolean, rule: string): void => {
    if (!holds) throw new TypeError(`createBackend: ${rule}`)
  }
  require(/^https?:\/\//.test(url) && URL.canParse(url), 'url must be the http or https address of the service')
  require(!/\/api\/v1\/*$/.test(url), `url must be without /api/v1: ${url.replace(/\/api\/v1\/*$/, '')}`)
  require(/^ek_[0-9a-f]{64}$/.test(apiKey), 'apiKey must be ek_ and 64 hex')
  require(typeof tenant === 'string' && tenant !== '', "tenant must be the tenant's slug")
  require(typeof identitySecret === 'string' && identitySecret !== '', 'identitySecret must be given')
  require(typeof reader === 'function', 'reader must be a function')
  require(/^(\/[\w.~-]+)+$/.test(basePath), 'basePath must begin with a slash and not end with one')
  require(Number.isInteger(timeoutMs) && timeoutMs > 0, 'timeoutMs must be a whole number of milliseconds')
  return {
    url: url.replace(/([^/])\/+$/, '$1'),
    apiKey,
    tenant,
    identitySecret,
    reader,
    basePath,
    timeoutMs,
    isPage: options.isPage ?? (() => true),
    origins: options.origins ?? [],
    headerPrefix: options.headerPrefix ?? 'X-Service-',
    onError: options.onError ?? logErrors(),
  }
}
