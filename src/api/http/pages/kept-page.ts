import type { FastifyReply } from 'fastify'

import { requireCaller } from '../../../core/access.ts'
import type { EncodedPage } from './encoded-page.ts'
import { takesGzip } from './encoding.ts'
import { type PageAnswer, pageHeaders, type PageRequest, sendPage, tagsOf, weakTag } from './etags.ts'
import { pageCache } from './page-cache.ts'

/** An answer that shows comments of one discussion, and is valid for one version of it. */
interface KeptPage {
  /** Everything else that the answer without an identity depends on. */
  key: string
  version: string
  /** The media type. */
  type: string
  /** Further headers of the request that the answer depends on. */
  vary?: string
  make: () => Promise<EncodedPage>
  /** What the request's reader sees on it that changes without its version. */
  own?: string
  /** The page as the request's reader sees it. */
  personal?: (page: EncodedPage) => Promise<Buffer>
}

/**
 * 304 if the client has the page, else the kept one, or one that is made once for all concurrent
 * requests. Call it after the version was read: then a page is at least as new as
 * its version's commit, and if it is newer, the next request has another version and leaves it.
 * Rejects as `make` does, before anything is written.
 */
export async function keptPage(request: PageRequest, kept: KeptPage): Promise<PageAnswer> {
  const { ctx } = request
  const { key, version, type, vary, make, own = '', personal } = kept
  const { identity } = requireCaller(ctx)
  const etag = weakTag(`${key} ${version} ${own} ${identity?.externalId ?? ''}`)
  const cache = pageCache(ctx.app)
  const headers = () => {
    const all = pageHeaders(request, etag)
    const coding = cache.variesByEncoding(key, version) ? ['Accept-Encoding'] : []
    return { ...all, vary: [all.vary, ...(vary === undefined ? [] : [vary]), ...coding].join(', ') }
  }
  const known = tagsOf(request)
  // Only a page can have had this tag, never a refusal; for `*` it is checked whether the page
  // exists.
  if (known.includes(etag)) {
    cache.notModified()
    return { headers: headers(), bytes: null }
  }
  const page = await cache.get(key, version, make)
  if (known.includes('*')) return { headers: headers(), bytes: null }
  const bytes = identity === null || personal === undefined ? page.bytes : await personal(page)
  // A page with the reader's own reactions is not shared, so it is not cached.
  const isShared = bytes === page.bytes && takesGzip(request.headers['accept-encoding'])
  const gzipped = isShared ? await cache.gzipped(key, version) : null
  const coding = gzipped === null ? {} : { 'content-encoding': 'gzip' }
  return { headers: { ...headers(), ...coding, 'content-type': type }, bytes: gzipped ?? bytes }
}

/** Sends it. */
export const sendKept = async (request: PageRequest, reply: FastifyReply, kept: KeptPage): Promise<FastifyReply> =>
  sendPage(reply, await keptPage(request, kept))
