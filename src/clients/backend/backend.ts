// The publisher's backend for comments on its pages: `import { createBackend } from
// 'engagement-service/backend'`. It needs nothing but Node.
import { randomUUID } from 'node:crypto'

import { logErrors } from './log.ts'
import { type Page, teller } from './pages.ts'
import { idempotencyKeyFor, type Profile, profileOf, type SignedInReader, signAssertion } from './readers.ts'
import { drawingOf, type FirstPage, render, type RenderedThread, type RenderOptions } from './render.ts'
import {
  type Backend,
  type ClientToken,
  type ClientTokenOptions,
  type PageRequest,
  requireOwnPage,
} from './requests.ts'
import { findRoute } from './routes.ts'
import { type Awaitable, type Call, serveRoutes } from './serve.ts'
import { askService } from './service.ts'
import { threadOf } from './thread.ts'

export { fastifyPlugin } from './fastify.ts'
export { nodeHandler } from './node.ts'
export type { Page } from './pages.ts'
export type { SignedInReader } from './readers.ts'
export type { RenderedThread, RenderOptions } from './render.ts'
export type { Backend, ClientToken, ClientTokenOptions, PageRequest } from './requests.ts'

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
   * it, with the same text at most once a minute. What it throws goes to `console.error`.
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
  const tell = teller(async (call) => {
    const response = await askService(settings, call, new AbortController().signal)
    // An archived discussion keeps its title.
    if (response.ok || response.status === 409) return
    onError(new Error(`the service does not take the page: ${await response.text()}`))
    throw new Error('not told')
  })
  const { answer, passOn, pageOf } = serveRoutes<Incoming>({
    basePath,
    ask: ({ isWrite, ...call }, { profile, request }) =>
      askService(settings, { ...call, headers: headersFor({ isWrite, ...call }, profile) }, request.signal),
    reader,
    isPage,
    tell,
    requireOwnPage: (request) => requireOwnPage(request, origins),
    givesTicket: () => true,
    vary: PERSONAL,
    onError,
  })

  /**
   * The headers for the service: some of the page's own, and the assertion of the signed-in reader,
   * which is bound to the body of a write.
   */
  function headersFor({ headers, body, isWrite }: Call, profile: Profile | null): Record<string, string> {
    const { 'idempotency-key': key, ...others } = headers
    if (profile === null) return others
    const assertion = signAssertion(settings, profile, isWrite ? (body ?? NOTHING) : null)
    return {
      ...others,
      [`${headerPrefix}Identity`]: assertion,
      ...(key !== undefined && { 'idempotency-key': idempotencyKeyFor(profile, key) }),
    }
  }

  async function clientToken(
    incoming: Incoming,
    { ttlSeconds, externalIds }: ClientTokenOptions = {},
  ): Promise<ClientToken> {
    const found = await reader(incoming)
    const tellOf = async (externalId: string) => tell(externalId, await pageOf(externalId, incoming))
    await Promise.all((externalIds ?? []).slice(0, MAX_PAGES).map(tellOf))
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
      tell: () => tell(externalId, page),
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

  return { basePath, answer, fetch: (request) => answer(ofFetch(request), request), clientToken, renderThread }
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

/**
 * The request of a handler of fetch. Its server compresses the answer, as Next.js does even where
 * it is compressed already.
 */
function ofFetch({ method, url, headers: given, body, signal }: Request): PageRequest {
  const headers = new Headers(given)
  headers.delete('accept-encoding')
  return { method, url, headers, body, signal }
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
    isPage: options.isPage,
    origins: options.origins ?? [],
    headerPrefix: options.headerPrefix ?? 'X-Service-',
    onError: safely(options.onError ?? logErrors()),
  }
}

/** A callback whose own failure, at once or later, is logged, and changes no answer. */
const safely =
  (callback: (error: unknown) => void): ((error: unknown) => void) =>
  (error) =>
    void new Promise<void>((resolve) => resolve(callback(error))).catch((failure: unknown) => console.error(failure))
