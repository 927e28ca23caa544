import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { DISCUSSION_COLUMNS, type DiscussionRow } from '../discussions/row.ts'
import type { Span } from './span.ts'

/**
 * Those with the most approved comments of a span: the days that are folded, and what waits to be.
 */
const most = (subject: 'discussion_id' | 'reader_id', days: string): string => `
  SELECT ${subject} AS subject, sum(n)::int AS comments FROM (
    SELECT ${subject}, comments_approved AS n FROM ${days} AND tenant_id = $1 AND at >= $2 AND at < $3
    UNION ALL
    SELECT ${subject}, n FROM analytics_deltas
    WHERE tenant_id = $1 AND metric = 'comments_approved' AND hour >= $2 AND hour < $3 AND ${subject} IS NOT NULL
  ) parts
  GROUP BY 1 HAVING sum(n) > 0 ORDER BY 2 DESC, 1 LIMIT $4`

const DISCUSSIONS = statement(
  'analytics_top_discussions',
  `SELECT ${DISCUSSION_COLUMNS}, top.comments
   FROM (${most('discussion_id', 'analytics_discussions WHERE true')}) top
   JOIN discussions ON tenant_id = $1 AND id = top.subject
   ORDER BY top.comments DESC, id`,
)

export const selectTopDiscussions = (
  sql: Sql,
  tenantId: Id,
  { from, to }: Span,
  limit: number,
): Promise<(DiscussionRow & { comments: number })[]> => sql(DISCUSSIONS, [tenantId, from, to, limit])

const READERS = statement(
  'analytics_top_readers',
  `SELECT r.id, r.external_id AS "externalId", r.name, r.avatar_url AS "avatarUrl", r.profile_url AS "profileUrl", top.comments
   FROM (${most('reader_id', "analytics_activity WHERE interval = 'day'")}) top
   JOIN readers r ON r.tenant_id = $1 AND r.id = top.subject
   ORDER BY top.comments DESC, r.id`,
)

interface TopReaderRow {
  id: Id
  externalId: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
  comments: number
}

export const selectTopReaders = (sql: Sql, tenantId: Id, { from, to }: Span, limit: number): Promise<TopReaderRow[]> =>
  sql(READERS, [tenantId, from, to, limit])
