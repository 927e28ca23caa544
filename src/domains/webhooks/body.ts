import { encodeEvent, type EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'

interface EventParts {
  /** Of a test alone. */
  body: string | null
  eventId: Id
  eventType: EventType
  discussionId: Id
  seq: number
  occurredAt: Date | null
  actor: string | null
  data: string | null
}

/** The body of a delivery: the event's one JSON, the same bytes at each attempt. Null where the log no longer holds it. */
export function bodyOf(parts: EventParts): string | null {
  const { body, eventId, eventType, discussionId, seq, occurredAt, actor, data } = parts
  if (body !== null) return body
  if (occurredAt === null || actor === null || data === null) return null
  return encodeEvent({ id: eventId, type: eventType, discussionId, seq, occurredAt, actor, data })
}

/** Stable across retries, redeliveries and endpoints (contract, section 7). */
export const idempotencyKeyOf = ({ eventType, eventId }: Pick<EventParts, 'eventType' | 'eventId'>): string =>
  `${eventType}:${eventId}`
