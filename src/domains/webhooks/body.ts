import { encodeEvent, type EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import { type CommentState, tellNow } from '../../core/withdrawal.ts'

interface EventParts {
  /** Only for a test. */
  body: string | null
  eventId: Id
  eventType: EventType
  discussionId: Id
  seq: number
  occurredAt: Date | null
  actor: string | null
  data: string | null
  /**
   * The state of the comment that decides which texts are withdrawn; null for an event about no
   * comment, and for one that is sent as it was written.
   */
  commentNow: CommentState | null
}

/**
 * The body of a delivery: the event's JSON, the same bytes at each attempt as long as no text of it
 * is withdrawn. Null if the event is no longer stored.
 */
export function bodyOf(parts: EventParts): string | null {
  const { body, eventId, eventType, discussionId, seq, occurredAt, actor, data, commentNow } = parts
  if (body !== null) return body
  if (occurredAt === null || actor === null || data === null) return null
  return tellNow(encodeEvent({ id: eventId, type: eventType, discussionId, seq, occurredAt, actor, data }), commentNow)
}

/** The same for retries, redeliveries and all endpoints (docs/reference/choices.md). */
export const idempotencyKeyOf = ({ eventType, eventId }: { eventType: string; eventId: Id }): string =>
  `${eventType}:${eventId}`
