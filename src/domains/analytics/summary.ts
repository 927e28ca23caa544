import { type Ctx, requireCaller } from '../../core/context.ts'
import { type Interval, INTERVAL_MS, type Span, type SpanArgs, spanOf } from './span.ts'
import { type BucketRow, selectBuckets } from './summary-sql.ts'

/** Numbers of one stretch of time. */
export interface Counts {
  /** By the state that they are in now. */
  comments: { pending: number; approved: number; rejected: number; deleted: number }
  reactions: number
  reports: number
  deliveries: { pending: number; delivered: number; failed: number; held: number; cancelled: number }
}

/** Numbers of one hour or day. */
export interface Bucket extends Counts {
  at: Date
  activeReaders: number
}

export interface Summary extends Span {
  interval: Interval
  totals: Counts
  /** One for each bucket of the span, in order, also where nothing happened. */
  series: Bucket[]
}

const RULES = {
  hour: { interval: 'hour', usual: 24, most: 8784 },
  day: { interval: 'day', usual: 30, most: 1000 },
} as const

interface SummaryArgs extends SpanArgs {
  interval?: Interval | null | undefined
}

/**
 * What happened in a span of time, by hour or day, exact as of now. Throws `validation_failed` for
 * a wrong span.
 */
export async function getSummary(ctx: Ctx, args: SummaryArgs): Promise<Summary> {
  const { tenant } = requireCaller(ctx)
  const interval = args.interval ?? 'day'
  const span = spanOf(args, RULES[interval], new Date())
  const rows = await selectBuckets(ctx.app.db.query, tenant.id, interval, span)
  const byTime = new Map(rows.map((row) => [row.at, row]))
  const series: Bucket[] = []
  for (let at = span.from.getTime(); at < span.to.getTime(); at += INTERVAL_MS[interval]) {
    const row = byTime.get(at)
    series.push({
      at: new Date(at),
      activeReaders: row?.active_readers ?? 0,
      ...countsOf(row === undefined ? [] : [row]),
    })
  }
  return { interval, ...span, totals: countsOf(rows), series }
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
