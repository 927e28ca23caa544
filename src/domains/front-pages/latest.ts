import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { validate } from '../../core/input/validate.ts'
import { roomOf } from '../../core/cache.ts'
import { createReadCache } from '../../core/read-cache.ts'
import type { Prisma } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { Comment } from '../comments/comment.ts'
import { findComment } from '../comments/comments.ts'
import { findDiscussion } from '../discussions/discussions.ts'
import type { Discussion } from '../discussions/fields.ts'
import { beginningsOf, isPageOf, isPageSql, SEARCHED_FOR_SITE, siteOf } from '../sites/pages.ts'

/** A comment and its discussion, for a page that shows comments of many. */
export interface LatestComment {
  comment: Comment
  discussion: Discussion
}

/**
 * How many of the tenant's newest comments are looked through: where a flood waits for approval,
 * the list may be short.
 */
export const SEARCHED_LATEST = 500

/** How long the ids are kept. What is shown of each is read for each request. */
const KEPT_MS = 2000

export const limitSchema = z.object({ limit: z.number().int().min(1).max(50) })

/** By tenant, and by the origins of the site whose page asks. */
const newestOf = perApp((app) =>
  createReadCache({
    room: roomOf(app, 'frontPages'),
    part: 0.5,
    maxAgeMs: KEPT_MS,
    read: (key) => {
      const [tenantId = '', ...origins] = key.split(' ')
      return origins.length === 0 ? findNewest(app.prisma, tenantId) : findNewestOf(app, tenantId, origins)
    },
  }),
)

/** The ids of the newest approved comments, newest first. */
export async function findNewest({ comment }: Prisma, tenantId: Id): Promise<readonly Id[]> {
  const select = { id: true, status: true } as const
  const newest = { where: { tenantId }, orderBy: { id: 'desc' }, take: SEARCHED_LATEST, select } as const
  const rows = await comment.findMany(newest)
  return rows.filter(({ status }) => status === 'approved').map(({ id }) => id)
}

/** More than a list has: some may be gone since. */
const MOST_OF_SITE = 100

// The subquery keeps the order: the search ends at the last of `MOST_OF_SITE`. A limit that the
// plan knows is more rows than it expects without statistics: it would sort all that there are.
const NEWEST_OF_SITE = statement(
  'newest_comments_of_site',
  `SELECT id FROM (
     SELECT id, discussion_id, status FROM comments WHERE tenant_id = $1 ORDER BY id DESC LIMIT (SELECT $2::int)
   ) newest
   WHERE status = 'approved' AND EXISTS (
     SELECT FROM discussions WHERE tenant_id = $1 AND id = newest.discussion_id
     AND ${isPageSql('external_id', '$3')} OFFSET 0)
   ORDER BY id DESC LIMIT $4`,
)

/** The newest comments of the pages of some origins. */
async function findNewestOf({ db }: App, tenantId: Id, origins: readonly string[]): Promise<readonly Id[]> {
  const params = [tenantId, SEARCHED_FOR_SITE, beginningsOf(origins), MOST_OF_SITE]
  return (await db.query<{ id: Id }>(NEWEST_OF_SITE, params)).map(({ id }) => id)
}

/**
 * The newest approved comments over the tenant's discussions, or those of the site whose page asks,
 * newest first. One that was approved late stands where it was posted. Throws `validation_failed`.
 */
export async function listLatestComments(ctx: Ctx, args: { limit?: number | null | undefined }) {
  const { limit } = validate(limitSchema, { limit: args.limit ?? 10 })
  const { tenant } = requireCaller(ctx)
  const ids = await newestOf(ctx.app).get([tenant.id, ...(siteOf(ctx)?.origins ?? [])].join(' '))
  const found: LatestComment[] = []
  // Few are gone since: most often one round is enough.
  for (let from = 0; found.length < limit && from < ids.length; from += limit) {
    const round = await Promise.all(ids.slice(from, from + limit).map((id) => latestOf(ctx, id)))
    found.push(...round.filter((each) => each !== null))
  }
  return found.slice(0, limit)
}

async function latestOf(ctx: Ctx, id: Id): Promise<LatestComment | null> {
  const comment = await findComment(ctx, id)
  if (comment === null || comment.status !== 'approved') return null
  const discussion = await findDiscussion(ctx, comment.discussionId)
  return discussion !== null && isListed(ctx, discussion) ? { comment, discussion } : null
}

/** Whether a discussion is in lists for the caller: it may have another external id by now. */
export function isListed(ctx: Ctx, { externalId }: Discussion): boolean {
  const site = siteOf(ctx)
  return site === null || isPageOf(site, externalId)
}
