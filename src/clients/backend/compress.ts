import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import type { PageRequest } from './requests.ts'

const zip = promisify(gzip)

/** A smaller answer fits into one packet either way. */
const MIN_BYTES = 1024

/**
 * The answer as a browser gets it: compressed, unless it is short or the browser refuses gzip, and
 * 304 without a body if the browser has it. What may be kept has an ETag.
 */
export async function sendable(
  response: Response,
  request: Pick<PageRequest, 'method' | 'headers'>,
): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const { status, headers } = response
  // A 304 has to name what the answer that it stands for named.
  headers.append('vary', 'Accept-Encoding')
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const isKept = isRead && status === 200 && !/no-store/.test(headers.get('cache-control') ?? '')
  if (isKept && !headers.has('etag')) {
    const etag = `W/"${digestOf(bytes).slice(0, 22)}"`
    headers.set('etag', etag)
    if (tagsIn(request.headers.get('if-none-match')).includes(etag)) {
      headers.delete('content-type')
      return new Response(null, { status: 304, headers })
    }
  }
  if (bytes.length < MIN_BYTES || !takesGzip(request.headers.get('accept-encoding'))) {
    return new Response(bytes.length === 0 ? null : bytes, { status, headers })
  }
  headers.set('content-encoding', 'gzip')
  return new Response(new Uint8Array(await (isKept ? zipOnce(bytes) : zip(bytes))), { status, headers })
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url')

/** Answers that everyone gets are compressed once. The most bytes of them, before compression. */
const MAX_BYTES = 16_777_216
/** By their digests, the last used last. */
const zipped = new Map<string, { size: number; done: Promise<Uint8Array> }>()
let zippedBytes = 0

function zipOnce(bytes: Uint8Array): Promise<Uint8Array> {
  const key = digestOf(bytes)
  const known = zipped.get(key)
  const { size, done } = known ?? { size: bytes.length, done: zip(bytes) }
  zipped.delete(key)
  zipped.set(key, { size, done })
  if (known === undefined) zippedBytes += size
  for (const [oldest, each] of zipped) {
    if (zippedBytes <= MAX_BYTES) break
    zipped.delete(oldest)
    zippedBytes -= each.size
  }
  return done
}

const tagsIn = (header: string | null): string[] =>
  (header ?? '').split(',').map((tag) => tag.trim().replace(/^(?!W\/)/, 'W/'))

/** By RFC 9110, section 12.5.3: what names gzip counts before what names any. */
function takesGzip(accepted: string | null): boolean {
  const codings = (accepted ?? '').split(',').map((each) => each.trim().toLowerCase().split(';'))
  const [, ...parameters] = codings.find(([name]) => name?.trim() === 'gzip') ??
    codings.find(([name]) => name?.trim() === '*') ?? ['', 'q=0']
  return !parameters.some((each) => /^q=0(\.0*)?$/.test(each.trim()))
}
