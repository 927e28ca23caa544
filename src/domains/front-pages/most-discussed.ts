import { requireCaller } from '../../core/access.ts'
import { perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { validate } from '../../core/input/validate.ts'
import { roomOf } from '../../core/cache.ts'
import { createReadCache } from '../../core/read-cache.ts'
import { findDiscussion } from '../discussions/discussions.ts'
import { mostDiscussed as select, type TopDiscussion } from '../analytics/top.ts'
import { siteOf } from '../sites/pages.ts'
import { isListed, limitSchema } from './latest.ts'

/** How many UTC days each window has. The last one is today, which is not over. */
export const WINDOWS = { day: 2, week: 7, month: 30 } as const

export type Window = keyof typeof WINDOWS

const DAY_MS = 86_400_000

/** How long the numbers are kept: a month of a large site has many rows. */
const KEPT_MS = 30_000

const MOST = 50

/**
 * By tenant, window, and the origins of the site whose page asks: the discussions with the most
 * comments.
 */
const countedOf = perApp((app) =>
  createReadCache({
    room: roomOf(app, 'frontPages'),
    part: 0.5,
    maxAgeMs: KEPT_MS,
    read: async (key) => {
      const [tenantId, window, ...origins] = key.split(' ') as [string, Window, ...string[]]
      const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
      const period = { from: new Date(today - (WINDOWS[window] - 1) * DAY_MS), to: new Date(today + DAY_MS) }
      const found = await select(app, tenantId, period, MOST, origins)
      return found.map(({ discussion: { id }, comments }) => ({ id, comments }))
    },
  }),
)

/**
 * The discussions with the most approved comments that were posted in a window, the most first; for
 * a page of a site, those of the site. Throws `validation_failed`.
 */
export async function listMostDiscussed(
  ctx: Ctx,
  { window, ...args }: { window?: Window | null | undefined; limit?: number | null | undefined },
): Promise<TopDiscussion[]> {
  const { limit } = validate(limitSchema, { limit: args.limit ?? 10 })
  const { tenant } = requireCaller(ctx)
  const key = [tenant.id, window ?? 'day', ...(siteOf(ctx)?.origins ?? [])].join(' ')
  const counted = await countedOf(ctx.app).get(key)
  // As they are now: one that was deleted since is left out.
  const present = await Promise.all(
    counted.map(async ({ id, comments }) => {
      const discussion = await findDiscussion(ctx, id)
      return discussion !== null && isListed(ctx, discussion) ? { discussion, comments } : null
    }),
  )
  return present.filter((each) => each !== null).slice(0, limit)
}
