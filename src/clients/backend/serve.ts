import { sendable } from './compress.ts'
import type { Page } from './pages.ts'
import { problem, type PROBLEMS, Refusal, requestIdOf } from './problems.ts'
import { type Profile, profileOf, type SignedInReader } from './readers.ts'
import { type PageRequest, readBody } from './requests.ts'
import { findRoute, type Match, type Target } from './routes.ts'
import { threadOf } from './thread.ts'
import { tombstoneOf } from './tombstone.ts'

export type Awaitable<T> = T | Promise<T>

/** A page's request, and the signed-in reader whose it is. */
export interface Asked {
  request: PageRequest
  profile: Profile | null
  requestId: string
}

/** What the service is asked for a page. */
export interface Call extends Target {
  /** Those of the page's own that the service reads. */
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | null
  /** Whether the page writes. */
  isWrite: boolean
}

/** Who serves the routes: whom it asks, what its pages are, and who reads them. */
export interface Server<Incoming> {
  basePath: string
  /** The service's answer for the signed-in reader, also a refusal. May throw a Refusal. */
  ask: (call: Call, asked: Asked) => Promise<Response>
  /** The signed-in reader; null for none. */
  reader: (incoming: Incoming) => Awaitable<SignedInReader | null | undefined>
  /** Whether the page exists, with its details. Without it every text is a page. */
  isPage?: ((externalId: string, incoming: Incoming) => Awaitable<boolean | Page | null | undefined>) | undefined
  /** Whether also counts are of existing pages alone, and leave out others. */
  countsPagesAlone?: boolean
  /** Whether the service's lists have pages of `isPage` alone. */
  listsPagesAlone?: boolean
  /** Sends the details of a page to the service, before it gets a discussion. */
  tell: (externalId: string, page: Page) => Promise<void>
  /** Throws `origin_not_allowed` for a write that does not come from a page of its own. */
  requireOwnPage: (request: PageRequest) => void
  /** Whether a thread has a ticket for its stream. */
  givesTicket: (profile: Profile | null) => boolean
  /** What pages get as the settings; by default as the service gives them. */
  settings?: (given: object) => object
  /** Of successful answers to nobody, instead of that of their route. */
  cacheControl?: string
  /** The headers on which answers depend. */
  vary: string
  onError: (error: unknown) => void
  /** Called with what it refuses without asking the service. */
  onRefusal?: (code: keyof typeof PROBLEMS) => void
}

/** The routes as `Server` serves them. */
export interface Served<Incoming> {
  /** Answers every request, also one that is not below the base path (404). It never rejects. */
  answer: (request: PageRequest, incoming: Incoming) => Promise<Response>
  /** What a route answers to a request. */
  passOn: (match: Match, asked: Asked) => Promise<Response>
  /** The details of a page. Throws `not_found` if it does not exist. */
  pageOf: (externalId: string, incoming: Incoming) => Promise<Page>
}

/** Of the service's record of the signed-in reader. */
interface ReaderRecord {
  ban: unknown
  name: string | null
  externalId?: unknown
}

const NOTHING = new Uint8Array()
const PRIVATE = 'private, no-store'
const OWN_RECORD: Target = { method: 'GET', path: '/readers/me', template: '/readers/me', values: [] }

