import { FIRST_ID, firstIdAt, type Id, LAST_ID } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId, upToBytes } from '../../core/database/lists.ts'
import { statement, type StatementOf } from '../../core/database/statements.ts'
import { COMMENT_BYTES } from '../comments/comment.ts'
import { QUEUE_CONDITIONS, type QueueStatus } from '../comments/queues.ts'
import type { HoldReason } from '../comments/rules.ts'
import { QUEUE_COLUMNS, type QueueRow } from './queue-sql.ts'

/** The most comments of a queue that one request looks at, and ranks. */
export const RANKED_CANDIDATES = 10_000

/** `busiest` counts the comments of a discussion over this time. */
const BUSY_HOURS = 24

export type QueueSort = 'oldest' | 'newest' | 'most_reported' | 'busiest'

const DIRECTIONS = { oldest: 'ASC', newest: 'DESC', most_reported: 'ASC', busiest: 'ASC' } as const

const NAMES = { ASC: 'oldest', DESC: 'newest' } as const

type Direction = (typeof DIRECTIONS)[QueueSort]

export interface RankedRow extends QueueRow {
  /** Higher ones come first. */
  rank: number
  /** One row is empty where nothing matches. */
  isMatch: boolean
  /** The last comment that was looked at; null if these were all comments of the queue. */
  end: Id | null
}

/** What a queue is read for. Null stands for any. */
export interface RankedQueue {
  tenantId: Id
  status: QueueStatus
  sort: QueueSort
  discussionId: Id | null
  authorId: Id | null
  reason: HoldReason | null
  /** When the first page was read: the ranks of `busiest` are of this instant. */
  asOf: Date
}

/** A stretch of the queue that is ranked by itself, and where in it a page begins. */
export interface RankedPlace {
  /** The comment before it; null at the beginning of the queue. */
  start: Id | null
  /** Its last comment; null before it is known. */
  end: Id | null
  after: { rank: number; id: Id } | null
}

const SCOPES = {
  tenant: anyId('c.tenant_id', 'c.id'),
  discussion: `c.discussion_id = $5 AND ${anyId('c.discussion_id')}`,
  // All comments of theirs are candidates: no index has the queued ones of an author.
  author: `c.author_id = $6 AND ${anyId('c.author_id')}`,
} as const

type Scope = keyof typeof SCOPES

const IS_QUEUED = `CASE $14 ${Object.entries(QUEUE_CONDITIONS)
  .map(([status, condition]) => `WHEN '${status}' THEN ${condition}`)
  .join(' ')} END`

