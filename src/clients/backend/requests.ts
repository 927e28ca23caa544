import { invalid, Refusal } from './problems.ts'

/** A page's request, as fetch has it; adapters make one of what their framework has. */
export interface PageRequest {
  readonly method: string
  /** Absolute. Its host is the one that the browser asked. */
  readonly url: string
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array> | null
  /** Aborted when the browser has gone. */
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
  /** The same where the framework's request is that of fetch. */
  fetch: (request: Request & Incoming) => Promise<Response>
}

/** As the service has it (docs/reference/choices.md). */
export const MAX_BODY_BYTES = 256 * 1024

/**
 * What a page sends with every write: no other site's page can, unless the publisher's CORS lets
 * it.
 */
export const WRITE_HEADER = { name: 'X-Requested-With', value: 'engagement' } as const

/**
 * Lets a write pass only from the publisher's own pages: the cookie that signs the reader in comes
 * with the requests of every site. A form and an image cannot send the header, and a script of
 * another origin must ask first, which is never granted here. Where the publisher grants it for all
 * that is his, the browser's word on the page's origin is left. Throws `origin_not_allowed`.
 */
export function requireOwnPage({ url, headers }: PageRequest, origins: readonly string[]): void {
  if (headers.get(WRITE_HEADER.name) !== WRITE_HEADER.value) {
    const detail = `Writes need the header ${WRITE_HEADER.name}: ${WRITE_HEADER.value}.`
    throw new Refusal('origin_not_allowed', { detail })
  }
  const origin = headers.get('origin')
  if (origin !== null && origins.includes(origin)) return
  // Older browsers send the origin alone. Its scheme is left out: behind a proxy that ends TLS it
  // is not known here.
  const site = headers.get('sec-fetch-site')
  const isOwn = site === null ? origin === null || hostOf(origin) === hostOf(url) : site === 'same-origin'
  if (!isOwn) throw new Refusal('origin_not_allowed', { detail: 'Only pages of this site may write here.' })
}

const hostOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).host : null)

/**
 * The body of a write, to the byte. Throws `body_too_large`, `unsupported_media_type`,
 * `validation_failed`.
 */
export async function readBody({ headers, body }: PageRequest, isTaken: boolean): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = body === null ? new Uint8Array() : await readBounded(body)
  if (bytes.length === 0) return bytes
  if (!isTaken) throw invalid('', 'unknown_field', 'is not taken by this request')
  // Another type could come from a form, of any site.
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
