import { CHANNELS } from '../../core/bus.ts'
import type { App } from '../../core/context.ts'
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
import { type Sql, statement } from '../../core/sql.ts'

/** An event before it has its number. `data` is JSON text. */
export interface NewEvent {
  tenantId: Id
  discussionId: Id
  type: EventType
  audience: Audience
  recipientId?: Id
  actor: EventActor
  /** Now, unless the data itself names the time. */
  occurredAt?: Date
  data: string
}

/** What a transaction has written and nobody has been told of yet. */
export interface Written {
  events: StoredEvent[]
  /** How many webhook deliveries went with them. */
  deliveries: number
}

/**
 * A delivery for each verified endpoint that subscribes to an event; part of the statement that writes the event, so
 * that a crash at any instant loses none. `source` names the CTE with tenant_id, event_id, type, discussion_id, seq.
 */
export const queueDeliveries = (source: string): string => `
  INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq)
  SELECT s.tenant_id, new_id(), e.id, s.event_id, s.type, s.discussion_id, s.seq
  FROM ${source} s
  JOIN webhook_endpoints e ON e.tenant_id = s.tenant_id AND e.state = 'verified' AND e.event_types && ARRAY['*', s.type]
  WHERE s.type <> 'notification_reply'
  RETURNING 1`

const APPEND = statement(
  'append_event',
  `WITH bumped AS (
     UPDATE discussions SET seq = seq + 1, updated_at = $8
     WHERE tenant_id = $1 AND id = $2
     RETURNING seq
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data)
     SELECT $1, $2, seq, $3, $4, $5, $6, $8, $7::json, $9::json FROM bumped
     RETURNING tenant_id, discussion_id, seq, id AS event_id, type
   ),
   queued AS (${queueDeliveries('logged')})
   SELECT seq, (SELECT count(*) FROM queued) AS deliveries FROM logged`,
)

/**
 * Writes an event and its deliveries. The discussion's row is locked by it until the transaction ends: that gives the
 * numbers no hole, in commit order.
 */
export async function appendEvent(sql: Sql, event: NewEvent): Promise<Written> {
  const { tenantId, discussionId, type, audience, recipientId = null, occurredAt = new Date(), data } = event
  const actor = JSON.stringify(event.actor)
  const id = newId()
  const params = [tenantId, discussionId, id, type, audience, recipientId, actor, occurredAt, data]
  const [row] = await sql<{ seq: number; deliveries: number }>(APPEND, params)
  if (row === undefined) throw new Error(`discussion ${discussionId} is gone`)
  const stored = { discussionId, seq: row.seq, id, type, audience, recipientId, occurredAt, actor, data }
  return { events: [stored], deliveries: row.deliveries }
}

/** Writes several events of one transaction, in this order. */
export async function appendEvents(sql: Sql, events: readonly NewEvent[]): Promise<Written> {
  const written: Written = { events: [], deliveries: 0 }
  for (const event of events) {
    const { events: stored, deliveries } = await appendEvent(sql, event)
    written.events.push(...stored)
    written.deliveries += deliveries
  }
  return written
}

/** Tells streams and workers what has been committed. Only ever after the commit; lost news costs time, not events. */
export function announce(app: App, { events, deliveries }: Written): void {
  const byDiscussion = new Map<Id, News[]>()
  for (const event of events) {
    const news = byDiscussion.get(event.discussionId) ?? []
    news.push(newsOf(event))
    byDiscussion.set(event.discussionId, news)
  }
  for (const [discussionId, news] of byDiscussion) app.bus.publish(CHANNELS.discussion(discussionId), encodeNews(news))
  if (deliveries > 0) app.bus.publish(CHANNELS.work, 'deliveries')
}
