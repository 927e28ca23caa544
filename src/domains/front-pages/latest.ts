import { z } from 'zod'

import { type Ctx, perApp, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { validate } from '../../core/input/validate.ts'
import { roomOf } from '../../core/cache.ts'
import { createReadCache } from '../../core/read-cache.ts'
import type { Prisma } from '../../core/sql.ts'
import type { Comment } from '../comments/comment.ts'
import { findComment } from '../comments/comments.ts'
import { findDiscussion } from '../discussions/discussions.ts'
import type { Discussion } from '../discussions/fields.ts'

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

const newestOf = perApp((app) =>
  createReadCache({
    room: roomOf(app, 'frontPages'),
    part: 0.5,
    maxAgeMs: KEPT_MS,
    read: (tenantId) => findNewest(app.prisma, tenantId),
  }),
)

/** The ids of the newest approved comments, newest first. */
export async function findNewest({ comment }: Prisma, tenantId: Id): Promise<readonly Id[]> {
  const select = { id: true, status: true } as const
  const newest = { where: { tenantId }, orderBy: { id: 'desc' }, take: SEARCHED_LATEST, select } as const
  const rows = await comment.findMany(newest)
  return rows.filter(({ status }) => status === 'approved').map(({ id }) => id)
}

/**
 * The newest approved comments over the tenant's discussions, newest first. One that was approved
 * late stands where it was posted. Throws `validation_failed`.
 */
export async function listLatestComments(ctx: Ctx, args: { limit?: number | null | undefined }) {
  const { limit } = validate(limitSchema, { limit: args.limit ?? 10 })
  const ids = await newestOf(ctx.app).get(requireCaller(ctx).tenant.id)
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
  return discussion && { comment, discussion }
}
