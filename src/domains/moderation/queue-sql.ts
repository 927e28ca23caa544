import { FIRST_ID, type Id, LAST_ID } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId, COUNT_LIMIT, type Measured, upToBytes } from '../../core/database/lists.ts'
import { statement, type StatementOf } from '../../core/database/statements.ts'
import type { HoldDetail } from '../comments/hold-details.ts'
import type { HoldReason } from '../comments/rules.ts'
import { COMMENT_BYTES, COMMENT_COLUMNS, type CommentRow } from '../comments/comment.ts'
import { QUEUE_CONDITIONS, type QueueStatus } from '../comments/queues.ts'
import { claimsMark } from './claims/claims-sql.ts'

/** SQL: the columns of a `QueueRow`. */
export const QUEUE_COLUMNS = `${COMMENT_COLUMNS}, c.report_count AS "reportCount",
  c.reports_answered AS "reportsAnswered", c.hold_reason AS "holdReason", c.hold_details AS "holdDetails",
  c.reviewed_at AS "reviewedAt"`

// The order of its partial index.
const ORDERS: Readonly<Record<QueueStatus, 'ASC' | 'DESC'>> = { pending: 'ASC', reported: 'ASC', rejected: 'DESC' }

type Scope = '' | '_of_discussion'

const queue = (status: QueueStatus, name: Scope, scope: string, fixed: string[]): StatementOf<QueueRow> =>
  statement(
    `queue_${status}${name}`,
    upToBytes(
      `SELECT ${QUEUE_COLUMNS}
     FROM comments c LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
     WHERE c.tenant_id = $1 ${scope} AND ${QUEUE_CONDITIONS[status]} AND c.id ${ORDERS[status] === 'ASC' ? '>' : '<'} $2
       AND ${anyId(...fixed)}
     ORDER BY c.id ${ORDERS[status]} LIMIT $3`,
      COMMENT_BYTES,
    ),
  )

// Two statements for each queue, so that each is planned with its own index.
const queues = (name: Scope, scope: string, fixed: string[]): Readonly<Record<QueueStatus, StatementOf<QueueRow>>> => ({
  pending: queue('pending', name, scope, fixed),
  reported: queue('reported', name, scope, fixed),
  rejected: queue('rejected', name, scope, fixed),
})

const QUEUES = queues('', '', ['c.tenant_id', 'c.id'])
const QUEUES_OF_DISCUSSION = queues('_of_discussion', 'AND c.discussion_id = $4', ['c.discussion_id'])

export interface QueueRow extends CommentRow, Measured {
  reportCount: number
  reportsAnswered: number
  holdReason: HoldReason | null
  holdDetails: HoldDetail[] | null
  reviewedAt: Date | null
}

interface QueuePlace {
  status: QueueStatus
  /** Null: all discussions. */
  discussionId: Id | null
  after: Id | null
  limit: number
}

/** Comments after `after`, in the order of the queue. */
export function listQueue(
  sql: Sql,
  tenantId: Id,
  { status, discussionId, after, limit }: QueuePlace,
): Promise<QueueRow[]> {
  const start = after ?? (ORDERS[status] === 'ASC' ? FIRST_ID : LAST_ID)
  return discussionId === null
    ? sql<QueueRow>(QUEUES[status], [tenantId, start, limit])
    : sql<QueueRow>(QUEUES_OF_DISCUSSION[status], [tenantId, start, limit, discussionId])
}

// In the order of the index: the planner expects a third of all comments to have been reported, and
// would read the table to find as many as are counted.
const first = (status: QueueStatus, tenantId: string): string =>
  `FROM comments c WHERE c.tenant_id = ${tenantId} AND ${QUEUE_CONDITIONS[status]} AND ${anyId('c.tenant_id', 'c.id')}
   ORDER BY c.id ${ORDERS[status]} LIMIT $2`

const upTo = (status: QueueStatus): string => `(SELECT count(*) FROM (SELECT 1 ${first(status, '$1')}) AS bounded)`

const COUNT = statement('count_queues', `SELECT ${upTo('pending')} AS pending, ${upTo('reported')} AS reported`)

/** The number of comments in each queue, counted up to COUNT_LIMIT. */
export type QueueCounts = Record<'pending' | 'reported', number>

export const countQueues = async (sql: Sql, tenantId: Id): Promise<QueueCounts> =>
  (await sql<QueueCounts>(COUNT, [tenantId, COUNT_LIMIT]))[0] ?? { pending: 0, reported: 0 }

/** The state of a tenant's queues. */
export interface QueueState extends QueueCounts {
  tenantId: Id
  /**
   * Changes with anything that moderators see of the first COUNT_LIMIT comments of each queue, and
   * with claims.
   */
  mark: string
}

// A hash of the comments' states, independent of their order: each queue has a comment only once.
const state = (status: QueueStatus): string => `CROSS JOIN LATERAL (
  SELECT count(*) AS n, coalesce(bit_xor(hashtextextended(concat_ws(' ', id, status, revision, report_count,
    reports_answered, flagged, hold_reason, pinned_at IS NULL), 0)), 0) AS mark
  FROM (SELECT c.* ${first(status, 'wanted.id')}) AS bounded
) AS ${status}`

const READ_STATES = statement(
  'read_queue_states',
  `SELECT wanted.id AS "tenantId", pending.n AS pending, reported.n AS reported,
     concat_ws(' ', pending.n, pending.mark, reported.n, reported.mark, rejected.n, rejected.mark, claims.mark) AS mark
   FROM unnest($1::uuid[]) AS wanted(id)
   ${state('pending')} ${state('reported')} ${state('rejected')}
   CROSS JOIN LATERAL (${claimsMark('wanted.id', '$2')}) AS claims`,
)

/** The state of each tenant's queues. 0.1 ms for a short queue, 5 ms if all are full. */
export const readQueueStates = (sql: Sql, tenantIds: readonly Id[]): Promise<QueueState[]> =>
  sql<QueueState>(READ_STATES, [tenantIds, COUNT_LIMIT])
