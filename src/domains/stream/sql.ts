import type { Actor } from '../../core/context.ts'
import { EVENT_TYPES, EVENTS, newsOf, type StoredEvent } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import type { PastNews, Viewer } from './frames.ts'
import { withoutText } from './withdrawal.ts'

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

export interface Range {
  /** Exclusive. */
  after: number
  /** Inclusive. */
  upTo: number
}

// The same rule as `isVisible`. $5: sees everything. $6: the reader named by the ticket.
const VISIBLE = `($5::boolean OR audience = 'public' OR (audience = 'recipient' AND recipient_id = $6::uuid))`
const IN_RANGE = 'tenant_id = $1 AND discussion_id = $2 AND seq > $3 AND seq <= $4'

const rangeParams = (
  { tenantId, discussionId }: DiscussionKey,
  { after, upTo }: Range,
  viewer: Viewer | null,
): unknown[] => [
  tenantId,
  discussionId,
  after,
  upTo,
  viewer?.kind !== 'public',
  viewer?.kind === 'public' ? viewer.readerId : null,
]

const WITH_COMMENT = EVENT_TYPES.filter((type) => /^(CommentEventData|ReplyNotificationData)$/.test(EVENTS[type].data))

// Our JSON has the id in this place; to parse a long text for it would cost several times the look-up.
const COMMENT_ID = `CASE WHEN left(data::text, 18) = '{"comment":{"id":"' THEN substr(data::text, 19, 36)
  ELSE data #>> '{comment,id}' END::uuid`

// Approved is the text with which a comment came back into view: one before that stays as it was left, pending. Few
// comments have one, and only theirs are parsed.
const TEXT_STATUS = `CASE WHEN c.status = 'approved' AND c.shown_revision > 1
  AND (events.data #>> '{comment,revision}')::int < c.shown_revision THEN 'pending' ELSE c.status::text END`

// $8: the public is among those who look. A subquery, so that it is a look-up for each row, whatever the planner thinks.
const COMMENT_STATUS = `CASE WHEN $8::boolean AND type IN (${WITH_COMMENT.map((type) => `'${type}'`).join(', ')}) THEN
  coalesce((SELECT ${TEXT_STATUS} FROM comments c WHERE c.tenant_id = events.tenant_id AND c.id = ${COMMENT_ID}), 'deleted')
  END`

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
     ${COMMENT_STATUS} AS "commentStatus"
   FROM events WHERE ${IN_RANGE} AND ${VISIBLE} ORDER BY seq LIMIT $7`,
)

/**
 * What the viewer (for null: anybody) may see of a range, in order, at most `limit`, and what the public may see of it
 * now. A range of the primary key: it costs what it returns.
 */
export async function readEvents(
  sql: Sql,
  key: DiscussionKey,
  range: Range,
  viewer: Viewer | null,
  limit: number,
): Promise<PastNews[]> {
  const forPublic = viewer?.kind !== 'tenant'
  const params = [...rangeParams(key, range, viewer), limit, forPublic]
  const rows = await sql<StoredEvent & { commentStatus: CommentStatus | null }>(READ_EVENTS, params)
  return rows.map((row) => {
    const news = newsOf(row)
    const { commentStatus: status } = row
    return status === null || status === 'approved' ? news : { ...news, withdrawn: withoutText(news.json, status) }
  })
}

export interface Survey {
  /** How many events of the range the viewer may see. */
  visible: number
  /** When the first event of the range happened; null where it is not in the log. */
  firstAt: Date | null
}

const SURVEY_RANGE = statement(
  'stream_survey_range',
  `SELECT count(*) FILTER (WHERE ${VISIBLE}) AS visible, min(occurred_at) FILTER (WHERE seq = $3 + 1) AS "firstAt"
   FROM events WHERE ${IN_RANGE}`,
)

/** What a replay of a range would bring. */
export async function surveyRange(sql: Sql, key: DiscussionKey, range: Range, viewer: Viewer): Promise<Survey> {
  const [survey] = await sql<Survey>(SURVEY_RANGE, rangeParams(key, range, viewer))
  return survey ?? { visible: 0, firstAt: null }
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
