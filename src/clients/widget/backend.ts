import type { StreamTicket } from '../browser/stream.ts'
import type { CommentPage, First, Identity, Me, PageComment, PublicSettings } from './answers.ts'

export type { CommentPage, First, Identity, Me, PageComment, PublicSettings }

/** By the base path of the site. */
export const identities = new Map<string, Identity>()

export const SORTS = ['newest', 'oldest', 'top'] as const
export type Sort = (typeof SORTS)[number]
type Query = Record<string, string>
interface Problem {
  code?: string
  errors?: { code: string }[]
}

/** A refusal of the backend, by its stable code; `network` without an answer. */
export class RequestError extends Error {
  readonly code: string
  readonly retryAfterSeconds: number

  constructor(code: string, retryAfterSeconds = 0) {
    super(code)
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Whether the browser knows that there is no line. Node, where tests run this, knows nothing. */
const isOffline = (): boolean => (Object(globalThis.navigator) as { onLine?: boolean }).onLine === false

/** Where the paths of the publisher's backend begin; for a site those of the service itself. */
export const baseOf = (element: Element): string => {
  const site = element.getAttribute('site')?.trim()
  const base = site
    ? (element.getAttribute('service') ?? import.meta.url.replace(/\/[^/]*$/, ''))
    : (element.getAttribute('backend') ?? '/engagement')
  return base.replace(/(^|[^/])\/+$/, '$1') + (site ? `/engagement/${site}` : '')
}

/** A property that is an attribute. React 19 sets undefined for one that it no longer has. */
export const setAttribute = (element: Element, name: string, value: string | null | undefined): void =>
  value == null ? element.removeAttribute(name) : element.setAttribute(name, value)

/** Those for a site go by a file of their own. */
const send = async (url: string, init: RequestInit): Promise<Response> =>
  url.includes('/engagement/pk_') ? (await import('./site.ts')).send(url, init, identities) : fetch(url, init)

const ATTEMPTS = 4
/**
 * Whether a retry may succeed: there was no answer, the service is restarting, or another equal
 * request is still running.
 */
export const isPassing = ({ code }: RequestError): boolean => /network|unavailable|internal|in_progress/.test(code)

/**
 * A key for one intent to write, however often it is sent. `crypto.randomUUID` would need https.
 */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')

/**
 * Asks until there is an answer, a few times. Each write has a key, so that a retry does nothing
 * twice. One that is no longer wanted is not sent again.
 */
export async function ask<T>(
  url: string,
  method = 'GET',
  body?: object,
  key = newKey(),
  isWanted?: () => boolean,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce<T>(url, method, body, key)
    } catch (error) {
      const isLast = attempt === ATTEMPTS || isOffline()
      if (!(error instanceof RequestError && isPassing(error)) || isLast) throw error
      await new Promise((resolve) => setTimeout(resolve, 300 * 2 ** attempt * (0.5 + Math.random())))
      if (isWanted?.() === false) throw error
    }
  }
}

/** What the clock of the device lacks, in ms: it can be hours wrong. */
let behind = 0
/** The time at the service. */
export const now = (): number => Date.now() + behind

async function askOnce<T>(url: string, method: string, body?: object, key = newKey()): Promise<T> {
  const headers = {
    ...(method === 'GET' ? {} : { 'X-Requested-With': 'engagement', 'Idempotency-Key': key }),
    ...(body && { 'Content-Type': 'application/json' }),
  }
  const init = { method, headers, credentials: 'include', ...(body && { body: JSON.stringify(body) }) } as const
  const response = await send(url, init).catch(() => {
    throw new RequestError('network')
  })
  behind = Date.parse(response.headers.get('date') ?? '') - Date.now() || behind
  const answer = await readJson(response)
  const { ok, status } = response
  if (ok && answer !== undefined) return answer as T
  // A proxy's error page has no code. A text that is too long for a proxy stays so.
  const { code = ok || status > 499 ? 'unavailable' : 'error', errors } = (answer ?? {}) as Problem
  throw new RequestError(errors?.[0]?.code ?? code, Number(response.headers.get('retry-after')))
}

/** Null for an empty body, undefined for one that is truncated or not JSON. */
async function readJson(response: Response): Promise<unknown> {
  try {
    return response.status === 204 ? null : await response.json()
  } catch {
    return undefined
  }
}

/** Throws all other errors. */
const nullIfMissing = (error: unknown): null => {
  if (error instanceof RequestError && error.code === 'not_found') return null
  throw error
}

/** What readers ask `engagement-service/backend` for one page. `writing/writes.ts` has the rest. */
export const backendFor = (base: string, externalId: string) => {
  const at = (path: string, query: Query = {}): string =>
    `${base}${path}?${new URLSearchParams({ externalId, ...query })}`
  return {
    first: (query: Query) =>
      ask<First>(at('/thread', query)).catch(async (error: unknown): Promise<First> => {
        nullIfMissing(error)
        // A backend of an earlier release, for which the code is in a file of its own.
        return (await import('./first-by-parts.ts')).firstByParts(
          (path, more) => ask(more ? at(path, more) : base + path),
          query,
        )
      }),
    me: () => ask<{ reader: Me | null }>(`${base}/me`),
    // Not retried here: the stream's client asks again by itself, at growing intervals.
    ticket: () => askOnce<StreamTicket>(at('/ticket'), 'POST'),
    comments: (query: Query) => ask<CommentPage>(at('/comments', query)),
    /** Null if the reader may not see it. */
    comment: (id: string) => ask<PageComment>(`${base}/comments/${id}`).catch(nullIfMissing),
  }
}

export type PageBackend = ReturnType<typeof backendFor>
