import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { statement } from '../../core/database/statements.ts'
import { validate } from '../../core/input/validate.ts'
import { DISCUSSION_COLUMNS, type Discussion, type DiscussionRow, toDiscussion } from '../discussions/fields.ts'
import { IS_HERE } from '../discussions/row.ts'
import { PROFILE, type Reader } from '../readers/fields.ts'
import { beginningsOf, isPageSql, SEARCHED_FOR_SITE } from '../sites/pages.ts'
import { checkKept, type Period, type PeriodArgs, periodOf } from './period.ts'

/** A discussion, and the number of its approved comments in the period. */
export interface TopDiscussion {
  discussion: Discussion
  comments: number
}

/** A reader, and the number of their approved comments in the period. */
export interface TopReader {
  reader: Reader
  comments: number
}

export interface Top extends Period {
  discussions: TopDiscussion[]
  readers: TopReader[]
}

// 92 days at most: readers are counted by the day, and a year of a large site has millions of such
// rows.
const RULE = { interval: 'day', usual: 7, most: 92 } as const

const limitSchema = z.object({ limit: z.number().int().min(1).max(50) })

interface TopArgs extends PeriodArgs {
  limit?: number | null | undefined
}

/**
 * The discussions and readers with the most approved comments in a period of days, exact as of now
 * (or of a replica's state). Throws `validation_failed`, also for days that are no longer kept.
 */
export async function getTop(ctx: Ctx, args: TopArgs): Promise<Top> {
  const { tenant } = requireCaller(ctx)
  const { limit } = validate(limitSchema, { limit: args.limit ?? 10 })
  const now = new Date()
  const period = periodOf(args, RULE, now)
  checkKept(period, tenant.settings.analyticsRetentionDays, now)
  const [discussions, readers] = await Promise.all([
    mostDiscussed(ctx.app, tenant.id, period, limit),
    selectTopReaders(ctx.app, tenant.id, period, limit),
  ])
  return { ...period, discussions, readers }
}

/**
 * The subjects with the most approved comments of a period, counted over folded days and waiting
 * deltas.
 */
const most = (subject: 'discussion_id' | 'reader_id', days: string): string => `
  SELECT ${subject} AS subject, sum(n)::int AS comments FROM (
    SELECT ${subject}, comments_approved AS n FROM ${days} AND tenant_id = $1 AND at >= $2 AND at < $3
    UNION ALL
    SELECT ${subject}, n FROM analytics_deltas
    WHERE tenant_id = $1 AND metric = 'comments_approved' AND hour >= $2 AND hour < $3 AND ${subject} IS NOT NULL
  ) parts
  GROUP BY 1 HAVING sum(n) > 0 ORDER BY 2 DESC, 1 LIMIT $4`

// A generic plan expects few rows in a period, and fetches each of a hundred thousand from its own
// block: 74 700 blocks for 89 days instead of 1 200.
const PLANNED = { isPlannedEachTime: true }

const DISCUSSIONS = statement(
  'analytics_top_discussions',
  `SELECT ${DISCUSSION_COLUMNS}, top.comments
   FROM (${most('discussion_id', 'analytics_discussions WHERE true')}) top
   JOIN discussions ON tenant_id = $1 AND id = top.subject AND ${IS_HERE}
   WHERE $5::text[] IS NULL OR ${isPageSql('external_id', '$5')}
   ORDER BY top.comments DESC, id LIMIT $6`,
  PLANNED,
)

/**
 * The discussions with the most approved comments in a period of days; with `origins`, of their
 * pages alone.
 */
export async function mostDiscussed(
  app: App,
  tenantId: Id,
  { from, to }: Pick<Period, 'from' | 'to'>,
  limit: number,
  origins: readonly string[] = [],
): Promise<TopDiscussion[]> {
  const isOfAll = origins.length === 0
  const params = [
    tenantId,
    from,
    to,
    isOfAll ? limit : SEARCHED_FOR_SITE,
    isOfAll ? null : beginningsOf(origins),
    limit,
  ]
  const rows = await app.late.query<DiscussionRow & { comments: number }>(DISCUSSIONS, params)
  return rows.map(({ comments, ...row }) => ({ discussion: toDiscussion(row), comments }))
}

const READERS = statement(
  'analytics_top_readers',
  most('reader_id', "analytics_activity WHERE interval = 'day'"),
  PLANNED,
)

const SELECTED = Object.fromEntries(PROFILE.map((name) => [name, true])) as Record<keyof Reader, true>

/** Profiles are read from the primary: a replica may still have those of erased readers. */
async function selectTopReaders(app: App, tenantId: Id, { from, to }: Period, limit: number): Promise<TopReader[]> {
  const top = await app.late.query<{ subject: Id; comments: number }>(READERS, [tenantId, from, to, limit])
  const ids = top.map(({ subject }) => subject)
  const where = { tenantId, id: { in: ids } }
  const readers = ids.length === 0 ? [] : await app.prisma.reader.findMany({ where, select: SELECTED })
  const byId = new Map(readers.map((reader) => [reader.id, reader]))
  return top.flatMap(({ subject, comments }) => {
    const reader = byId.get(subject)
    return reader === undefined ? [] : [{ reader, comments }]
  })
}
