import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { AnalyticsMetric } from '../../generated/prisma/enums.ts'
import { ANALYTICS_METRICS, SUMMED, turns } from './metrics.ts'
import { type Interval, INTERVAL_MS, type Period, type PeriodArgs, periodOf } from './period.ts'

/** The numbers of one period. */
export interface Counts {
  /** By their present state. */
  comments: { pending: number; approved: number; rejected: number; deleted: number }
  reactions: number
  reports: number
  deliveries: { pending: number; delivered: number; failed: number; held: number; cancelled: number }
}

/** The numbers of one hour or day. */
export interface Bucket extends Counts {
  at: Date
  activeReaders: number
}

export interface Summary extends Period {
  interval: Interval
  totals: Counts
  /** One entry for each bucket of the period, in order, empty buckets included. */
  series: Bucket[]
}

const RULES = {
  hour: { interval: 'hour', usual: 24, most: 8784 },
  day: { interval: 'day', usual: 30, most: 1000 },
} as const

interface SummaryArgs extends PeriodArgs {
  interval?: Interval | null | undefined
}

/**
 * The activity of a period, by hour or day, exact as of now (or of a replica's state). Throws
 * `validation_failed` for a wrong period.
 */
export async function getSummary(ctx: Ctx, args: SummaryArgs): Promise<Summary> {
  const { tenant } = requireCaller(ctx)
  const interval = args.interval ?? 'day'
  const period = periodOf(args, RULES[interval], new Date())
  const rows = await selectBuckets(ctx.app.late.query, tenant.id, interval, period)
  const byTime = new Map(rows.map((row) => [row.at, row]))
  const series: Bucket[] = []
  for (let at = period.from.getTime(); at < period.to.getTime(); at += INTERVAL_MS[interval]) {
    const row = byTime.get(at)
    series.push({
      at: new Date(at),
      activeReaders: row?.active_readers ?? 0,
      ...countsOf(row === undefined ? [] : [row]),
    })
  }
  return { interval, ...period, totals: countsOf(rows), series }
}

function countsOf(rows: readonly BucketRow[]): Counts {
  const sum = (column: keyof BucketRow): number => rows.reduce((total, row) => total + row[column], 0)
  return {
    comments: {
      pending: sum('comments_pending'),
      approved: sum('comments_approved'),
      rejected: sum('comments_rejected'),
      deleted: sum('comments_deleted'),
    },
    reactions: sum('reactions'),
    reports: sum('reports'),
    deliveries: {
      pending: sum('deliveries_pending'),
      delivered: sum('deliveries_delivered'),
      failed: sum('deliveries_failed'),
      held: sum('deliveries_held'),
      cancelled: sum('deliveries_cancelled'),
    },
  }
}

/** The numbers of one bucket, by column name. */
type BucketRow = Record<AnalyticsMetric | 'active_readers', number> & {
  /** Milliseconds since 1970. */
  at: number
}

const COLUMNS = ANALYTICS_METRICS.join(', ')
const ZEROS = ANALYTICS_METRICS.map(() => '0').join(', ')
const TOTALS = [...ANALYTICS_METRICS, 'active_readers'].map((column) => `sum(${column})::int AS ${column}`).join(', ')

// Reads the rollups and the waiting deltas in one statement, so of one instant: each delta counts
// once.
const BUCKETS = statement(
  'analytics_buckets',
  `WITH waiting AS MATERIALIZED (
     SELECT date_trunc($2::text, hour, 'UTC') AS at, reader_id, metric, n FROM analytics_deltas
     WHERE tenant_id = $1 AND hour >= $3 AND hour < $4
   ),
   turned AS (
     SELECT w.at, sum(${turns('coalesce(o.actions, 0)', 'w.n')}) AS active_readers
     FROM (SELECT at, reader_id, sum(n) AS n FROM waiting WHERE reader_id IS NOT NULL GROUP BY 1, 2) w
     LEFT JOIN LATERAL (
       SELECT actions FROM analytics_activity
       WHERE tenant_id = $1 AND interval = $2::text::analytics_interval AND at = w.at AND reader_id = w.reader_id LIMIT 1
     ) o ON true
     GROUP BY 1
   )
   SELECT (extract(epoch FROM at) * 1000)::float8 AS at, ${TOTALS}
   FROM (
     SELECT at, ${COLUMNS}, active_readers FROM analytics_buckets
     WHERE tenant_id = $1 AND interval = $2::text::analytics_interval AND at >= $3 AND at < $4
     UNION ALL
     SELECT at, ${SUMMED}, 0 FROM waiting GROUP BY at
     UNION ALL
     SELECT at, ${ZEROS}, active_readers FROM turned
   ) parts
   GROUP BY 1`,
)

/** The buckets of a period that are not empty, in no order. */
const selectBuckets = (sql: Sql, tenantId: Id, interval: Interval, { from, to }: Period): Promise<BucketRow[]> =>
  sql(BUCKETS, [tenantId, interval, from, to])
