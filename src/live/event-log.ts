import { newsOf, type StoredEvent } from '../core/events.ts'
import type { Id } from '../core/ids.ts'
import { columns } from '../core/database/lists.ts'
import type { Db } from '../core/database/database.ts'
import { type Param, statement } from '../core/database/statements.ts'
import { type CommentState, commentState, tellNow } from '../core/withdrawal.ts'
import type { PastNews } from './streams/frames.ts'
import { type StreamViewer, visibleFrom, visibleParams } from './viewer.ts'

/** A discussion by its whole key. */
export interface DiscussionKey {
  tenantId: Id
  discussionId: Id
}

/** How far a discussion is. */
export interface Head extends DiscussionKey {
  seq: number
  /** Increases when an erasure rewrites events: cached events with a lower number are outdated. */
  scrubs: number
}

export interface SeqRange {
  /** Exclusive. */
  after: number
  /** Inclusive. */
  upTo: number
}

/** What a replay may bring. Beyond it nothing is counted. */
export interface ReplayBounds {
  /** How old its first event may be. */
  since: Date
  /** How many events it may have. */
  most: number
}

export interface MissedEvents {
  /** How many events of the range the viewer may see, if they are within the bounds. */
  visible: number
  /** When the first of these happened; null where there are none. */
  firstAt: Date | null
  /** Whether the log still has every event of the range; false beyond the bounds. */
  isWhole: boolean
}

/** The event log as the hub reads it. It is the truth; the bus only announces events earlier. */
export interface EventLog {
  /** How far each of these discussions is; those that do not exist are left out. */
  heads(keys: readonly DiscussionKey[]): Promise<Head[]>
  /**
   * What the viewer (for null: anybody) may see of a range, in order, at most `limit`, and beside
   * each event that has lost its text since what most are told in its place.
   */
  events(key: DiscussionKey, range: SeqRange, viewer: StreamViewer | null, limit: number): Promise<PastNews[]>
  /** What a replay of a range would bring. */
  missed(key: DiscussionKey, range: SeqRange, viewer: StreamViewer, bounds: ReplayBounds): Promise<MissedEvents>
}

const READ_HEADS = statement(
  'stream_read_heads',
  `SELECT d.tenant_id AS "tenantId", d.id AS "discussionId", d.seq, d.scrubs
   FROM unnest($1::uuid[], $2::uuid[]) AS wanted(tenant_id, id)
   JOIN discussions d ON d.tenant_id = wanted.tenant_id AND d.id = wanted.id AND d.deleted_at IS NULL`,
)

// A range of the primary key: a statement costs what it returns.
const IN_RANGE = 'tenant_id = $1 AND discussion_id = $2 AND seq > $3 AND seq <= $4'

const rangeParams = ({ tenantId, discussionId }: DiscussionKey, { after, upTo }: SeqRange): Param[] => [
  tenantId,
  discussionId,
  after,
  upTo,
]

const READ_EVENTS = statement(
  'stream_read_events',
  `SELECT discussion_id AS "discussionId", seq, id, type, audience, recipient_id AS "recipientId",
     occurred_at AS "occurredAt", actor::text AS actor, data::text AS data,
     CASE WHEN $8::boolean THEN ${commentState('events')} END AS "commentNow"
   FROM events WHERE ${IN_RANGE} AND ${visibleFrom(5)} ORDER BY seq LIMIT $7`,
)

// A first event that is too old, or too many, end it. The count of the whole range comes last.
const MISSED_EVENTS = statement(
  'stream_missed_events',
  `WITH first AS MATERIALIZED (
     SELECT occurred_at FROM events WHERE ${IN_RANGE} AND ${visibleFrom(5)} ORDER BY seq LIMIT 1
   ), seen AS MATERIALIZED (
     SELECT count(*) AS visible FROM (
       SELECT FROM events
       WHERE ${IN_RANGE} AND ${visibleFrom(5)} AND (SELECT occurred_at >= $7::timestamptz FROM first)
       LIMIT $8) counted
   )
   SELECT visible, (SELECT occurred_at FROM first) AS "firstAt",
     CASE WHEN visible < $8 AND coalesce((SELECT occurred_at >= $7 FROM first), true)
       THEN (SELECT count(*) FROM events WHERE ${IN_RANGE}) = $4 - $3 ELSE false END AS "isWhole"
   FROM seen`,
)

export const databaseLog = (db: Db): EventLog => ({
  heads: (keys) => db.query<Head>(READ_HEADS, columns(keys, 'tenantId', 'discussionId')),

  async events(key, range, viewer, limit) {
    const params = [...rangeParams(key, range), ...visibleParams(viewer), limit, viewer?.kind !== 'moderator']
    const rows = await db.query<Omit<StoredEvent, 'tenantId'> & { commentNow: CommentState | null }>(
      READ_EVENTS,
      params,
    )
    return rows.map((row) => {
      const news = newsOf(row)
      const json = tellNow(news.json, row.commentNow)
      return json === news.json ? news : { ...news, withdrawn: json }
    })
  },

  async missed(key, range, viewer, { since, most }) {
    const params = [...rangeParams(key, range), ...visibleParams(viewer), since, most + 1]
    const [missed] = await db.query<MissedEvents>(MISSED_EVENTS, params)
    return missed ?? { visible: 0, firstAt: null, isWhole: false }
  },
})
