import { CHANNELS } from '../../core/bus.ts'
import type { App } from '../../core/app.ts'
import {
  type Audience,
  encodeNews,
  type EventActor,
  type EventType,
  type News,
  newsOf,
  type StoredEvent,
} from '../../core/events.ts'
import { type Id, newId } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { commentIdIn } from '../../core/withdrawal.ts'

/** An event without its number. `data` is JSON text. */
export interface NewEvent {
  tenantId: Id
  discussionId: Id
  type: EventType
  audience: Audience
  recipientId?: Id | null
  actor: EventActor
  /** Default: now, unless the data itself has the time. */
  occurredAt?: Date
  data: string
}

/** Events of a transaction that are not announced yet. */
export interface AppendedEvents {
  events: StoredEvent[]
  /** How many webhook deliveries were queued with them. */
  deliveries: number
}

/**
 * SQL: queues a delivery for each verified endpoint that subscribes to an event; part of the
 * statement that writes the event, so that a crash at any instant loses none. `source` is the CTE
 * with tenant_id, event_id, type, audience, discussion_id, seq, data.
 */
export const queueDeliveries = (source: string): string => `
  INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, comment_id)
  SELECT s.tenant_id, new_id(), e.id, s.event_id, s.type, s.discussion_id, s.seq, ${commentIdIn('s.data')}
  FROM ${source} s
  JOIN webhook_endpoints e ON e.tenant_id = s.tenant_id AND e.state = 'verified' AND e.event_types && ARRAY['*', s.type]
    AND (e.discussion_ids = '{}' OR s.discussion_id = ANY(e.discussion_ids))
  WHERE s.type <> 'notification_reply' AND s.audience <> 'own'
  RETURNING 1`

const APPEND = statement(
  'append_event',
  `WITH bumped AS (
     UPDATE discussions SET seq = seq + 1, updated_at = $8
     WHERE tenant_id = $1 AND id = $2
     RETURNING seq
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data, trace)
     SELECT $1, $2, seq, $3, $4, $5, $6, $8, $7::json, $9::json, $10 FROM bumped
     RETURNING tenant_id, discussion_id, seq, id AS event_id, type, audience, data
   ),
   queued AS (${queueDeliveries('logged')})
   SELECT seq, (SELECT count(*) FROM queued) AS deliveries FROM logged`,
)

/**
 * Writes an event and its deliveries. It locks the discussion's row until the transaction ends, so
 * that numbers have no holes and follow the commit order.
 */
export async function appendEvent(sql: Sql, event: NewEvent): Promise<AppendedEvents> {
  const { tenantId, discussionId, type, audience, recipientId = null, occurredAt = new Date(), data } = event
  const actor = JSON.stringify(event.actor)
  const id = newId()
  const params = [tenantId, discussionId, id, type, audience, recipientId, actor, occurredAt, data, sql.trace ?? null]
  const [row] = await sql<{ seq: number; deliveries: number }>(APPEND, params)
  if (row === undefined) throw new Error(`discussion ${discussionId} is gone`)
  const stored = { tenantId, discussionId, seq: row.seq, id, type, audience, recipientId, occurredAt, actor, data }
  return { events: [stored], deliveries: row.deliveries }
}

const APPEND_MANY = statement(
  'append_events',
  `WITH input AS (
     SELECT *, row_number() OVER (PARTITION BY tenant_id, discussion_id ORDER BY n) AS place
     FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::timestamptz[],
       $9::text[]) WITH ORDINALITY
     AS t (tenant_id, discussion_id, id, type, audience, recipient_id, actor, occurred_at, data, n)
   ),
   bumped AS (
     UPDATE discussions d SET seq = d.seq + s.events, updated_at = s.occurred_at
     FROM (
       SELECT tenant_id, discussion_id, count(*) AS events, max(occurred_at) AS occurred_at
       FROM input GROUP BY tenant_id, discussion_id
     ) s
     WHERE d.tenant_id = s.tenant_id AND d.id = s.discussion_id
     RETURNING d.tenant_id, d.id, d.seq - s.events AS base
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data, trace)
     SELECT i.tenant_id, i.discussion_id, b.base + i.place, i.id, i.type, i.audience, i.recipient_id, i.occurred_at,
       i.actor::json, i.data::json, $10
     FROM input i JOIN bumped b ON b.tenant_id = i.tenant_id AND b.id = i.discussion_id
     RETURNING tenant_id, discussion_id, seq, id AS event_id, type, audience, data
   ),
   queued AS (${queueDeliveries('logged')})
   SELECT l.seq, (SELECT count(*) FROM queued) AS deliveries FROM input i JOIN logged l ON l.event_id = i.id ORDER BY i.n`,
)

/**
 * Writes several events of one transaction, in this order. If they belong to several discussions,
 * these must be locked already.
 */
export async function appendEvents(sql: Sql, events: readonly NewEvent[]): Promise<AppendedEvents> {
  const [first] = events
  if (first === undefined) return { events: [], deliveries: 0 }
  if (events.length === 1) return appendEvent(sql, first)
  const now = new Date()
  const stored = events.map(({ recipientId = null, actor, occurredAt = now, ...event }) => ({
    ...event,
    id: newId(),
    recipientId,
    actor: JSON.stringify(actor),
    occurredAt,
  }))
  const columns = APPEND_COLUMNS.map((column) => stored.map((event) => textOf(event[column])))
  const rows = await sql<{ seq: number; deliveries: number }>(APPEND_MANY, [...columns, sql.trace ?? null])
  if (rows.length < stored.length) throw new Error('a discussion of these events is gone')
  const numbered = stored.map((event, index) => ({ ...event, seq: rows[index]?.seq ?? 0 }))
  return { events: numbered, deliveries: rows[0]?.deliveries ?? 0 }
}

const textOf = (value: string | Date | null): string | null => (value instanceof Date ? value.toISOString() : value)

const APPEND_COLUMNS = [
  'tenantId',
  'discussionId',
  'id',
  'type',
  'audience',
  'recipientId',
  'actor',
  'occurredAt',
  'data',
] as const

/**
 * Notifies streams and workers of committed events. Call it only after the commit; a lost message
 * costs time, not events.
 */
export function announce(app: App, { events, deliveries }: AppendedEvents): void {
  const byChannel = new Map<string, News[]>()
  for (const event of events) {
    const channel = CHANNELS.discussion(event)
    const news = byChannel.get(channel) ?? []
    news.push(newsOf(event))
    byChannel.set(channel, news)
  }
  for (const [channel, news] of byChannel) app.bus.publish(channel, encodeNews(news))
  if (deliveries > 0) app.bus.publish(CHANNELS.work, 'deliveries')
}
