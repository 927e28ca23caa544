import { type Ctx, perApp, requireCaller } from '../../core/context.ts'
import { validate } from '../../core/input/validate.ts'
import { roomOf } from '../../core/cache.ts'
import { createReadCache } from '../../core/read-cache.ts'
import { findDiscussion } from '../discussions/discussions.ts'
import { mostDiscussed as select, type TopDiscussion } from '../analytics/top.ts'
import { limitSchema } from './latest.ts'

/** How many UTC days each window has. The last one is today, which is not over. */
export const WINDOWS = { day: 2, week: 7, month: 30 } as const

export type Window = keyof typeof WINDOWS

const DAY_MS = 86_400_000

/** How long the numbers are kept: a month of a large site has many rows. */
const KEPT_MS = 30_000

const MOST = 50

/** By tenant and window: the discussions with the most comments. */
const countedOf = perApp((app) =>
  createReadCache({
    room: roomOf(app, 'frontPages'),
    part: 0.5,
    maxAgeMs: KEPT_MS,
    read: (key) => {
      const [tenantId, window] = key.split(' ') as [string, Window]
      const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
      const period = { from: new Date(today - (WINDOWS[window] - 1) * DAY_MS), to: new Date(today + DAY_MS) }
      return select(app, tenantId, period, MOST)
    },
  }),
)

/**
 * The discussions with the most approved comments that were posted in a window, the most first.
 * Throws `validation_failed`.
 */
export async function listMostDiscussed(
  ctx: Ctx,
  { window, ...args }: { window?: Window | null | undefined; limit?: number | null | undefined },
): Promise<TopDiscussion[]> {
  const { limit } = validate(limitSchema, { limit: args.limit ?? 10 })
  const counted = await countedOf(ctx.app).get(`${requireCaller(ctx).tenant.id} ${window ?? 'day'}`)
  // As they are now: one that was deleted since is left out.
  const present = await Promise.all(
    counted.map(async ({ discussion: { id }, comments }) => {
      const discussion = await findDiscussion(ctx, id)
      return discussion && { discussion, comments }
    }),
  )
  return present.filter((each) => each !== null).slice(0, limit)
}
