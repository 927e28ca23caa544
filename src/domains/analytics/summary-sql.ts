import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { METRICS, type Metric, SUMMED, turns } from './metrics.ts'
import type { Interval, Span } from './span.ts'

/** The numbers of one bucket, by the names of their columns. */
export type BucketRow = Record<Metric | 'active_readers', number> & {
  /** Milliseconds since 1970. */
  at: number
}

const COLUMNS = METRICS.join(', ')
const ZEROS = METRICS.map(() => '0').join(', ')
const TOTALS = [...METRICS, 'active_readers'].map((column) => `sum(${column})::int AS ${column}`).join(', ')

// The rollups and what waits to be folded into them, in one statement and so of one instant: each
// delta is seen once.
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

/** Buckets of a span that have anything in them, in no order. */
export const selectBuckets = (sql: Sql, tenantId: Id, interval: Interval, { from, to }: Span): Promise<BucketRow[]> =>
  sql<BucketRow>(BUCKETS, [tenantId, interval, from, to])
