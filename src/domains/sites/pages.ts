import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { SiteActor } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { type Id, isId } from '../../core/ids.ts'
import { isCleanUrl } from '../../core/input/texts.ts'

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

/**
 * SQL: whether a discussion is one of `discussionsOf`; each, where `beginnings` is null. Scalar
 * subqueries, which PostgreSQL looks up by key for each row.
 */
export const isOfSiteSql = (tenantId: string, discussionId: string, beginnings: string): string =>
  `(${beginnings}::text[] IS NULL OR coalesce(
     (SELECT true FROM discussions p WHERE p.tenant_id = ${tenantId} AND p.id = ${discussionId}
       AND ${isPageSql('p.external_id', beginnings)} LIMIT 1),
     (SELECT true FROM discussion_aliases f WHERE f.tenant_id = ${tenantId} AND f.discussion_id = ${discussionId}
       AND f.expires_at > now() AND ${isPageSql('f.external_id', beginnings)} LIMIT 1),
     false))`

/** What addresses of the site's pages begin with; null for another caller, who sees all pages. */
export function beginningsFor(ctx: Ctx): string[] | null {
  const site = siteOf(ctx)
  return site && beginningsOf(site.origins)
}

/** What addresses of pages begin with. */
export const beginningsOf = (origins: readonly string[]): string[] => origins.map((each) => `${each}/`)

/** The site whose page asks, and gets lists of its own pages alone; null for another caller. */
export function siteOf(ctx: Ctx): SiteActor | null {
  const { actor } = requireCaller(ctx)
  return actor.kind === 'site' ? actor : null
}

/** What of a site says which pages are its own. */
interface SiteOfPages {
  readonly tenantId: Id
  readonly origins: readonly string[]
}

/**
 * Those of the discussions that belong to pages of the site: by their address, or by a former one
 * that still leads to them. So what a page shows by its address can also be edited there.
 */
export async function discussionsOf(
  { prisma }: Pick<App, 'prisma'>,
  site: SiteOfPages,
  ids: readonly Id[],
): Promise<ReadonlySet<Id>> {
  const { tenantId } = site
  const select = { id: true, externalId: true }
  const found = await prisma.discussion.findMany({ where: { tenantId, id: { in: [...new Set(ids)] } }, select })
  const own = new Set(found.filter(({ externalId }) => isPageOf(site, externalId)).map(({ id }) => id))
  const others = found.map(({ id }) => id).filter((id) => !own.has(id))
  if (others.length === 0) return own
  const former = await prisma.discussionAlias.findMany({
    where: { tenantId, discussionId: { in: others }, expiresAt: { gt: new Date() } },
    select: { discussionId: true, externalId: true },
  })
  for (const { discussionId, externalId } of former) if (isPageOf(site, externalId)) own.add(discussionId)
  return own
}

/** Whether a comment, in any state, is on a page of the site. */
export async function isCommentOf(app: App, site: SiteOfPages, commentId: Id): Promise<boolean> {
  if (!isId(commentId)) return false
  const where = { tenantId_id: { tenantId: site.tenantId, id: commentId } }
  const comment = await app.prisma.comment.findUnique({ where, select: { discussionId: true } })
  return comment !== null && isDiscussionOf(app, site, comment.discussionId)
}

/** Whether a discussion belongs to a page of the site. */
export const isDiscussionOf = async (app: App, site: SiteOfPages, discussionId: Id): Promise<boolean> =>
  isId(discussionId) && (await discussionsOf(app, site, [discussionId])).has(discussionId)