export function serveRoutes<Incoming>(server: Server<Incoming>): Served<Incoming> {
  const { basePath, isPage, vary } = server

  async function requirePage({ route, externalIds }: Match, incoming: Incoming): Promise<Page> {
    const [externalId = ''] = externalIds
    const page = await pageOf(externalId, incoming)
    if (route.begins === true) await server.tell(externalId, page)
    return page
  }

  /**
   * Those of several pages that exist. Where their discussions begin, the service is told of them.
   */
  async function pagesAmong({ route, externalIds }: Match, incoming: Incoming): Promise<string[]> {
    const pages = await Promise.all(externalIds.map(async (each) => isPage?.(each, incoming) ?? true))
    const existing = externalIds.filter((_each, n) => Boolean(pages[n]))
    // One after the other: many new pages are no burst of requests.
    for (const [n, page] of pages.entries()) {
      if (route.begins === true && typeof page === 'object' && page !== null)
        await server.tell(externalIds[n] ?? '', page)
    }
    return existing
  }

  async function pageOf(externalId: string, incoming: Incoming): Promise<Page> {
    const page = isPage === undefined ? true : await isPage(externalId, incoming)
    if (!page) throw noPage()
    return page === true ? {} : page
  }

  const profileFor = async ({ route }: Match, incoming: Incoming): Promise<Profile | null> => {
    const found = route.reader === 'untold' ? null : await server.reader(incoming)
    if (found != null) return profileOf(found)
    if (route.reader === 'required') throw new Refusal('identity_required', { detail: 'Nobody is signed in.' })
    return null
  }

  /**
   * The ban that keeps a reader from writing, and the name and the external id that the service
   * knows: after a merge that id is another than the publisher's. A failure of the service is no
   * error here, because the signed-in reader is known without it.
   */
  async function recordOf(asked: Asked): Promise<ReaderRecord> {
    const call = { ...OWN_RECORD, headers: {}, body: null, isWrite: false }
    const response = await server.ask(call, asked).catch(() => null)
    if (response?.ok !== true) return { ban: null, name: null }
    const { ban = null, name = null, externalId } = (await response.json()) as Partial<ReaderRecord>
    return { ban, name, externalId }
  }

  /** Without badges: the reader may have others, which moderators have given. */
  async function signedIn(profile: Profile, asked: Asked) {
    const { badges: _, ...shown } = profile
    const { ban, name } = await recordOf(asked)
    // Of a guest nobody but the service knows it.
    return { ...shown, name: shown.name ?? name, ban }
  }

  /** The service's answer as the page gets it. `given` is the body of the page's request. */
  async function passOn({ route, externalIds, service }: Match, asked: Asked, given = NOTHING): Promise<Response> {
    const { request, profile, requestId } = asked
    const body = route.body === undefined ? given : Buffer.from(JSON.stringify(route.body(externalIds)))
    const isWrite = request.method !== 'GET'
    const headers = { ...headersFor(request, isWrite), 'x-request-id': requestId }
    const call = { ...service, headers, body: body.length === 0 ? null : body, isWrite }
    const answered = await server.ask(call, asked)
    const response = route.isSettings === true && answered.ok ? await settingsIn(answered) : answered
    // With `parentId`, the comment may be what is missing.
    const isNone = response.status === 404 && !service.path.includes('parentId=')
    if (isNone && route.ifNone !== undefined) return Response.json(route.ifNone)
    if (response.ok && route.isComment === true) return shownTo(asked, response)
    if (response.ok && route.cacheControl !== undefined && profile === null) {
      response.headers.set('cache-control', route.cacheControl)
      if (route.reader === 'told') response.headers.set('vary', vary)
    }
    return response
  }

  /**
   * A comment that the service has shown to the key, as the page may show it: a key that may
   * moderate gets more than the public.
   */
  async function shownTo(asked: Asked, response: Response): Promise<Response> {
    type Shown = { status?: unknown; replyCount?: unknown; author?: { externalId?: unknown } | null }
    const comment = (await response.clone().json()) as Shown
    const { status, replyCount, author } = comment
    if (status === 'approved' || status === 'withheld') return response
    if (await isReader(asked, author?.externalId)) return response
    if (replyCount === 0) throw new Refusal('not_found')
    return Response.json(tombstoneOf(comment))
  }

  /** Whether the service knows the signed-in reader by this external id. */
  async function isReader(asked: Asked, externalId: unknown): Promise<boolean> {
    if (asked.profile === null || typeof externalId !== 'string') return false
    return externalId === asked.profile.id || externalId === (await recordOf(asked)).externalId
  }

  const settingsIn = async (given: Response): Promise<Response> =>
    server.settings === undefined ? given : Response.json(server.settings((await given.json()) as object))

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
      ticket: async () => (server.givesTicket(asked.profile) ? part('POST', '/ticket', { externalId }) : null),
      signedIn: async () => asked.profile && (await signedIn(asked.profile, asked)),
      tell: () => server.tell(externalId, page),
    })
  }

  async function serve(request: PageRequest, incoming: Incoming, requestId: string): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (!pathname.startsWith(`${basePath}/`)) throw new Refusal('not_found')
    const match = findRoute(request.method, pathname.slice(basePath.length), searchParams)
    const { route } = match
    const isWrite = route.method !== 'GET'
    if (isWrite) server.requireOwnPage(request)
    const profile = await profileFor(match, incoming)
    const response = await serveMatch(match, { request, profile, requestId }, incoming)
    const { cacheControl } = server
    if (cacheControl !== undefined && !isWrite && (response.ok || response.status === 304))
      response.headers.set('cache-control', profile === null ? cacheControl : PRIVATE)
    return response
  }

  async function serveMatch(match: Match, asked: Asked, incoming: Incoming): Promise<Response> {
    const { route, externalIds } = match
    const { request, profile } = asked
    if (route.path === '/me') return Response.json({ reader: profile && (await signedIn(profile, asked)) })
    if (route.externalId === 'many' && (server.countsPagesAlone === true || route.begins === true)) {
      const pages = await pagesAmong(match, incoming)
      return pages.length === 0 ? Response.json(route.ifNone) : passOn({ ...match, externalIds: pages }, asked)
    }
    const page = route.externalId === 'one' ? await requirePage(match, incoming) : {}
    if (route.path === '/thread') return thread(externalIds[0] ?? '', page, asked)
    if (route.isOfPages === true && isPage !== undefined && server.listsPagesAlone !== true) {
      const { wanted, longest } = uncut(match)
      const response = await passOn(longest, asked)
      return response.ok ? ofOwnPages(response, incoming, wanted) : response
    }
    const isWrite = route.method !== 'GET'
    return passOn(match, asked, isWrite ? await readBody(request, route.hasBody === true) : NOTHING)
  }

  /** The first of what belongs to pages that the caller may read. */
  async function ofOwnPages(response: Response, incoming: Incoming, wanted: number): Promise<Response> {
    if (isPage === undefined) return response
    type OfPages = { data: { discussion: { externalId: string } | null }[] }
    const { data, ...rest } = (await response.json()) as OfPages
    const isShown = await Promise.all(
      data.map(async ({ discussion }) => discussion !== null && isPage(discussion.externalId, incoming)),
    )
    return Response.json({ data: data.filter((_item, n) => isShown[n]).slice(0, wanted), ...rest })
  }

  async function answer(request: PageRequest, incoming: Incoming): Promise<Response> {
    const requestId = requestIdOf(request.headers)
    const refuse = (refusal: Refusal): Response => {
      server.onRefusal?.(refusal.code)
      return problem(refusal, requestId)
    }
    const response = await serve(request, incoming, requestId).catch((error: unknown) => {
      if (error instanceof Refusal) return refuse(error)
      if (!request.signal.aborted) server.onError(error)
      return refuse(new Refusal('internal'))
    })
    return sendable(finish(response, requestId), request)
  }

  function finish(response: Response, requestId: string): Response {
    const { headers } = response
    if (!headers.has('x-request-id')) headers.set('x-request-id', requestId)
    if (!headers.has('cache-control')) headers.set('cache-control', PRIVATE)
    // The signed-in reader shows in these answers.
    const isPersonal = !/\bpublic\b/.test(headers.get('cache-control') ?? '')
    if (isPersonal || server.cacheControl !== undefined) headers.set('vary', vary)
    headers.set('x-content-type-options', 'nosniff')
    return response
  }

  return { answer, passOn, pageOf }
}

