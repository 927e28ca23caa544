import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { SiteActor } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { type Id, isId } from '../../core/ids.ts'
import { isCleanUrl } from '../../core/input/texts.ts'
import type { Site } from '../../generated/prisma/client.ts'

/**
 * Whether an external id is the address of a page of the site. It begins with the origin as it is
 * written: the URL parser takes others for the same.
 */
export function isPageOf({ origins }: Pick<SiteActor, 'origins'>, externalId: string): boolean {
  const origin = origins.find((each) => externalId.startsWith(`${each}/`))
  return origin !== undefined && isCleanUrl(externalId) && URL.canParse(externalId)
}

/** How many of the tenant's newest comments, or most discussed pages, are searched for a site's. */
export const SEARCHED_FOR_SITE = 5000

/** What `isCleanUrl` refuses. A text in the database has no surrogates. */
const UNCLEAN = String.raw`[\u0001-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]`

/** SQL: `isPageOf`, where `beginnings` is what `beginningsOf` makes of the origins. */
export const isPageSql = (externalId: string, beginnings: string): string =>
  `(${externalId} ^@ ANY(${beginnings}::text[]) AND ${externalId} !~ '${UNCLEAN}')`

/** What addresses of pages begin with. */
export const beginningsOf = (origins: readonly string[]): string[] => origins.map((each) => `${each}/`)

/** The site whose page asks, and gets lists of its own pages alone; null for another caller. */
export function siteOf(ctx: Ctx): SiteActor | null {
  const { actor } = requireCaller(ctx)
  return actor.kind === 'site' ? actor : null
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

/** Those of the discussions that belong to a page of the site. */
export async function discussionsOf(
  { prisma }: App,
  site: Site,
  discussionIds: readonly Id[],
): Promise<ReadonlySet<Id>> {
  const where = { tenantId: site.tenantId, id: { in: [...discussionIds] } }
  const found = await prisma.discussion.findMany({ where, select: { id: true, externalId: true } })
  return new Set(found.flatMap(({ id, externalId }) => (isPageOf(site, externalId) ? id : [])))
}
