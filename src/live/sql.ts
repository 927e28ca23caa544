import type { Actor } from '../core/context.ts'
import { newsOf, type StoredEvent } from '../core/events.ts'
import type { Id } from '../core/ids.ts'
import { type Param, type Sql, statement } from '../core/sql.ts'
import { type CommentState, commentState, tellNow } from '../core/withdrawal.ts'
import type { PastNews, StreamViewer } from './frames.ts'

/** A discussion by its whole key. */
export interface DiscussionKey {
  tenantId: Id
  discussionId: Id
}

/** How far a discussion is. */
export interface Head extends DiscussionKey {
  seq: number
  /** Grows where an erasure rewrites events: what is remembered of them from before is old. */
  scrubs: number
}

export interface SeqRange {
  /** Exclusive. */
  after: number
  /** Inclusive. */
  upTo: number
}

// The same rule as `isVisible`. $5: sees every event. $6: the reader named by the ticket.
const VISIBLE = `($5::boolean OR audience = 'public' OR (audience = 'recipient' AND recipient_id = $6::uuid))`
const IN_RANGE = 'tenant_id = $1 AND discussion_id = $2 AND seq > $3 AND seq <= $4'

const rangeParams = (
  { tenantId, discussionId }: DiscussionKey,
  { after, upTo }: SeqRange,
  viewer: StreamViewer | null,
): Param[] => [
  tenantId,
  discussionId,
  after,
  upTo,
  viewer?.kind !== 'public',
  viewer?.kind === 'public' ? viewer.readerId : null,
]

const READ_HEADS = statement(
  'stream_read_heads',
  `SELECT d.tenant_id AS "tenantId", d.id AS "discussionId", d.seq, d.scrubs
   FROM unnest($1::uuid[], $2::uuid[]) AS wanted(tenant_id, id)
   JOIN discussions d ON d.tenant_id = wanted.tenant_id AND d.id = wanted.id`,
)

/** How far each of these discussions is; those that do not exist are left out. */
export const readHeads = (sql: Sql, keys: readonly DiscussionKey[]): Promise<Head[]> =>
  sql<Head>(READ_HEADS, [keys.map(({ tenantId }) => tenantId), keys.map(({ discussionId }) => discussionId)])

const READ_EVENTS = statement(
  'stream_read_events',
  `SELECT discussion_id AS "discussionId", seq, id, type, audience, recipient_id AS "recipientId",
     occurred_at AS "occurredAt", actor::text AS actor, data::text AS data,
     CASE WHEN $8::boolean THEN ${commentState('events')} END AS "commentNow"
   FROM events WHERE ${IN_RANGE} AND ${VISIBLE} ORDER BY seq LIMIT $7`,
)

/**
 * What the viewer (for null: anybody) may see of a range, in order, at most `limit`, and beside
 * each event that has lost its text since what most are told in its place. A range of the primary
 * key: it costs what it returns.
 */
export async function readEvents(
  sql: Sql,
  key: DiscussionKey,
  range: SeqRange,
  viewer: StreamViewer | null,
  limit: number,
): Promise<PastNews[]> {
  const params = [...rangeParams(key, range, viewer), limit, viewer?.kind !== 'moderator']
  const rows = await sql<Omit<StoredEvent, 'tenantId'> & { commentNow: CommentState | null }>(READ_EVENTS, params)
  return rows.map((row) => {
    const news = newsOf(row)
    const json = tellNow(news.json, row.commentNow)
    return json === news.json ? news : { ...news, withdrawn: json }
  })
}

export interface MissedEvents {
  /** How many events of the range the viewer may see. */
  visible: number
  /** When the first event of the range happened; null where it is not in the log. */
  firstAt: Date | null
}

const MISSED_EVENTS = statement(
  'stream_missed_events',
  `SELECT count(*) FILTER (WHERE ${VISIBLE}) AS visible, min(occurred_at) FILTER (WHERE seq = $3 + 1) AS "firstAt"
   FROM events WHERE ${IN_RANGE}`,
)

/** What a replay of a range would bring. */
export async function readMissed(
  sql: Sql,
  key: DiscussionKey,
  range: SeqRange,
  viewer: StreamViewer,
): Promise<MissedEvents> {
  const [missed] = await sql<MissedEvents>(MISSED_EVENTS, rangeParams(key, range, viewer))
  return missed ?? { visible: 0, firstAt: null }
}

/** What a stream was opened with, and ends with: an API key, or an admin's password. */
export interface Credential {
  kind: Actor['kind']
  tenantId: Id
  id: Id
}

const READ_LIVE_CREDENTIALS = statement(
  'stream_read_live_credentials',
  `SELECT wanted.id FROM unnest($1::uuid[], $2::uuid[]) AS wanted(tenant_id, id)
   WHERE EXISTS (SELECT 1 FROM api_keys k WHERE k.tenant_id = wanted.tenant_id AND k.id = wanted.id
       AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $3))
     OR EXISTS (SELECT 1 FROM admins a WHERE a.tenant_id = wanted.tenant_id
       AND coalesce(a.credential_id, a.id) = wanted.id)`,
)

/** The ids of those that are neither revoked, expired, replaced nor gone. */
export async function readLiveCredentials(sql: Sql, some: readonly Credential[], now: Date): Promise<Set<Id>> {
  const params = [some.map(({ tenantId }) => tenantId), some.map(({ id }) => id), now]
  return new Set((await sql<{ id: Id }>(READ_LIVE_CREDENTIALS, params)).map(({ id }) => id))
}

const READ_DISCUSSION_STATE = statement(
  'stream_read_discussion_state',
  'SELECT state::text AS state, seq FROM discussions WHERE tenant_id = $1 AND id = $2',
)

export type DiscussionState = 'open' | 'locked' | 'archived'

/** A discussion's state, and its position at the same instant. */
export const readDiscussionState = async (
  sql: Sql,
  { tenantId, discussionId }: DiscussionKey,
): Promise<{ state: DiscussionState; seq: number } | undefined> =>
  (await sql<{ state: DiscussionState; seq: number }>(READ_DISCUSSION_STATE, [tenantId, discussionId]))[0]
