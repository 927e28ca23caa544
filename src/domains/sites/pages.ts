import type { App } from '../../core/context.ts'
import { type Id, isId } from '../../core/ids.ts'
import { isCleanUrl } from '../../core/input/texts.ts'
import type { Site } from '../../generated/prisma/client.ts'

/**
 * Whether an external id is the address of a page of the site. It begins with the origin as it is
 * written: the URL parser takes others for the same.
 */
export function isPageOf({ origins }: Site, externalId: string): boolean {
  const origin = origins.find((each) => externalId.startsWith(`${each}/`))
  return origin !== undefined && isCleanUrl(externalId) && URL.canParse(externalId)
}

/** Whether a comment, in any state, is on a page of the site. */
export async function isCommentOf({ prisma }: App, site: Site, commentId: Id): Promise<boolean> {
  if (!isId(commentId)) return false
  const comment = await prisma.comment.findUnique({
    where: { tenantId_id: { tenantId: site.tenantId, id: commentId } },
    select: { discussion: { select: { externalId: true } } },
  })
  return comment !== null && isPageOf(site, comment.discussion.externalId)
}

/** Whether a discussion belongs to a page of the site. */
export async function isDiscussionOf({ prisma }: App, site: Site, discussionId: Id): Promise<boolean> {
  const where = { tenantId_id: { tenantId: site.tenantId, id: discussionId } }
  const discussion = await prisma.discussion.findUnique({ where, select: { externalId: true } })
  return discussion !== null && isPageOf(site, discussion.externalId)
}
