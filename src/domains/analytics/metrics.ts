import type { AnalyticsMetric } from '../../generated/prisma/enums.ts'

/**
 * The counted things, each a column of the rollups. Triggers of the database write these names into
 * the deltas.
 */
export const ANALYTICS_METRICS = [
  'comments_pending',
  'comments_approved',
  'comments_rejected',
  'comments_deleted',
  'reactions',
  'reports',
  'deliveries_pending',
  'deliveries_delivered',
  'deliveries_failed',
  'deliveries_held',
  'deliveries_cancelled',
] as const satisfies readonly AnalyticsMetric[]

/** SQL select list: the sum of deltas by metric, each under its column's name. */
export const SUMMED = ANALYTICS_METRICS.map(
  (metric) => `coalesce(sum(n) FILTER (WHERE metric = '${metric}'), 0) AS ${metric}`,
).join(', ')

/**
 * How a reader's net actions change the number of active readers of a bucket. `before` and `by` are
 * SQL: the reader's earlier net actions in the bucket, and the change.
 */
export const turns = (before: string, by: string): string => `(${before} + ${by} > 0)::int - (${before} > 0)::int`
