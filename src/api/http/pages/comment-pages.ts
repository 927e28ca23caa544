import type { RouteHandlerMethod } from 'fastify'
import { print } from 'graphql'

import { anonymous, requireCaller } from '../../../core/access.ts'
import { hasCapability } from '../../../core/caller.ts'
import type { Ctx } from '../../../core/context.ts'
import { hasOwnHeld } from '../../../domains/comments/comments.ts'
import { findPageVersion } from '../../../domains/comments/history/version.ts'
import { decisionsForViewer, mayHaveDecisionFor } from '../../../domains/comments/viewers-decision.ts'
import { viewerReactions } from '../../../domains/comments/viewers-reaction.ts'
import { mutedByViewer } from '../../../domains/readers/mutes/mutes.ts'
import { requireReader, viewerInShadow } from '../../../domains/readers/readers.ts'
import type { CompiledRoute, RestRequest, Variables } from '../../rest/handler.ts'
import type { Route } from '../../../graphql/route.ts'
import { JSON_TYPE, restRequest } from '../body.ts'
import { encodePage, type EncodedPage, personalPage } from './encoded-page.ts'
import { digest, type PageAnswer, type PageRequest, sendPage, tagged } from './etags.ts'
import { keptPage } from './kept-page.ts'

/**
 * A part of each tag. Change it when pages of the same comments look different from a release on:
 * the clients' copies are then outdated, although no event has said so.
 */
export const PAGE_RULE = 'tombstones of all comments with replies, but for their authors'

/**
 * Answers pages of a discussion's comments. The cache has the page without an identity; the
 * reader's own reactions are inserted, and whom they have muted. A page that shows a held comment
 * of the reader, or a decision on one, is made for them alone.
 */
export function pagesOf(
  route: Route,
  { read, run }: CompiledRoute,
): (request: PageRequest, asked: RestRequest) => Promise<PageAnswer> {
  const form = digest(`${PAGE_RULE} ${print(route.document)}`)
  return async (request, asked) => {
    const { ctx } = request
    const variables = read(ctx, asked)
    const { tenant } = requireCaller(ctx)
    // First, because the assertion may bring a profile that the page shows.
    const inShadow = (await viewerInShadow(ctx)) !== null
    const found = await findPageVersion(ctx, variables)
    const ownText = async (): Promise<string> => JSON.stringify((await run(ctx, variables)).body)
    // The operation reports the error itself.
    if (found === null) return { headers: { 'content-type': JSON_TYPE }, bytes: Buffer.from(await ownText()) }
    // Nobody else gets the page of a viewer banned in shadow.
    if (inShadow) return tagged(request, { text: await ownText() })
    const { discussionId, version } = found
    const muted = await mutedByViewer(ctx)
    return keptPage(request, {
      key: `${tenant.id} ${discussionId} ${form} ${scopeOf(ctx, variables)} ${queryOf(variables)}`,
      version,
      type: JSON_TYPE,
      own: [...muted].join(),
      make: async () => encodePage((await run(anonymous(ctx), variables)).body),
      personal: async (page) =>
        (await showsMoreToAuthor(ctx, page)) ? Buffer.from(await ownText()) : withOwn(ctx, page, muted),
    })
  }
}

/** Serves them. */
export function servePages(route: Route, compiled: CompiledRoute): RouteHandlerMethod {
  const answer = pagesOf(route, compiled)
  return async (request, reply) => sendPage(reply, await answer(request, restRequest(request)))
}

const idsOf = (slots: EncodedPage['slots']): string[] => slots.map(({ commentId }) => commentId)

/** Whether the reader sees more of a comment of theirs than others: a held text, or a decision. */
async function showsMoreToAuthor(ctx: Ctx, { slots }: EncodedPage): Promise<boolean> {
  const withheld = idsOf(slots.filter(({ status }) => status === 'withheld'))
  if (withheld.length > 0 && (await hasOwnHeld(ctx, withheld))) return true
  const { id: readerId } = await requireReader(ctx)
  const own = idsOf(slots.filter((slot) => mayHaveDecisionFor(readerId, slot)))
  return own.length > 0 && (await decisionsForViewer(ctx, own)).size > 0
}

async function withOwn(ctx: Ctx, page: EncodedPage, muted: ReadonlySet<string>): Promise<Buffer> {
  const reacted = idsOf(page.slots.filter(({ hasReactions }) => hasReactions))
  const held = reacted.length === 0 ? NONE : await viewerReactions(ctx, reacted)
  return personalPage(page, ({ commentId, authorId }) => {
    const type = held.get(commentId)
    const isMuted = authorId !== null && muted.has(authorId)
    return { ...(type !== undefined && { viewerReaction: type }), ...(isMuted && { authorMuted: true }) }
  })
}

const NONE: ReadonlyMap<string, string> = new Map()

/** Pages below a comment out of view exist only for moderators, and are cached for them. */
function scopeOf(ctx: Ctx, { parentId }: Variables): string {
  const isForModerators = parentId != null && hasCapability(requireCaller(ctx).actor, 'moderate_content')
  return isForModerators ? 'moderators' : 'all'
}

/** The variables other than those that name the discussion, in the fixed order of `read`. */
const queryOf = ({ id: _id, externalId: _externalId, ...query }: Variables): string => JSON.stringify(query)
