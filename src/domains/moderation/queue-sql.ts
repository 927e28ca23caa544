import { FIRST_ID, type Id, LAST_ID } from '../../core/ids.ts'
import { type Sql, type Statement, statement } from '../../core/sql.ts'
import type { HoldReason } from '../comments/rules.ts'
import { COMMENT_COLUMNS, type CommentRow } from '../comments/sql.ts'

export const QUEUE_STATUSES = ['pending', 'reported', 'rejected'] as const

export type QueueStatus = (typeof QUEUE_STATUSES)[number]

const queue = (status: QueueStatus, condition: string, order: 'ASC' | 'DESC'): Statement =>
  statement(
    `queue_${status}`,
    `SELECT ${COMMENT_COLUMNS}, c.report_count AS "reportCount", c.reports_answered AS "reportsAnswered",
       c.hold_reason AS "holdReason"
     FROM comments c LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
     WHERE c.tenant_id = $1 AND ${condition} AND c.id ${order === 'ASC' ? '>' : '<'} $2
     ORDER BY c.id ${order} LIMIT $3`,
  )

// Each has a partial index in its own order.
const QUEUES: Readonly<Record<QueueStatus, Statement>> = {
  pending: queue('pending', "c.status = 'pending'", 'ASC'),
  reported: queue(
    'reported',
    "(c.report_count > c.reports_answered OR c.flagged) AND c.status IN ('approved', 'pending')",
    'ASC',
  ),
  rejected: queue('rejected', "c.status = 'rejected'", 'DESC'),
}

export interface QueueRow extends CommentRow {
  reportCount: number
  reportsAnswered: number
  holdReason: HoldReason | null
}

/** Comments after `after` in the order of their queue. */
export function listQueue(
  sql: Sql,
  tenantId: Id,
  status: QueueStatus,
  after: Id | null,
  limit: number,
): Promise<QueueRow[]> {
  const start = status === 'rejected' ? LAST_ID : FIRST_ID
  return sql<QueueRow>(QUEUES[status], [tenantId, after ?? start, limit])
}
