import { invalid, Refusal } from './problems.ts'
import type { RenderedThread, RenderOptions } from './render.ts'

/** A page's request in the form of fetch; adapters convert a framework's request. */
export interface PageRequest {
  readonly method: string
  /** Absolute. Its host, or the one of the header `Host`, is the one that the browser requested. */
  readonly url: string
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array> | null
  /** Aborted when the browser disconnects. */
  readonly signal: AbortSignal
}

/**
 * What is mounted: by `nodeHandler`, by `fastifyPlugin`, or as it is where handlers are those of
 * fetch.
 */
export interface Backend<Incoming> {
  readonly basePath: string
  /** Answers every request, also one that is not below the base path (404). It never rejects. */
  answer: (request: PageRequest, incoming: Incoming) => Promise<Response>
  /** `answer` where the framework's request is that of fetch. */
  fetch: (request: Request & Incoming) => Promise<Response>
  /**
   * A token with which the page of this request uses GraphQL in the browser. It acts for the
   * signed-in reader, if there is one. A page that it names, and that has no comments yet, gets its
   * discussion, with the title and address from `isPage`. Rejects if the service gives no token, or
   * `isPage` does not know a page.
   */
  clientToken: (incoming: Incoming, options?: ClientTokenOptions) => Promise<ClientToken>
  /**
   * The first page of a thread, for a page that the server renders. It calls no `isPage`: name only
   * pages that the caller may read. If the service does not answer, `html` is the element alone.
   */
  renderThread: (options: RenderOptions<Incoming>) => Promise<RenderedThread>
}

export interface ClientTokenOptions {
  /** How many seconds it lives: 60 to 3 600; 900 by default. */
  ttlSeconds?: number | undefined
  /** The pages that it opens, 1 to 50; all of them by default. The caller may read them. */
  externalIds?: readonly string[] | undefined
}

/** What the page sends as `Authorization: Bearer`, until when, and for which reader. */
export interface ClientToken {
  token: string
  /** RFC 3339. */
  expiresAt: string
  /** The reader's id in the service; null for none. */
  readerId: string | null
}

/** Throws a TypeError for what `createBackend` has not made. */
export function requireBackend(caller: string, backend: unknown): void {
  const { basePath, answer } = Object(backend) as Partial<Record<keyof Backend<unknown>, unknown>>
  if (typeof basePath === 'string' && typeof answer === 'function') return
  throw new TypeError(`${caller}: its argument must be what createBackend returns`)
}

/** As the service has it (docs/reference/choices/requests.md). */
export const MAX_BODY_BYTES = 256 * 1024

/**
 * A header of every write: pages of other sites cannot send it unless the publisher's CORS allows
 * it.
 */
export const WRITE_HEADER = { name: 'X-Requested-With', value: 'engagement' } as const

/**
 * Accepts writes only from the publisher's own pages, because the sign-in cookie comes with
 * requests of every site. A form or an image cannot send the header, and a script of another origin
 * needs a preflight, which is never granted here. If the publisher's own server grants it
 * everywhere, the origin that the browser reports still protects. Throws `origin_not_allowed`.
 */
export function requireOwnPage({ url, headers }: PageRequest, origins: readonly string[]): void {
  if (headers.get(WRITE_HEADER.name) !== WRITE_HEADER.value) {
    const detail = `Writes need the header ${WRITE_HEADER.name}: ${WRITE_HEADER.value}.`
    throw new Refusal('origin_not_allowed', { detail })
  }
  const origin = headers.get('origin')
  if (origin !== null && origins.includes(origin)) return
  // Older browsers send only the origin. Its scheme is ignored: behind a proxy that ends TLS it is
  // not known here.
  const site = headers.get('sec-fetch-site')
  const isOwn = site === null ? origin === null || isHost(origin, { url, headers }) : site === 'same-origin'
  if (!isOwn) throw new Refusal('origin_not_allowed', { detail: 'Only pages of this site may write here.' })
}

/**
 * Whether the browser requested the host of the origin. A framework knows it by the address of the
 * request, where a proxy has changed `Host`, or by `Host`, where the address is the one that the
 * server listens at.
 */
function isHost(origin: string, { url, headers }: Pick<PageRequest, 'url' | 'headers'>): boolean {
  const host = hostOf(origin)
  return host !== null && [url, `${new URL(url).protocol}//${headers.get('host') ?? ''}`].map(hostOf).includes(host)
}

const hostOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).host : null)

/**
 * The body of a write, unchanged. Throws `body_too_large`, `unsupported_media_type`,
 * `validation_failed`.
 */
export async function readBody({ headers, body }: PageRequest, isTaken: boolean): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = body === null ? new Uint8Array() : await readBounded(body)
  if (bytes.length === 0) return bytes
  if (!isTaken) throw invalid('', 'unknown_field', 'is not taken by this request')
  // A form of any site could send other types.
  if (!/^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? ''))
    throw new Refusal('unsupported_media_type')
  return bytes
}

async function readBounded(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw new Refusal('body_too_large')
  }
  return Buffer.concat(chunks)
}