// Leaving comments change no rank: of a discussion all comments count, whatever their state.
const ranked = (
  name: `${QueueStatus}_of_${Exclude<Scope, 'author'>}` | 'any_of_author',
  scope: Scope,
  status: QueueStatus | null,
  direction: Direction,
): StatementOf<RankedRow> => {
  const [isAfter, isUpTo] = direction === 'ASC' ? ['>', '<='] : ['<', '>=']
  return statement(
    `rank_queue_${name}_${NAMES[direction]}`,
    upToBytes(
      `WITH near AS MATERIALIZED (
         SELECT c.id, c.discussion_id, c.author_id, c.hold_reason, c.report_count - c.reports_answered AS open_reports,
           ${status === null ? IS_QUEUED : 'true'} AS is_queued
         FROM comments c
         WHERE c.tenant_id = $1 AND ${SCOPES[scope]} ${status === null ? '' : `AND ${QUEUE_CONDITIONS[status]}`}
           AND c.id ${isAfter} $2 AND c.id ${isUpTo} $3
         ORDER BY c.id ${direction} LIMIT $4
       ),
       busy AS MATERIALIZED (
         SELECT discussion_id, count(*)::int AS comments FROM (
           SELECT c.discussion_id FROM comments c
           WHERE $8 = 'busiest' AND c.tenant_id = $1 AND c.id > $9 AND c.id < $10 AND ${anyId('c.tenant_id', 'c.id')}
           ORDER BY c.id DESC LIMIT $4
         ) recent GROUP BY discussion_id
       ),
       found AS MATERIALIZED (
         SELECT n.id, r.rank FROM near n LEFT JOIN busy ON busy.discussion_id = n.discussion_id
         CROSS JOIN LATERAL (
           SELECT CASE $8 WHEN 'most_reported' THEN n.open_reports WHEN 'busiest' THEN coalesce(busy.comments, 0) ELSE 0 END AS rank
         ) r
         WHERE n.is_queued AND ($5::uuid IS NULL OR n.discussion_id = $5) AND ($6::uuid IS NULL OR n.author_id = $6)
           AND ($7::text IS NULL OR n.hold_reason = $7)
           AND ($11::int IS NULL OR r.rank < $11 OR (r.rank = $11 AND n.id ${isAfter} $12::uuid))
         ORDER BY r.rank DESC, n.id ${direction} LIMIT $13
       )
       SELECT ${QUEUE_COLUMNS}, coalesce(found.rank, 0) AS rank, c.id IS NOT NULL AS "isMatch", looked."end"
       FROM (
         SELECT CASE WHEN (SELECT count(*) FROM near) = $4 THEN (SELECT id FROM near ORDER BY id ${direction === 'ASC' ? 'DESC' : 'ASC'} LIMIT 1) END AS "end"
       ) looked
       LEFT JOIN found ON true
       LEFT JOIN LATERAL (SELECT * FROM comments WHERE tenant_id = $1 AND id = found.id LIMIT 1) c ON true
       LEFT JOIN LATERAL (SELECT * FROM readers WHERE tenant_id = c.tenant_id AND id = c.author_id LIMIT 1) r ON true
       ORDER BY found.rank DESC, found.id ${direction}`,
      COMMENT_BYTES,
    ),
  )
}

type ByDirection = Readonly<Record<Direction, StatementOf<RankedRow>>>

const ofEach = (scope: Exclude<Scope, 'author'>): Readonly<Record<QueueStatus, ByDirection>> => {
  const bothWays = (status: QueueStatus): ByDirection => ({
    ASC: ranked(`${status}_of_${scope}`, scope, status, 'ASC'),
    DESC: ranked(`${status}_of_${scope}`, scope, status, 'DESC'),
  })
  return { pending: bothWays('pending'), reported: bothWays('reported'), rejected: bothWays('rejected') }
}

const OF_TENANT = ofEach('tenant')
const OF_DISCUSSION = ofEach('discussion')
const OF_AUTHOR: ByDirection = {
  ASC: ranked('any_of_author', 'author', null, 'ASC'),
  DESC: ranked('any_of_author', 'author', null, 'DESC'),
}

const statementFor = ({ status, sort, discussionId, authorId }: RankedQueue): StatementOf<RankedRow> => {
  const queues = authorId !== null ? OF_AUTHOR : (discussionId === null ? OF_TENANT : OF_DISCUSSION)[status]
  return queues[DIRECTIONS[sort]]
}

/**
 * The next `limit` comments of a queue that fit, in an order of ranks. Only the first
 * RANKED_CANDIDATES comments after `start` are looked at.
 */
export function rankQueue(
  sql: Sql,
  queue: RankedQueue,
  { start, end, after }: RankedPlace,
  limit: number,
): Promise<RankedRow[]> {
  const { tenantId, status, sort, discussionId, authorId, reason, asOf } = queue
  const [first, last] = DIRECTIONS[sort] === 'ASC' ? [FIRST_ID, LAST_ID] : [LAST_ID, FIRST_ID]
  const since = firstIdAt(new Date(asOf.getTime() - BUSY_HOURS * 3_600_000))
  const params = [
    tenantId,
    start ?? first,
    end ?? last,
    RANKED_CANDIDATES,
    discussionId,
    authorId,
    reason,
    sort,
    since,
    firstIdAt(asOf),
    after?.rank ?? null,
    after?.id ?? null,
    limit,
  ]
  return sql<RankedRow>(statementFor(queue), authorId === null ? params : [...params, status])
}