/**
 * The request for the longest list, of which other pages are left out before it is cut to what is
 * `wanted`. A wrong `limit` is left for the service to refuse.
 */
function uncut(match: Match): { wanted: number; longest: Match } {
  const { cut } = match.route
  const [path = '', query] = match.service.path.split('?', 2)
  const parameters = new URLSearchParams(query)
  const limit = parameters.get('limit') ?? String(cut?.default)
  if (cut === undefined || !/^[1-9]\d?$/.test(limit) || Number(limit) > cut.max)
    return { wanted: Infinity, longest: match }
  parameters.set('limit', String(cut.max))
  return {
    wanted: Number(limit),
    longest: { ...match, service: { ...match.service, path: `${path}?${parameters.toString()}` } },
  }
}

/** The headers of a page's request that the service reads. */
function headersFor({ headers }: PageRequest, isWrite: boolean): Record<string, string> {
  const name = isWrite ? 'idempotency-key' : 'if-none-match'
  const value = headers.get(name)
  return value === null ? {} : { [name]: value }
}

/** A separate refusal, distinct from those of a deleted comment and of a page without comments. */
const noPage = (): Refusal =>
  new Refusal('not_found', {
    detail: 'There are no comments for this page.',
    errors: [{ pointer: '/externalId', code: 'unknown_page', message: 'is no page of this site' }],
  })
