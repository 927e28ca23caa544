import type { RouteHandlerMethod } from 'fastify'
import { print } from 'graphql'

import { anonymous, type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import { findPageVersion } from '../../domains/comments/version.ts'
import { viewerReactions } from '../../domains/reactions/read.ts'
import { viewerInShadow } from '../../domains/readers/readers.ts'
import type { CompiledRoute, Variables } from '../rest/handler.ts'
import type { Route } from '../../schema/route.ts'
import { JSON_TYPE, restRequest } from './body.ts'
import { encodePage, type EncodedPage, personalPage } from './encoded-page.ts'
import { takesGzip } from './encoding.ts'
import { digest, pageHeaders, sendTagged, tagsOf, weakTag } from './etags.ts'
import { pageCache } from './page-cache.ts'

/**
 * A part of each tag. Change it when pages of the same comments look different from a release on:
 * the clients' copies are then outdated, although no event has said so.
 */
const PAGE_RULE = 'tombstones of all comments with replies'

/**
 * Answers pages of a discussion's comments: 304 to a client that has the page, else the cached
 * page, or one that is made once for all concurrent requests. The cache has the page without an
 * identity; the reader's own reactions are inserted.
 *
 * Every request looks the version up before it reads the page. So a page is at least as new as its
 * version's commit; if it is newer, the next request has another version and leaves it.
 */
export function servePages(route: Route, { read, run }: CompiledRoute): RouteHandlerMethod {
  const form = digest(`${PAGE_RULE} ${print(route.document)}`)
  return async (request, reply) => {
    const { ctx } = request
    const variables = read(ctx, restRequest(request))
    const { tenant, identity } = requireCaller(ctx)
    // First, because the assertion may bring a profile that the page shows.
    const inShadow = (await viewerInShadow(ctx)) !== null
    const found = await findPageVersion(ctx, variables)
    // The operation reports the error itself.
    if (found === null) return reply.type(JSON_TYPE).send(JSON.stringify((await run(ctx, variables)).body))
    const { discussionId, version } = found
    const key = `${tenant.id} ${discussionId} ${form} ${scopeOf(ctx, variables)} ${queryOf(variables)}`
    const etag = weakTag(`${key} ${version} ${identity?.externalId ?? ''}`)
    const cache = pageCache(ctx.app)
    const headers = () => {
      const all = pageHeaders(request, etag)
      return cache.variesByEncoding(key, version) ? { ...all, vary: `${all.vary}, Accept-Encoding` } : all
    }
    const known = tagsOf(request)
    // Nobody else gets the page of a viewer banned in shadow.
    if (inShadow) return sendTagged(request, reply, { text: JSON.stringify((await run(ctx, variables)).body) })
    // Only a page can have had this tag, never a refusal; for `*` it is checked whether the page
    // exists.
    if (known.includes(etag)) {
      cache.notModified()
      return reply.code(304).headers(headers()).send()
    }
    const page = await cache.get(key, version, async () => encodePage((await run(anonymous(ctx), variables)).body))
    void reply.headers(headers())
    if (known.includes('*')) return reply.code(304).send()
    const bytes = identity === null ? page.bytes : await personal(ctx, page)
    // A page with the reader's own reactions is not shared, so it is not cached.
    const isShared = bytes === page.bytes && takesGzip(request.headers['accept-encoding'])
    const gzipped = isShared ? await cache.gzipped(key, version) : null
    if (gzipped !== null) void reply.header('content-encoding', 'gzip')
    return reply.type(JSON_TYPE).send(gzipped ?? bytes)
  }
}

async function personal(ctx: Ctx, page: EncodedPage): Promise<Buffer> {
  const reacted = page.slots.filter(({ hasReactions }) => hasReactions).map(({ commentId }) => commentId)
  return reacted.length === 0 ? page.bytes : personalPage(page, await viewerReactions(ctx, reacted))
}

/** Pages below a comment out of view exist only for moderators, and are cached for them. */
function scopeOf(ctx: Ctx, { parentId }: Variables): string {
  const isForModerators = parentId != null && hasCapability(requireCaller(ctx).actor, 'moderate_content')
  return isForModerators ? 'moderators' : 'all'
}

/** The variables other than those that name the discussion, in the fixed order of `read`. */
const queryOf = ({ id: _id, externalId: _externalId, ...query }: Variables): string => JSON.stringify(query)
