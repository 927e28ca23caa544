import { encodeEvent, type EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import { type CommentState, tellNow } from '../../core/withdrawal.ts'

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
  /**
   * By what texts are withdrawn from it; null for an event about no comment, and for one that is
   * told as it was written.
   */
  commentNow: CommentState | null
}

/**
 * The body of a delivery: the event's one JSON, in the same bytes at each attempt while nothing of
 * it is withdrawn. Null where the log no longer holds it.
 */
export function bodyOf(parts: EventParts): string | null {
  const { body, eventId, eventType, discussionId, seq, occurredAt, actor, data, commentNow } = parts
  if (body !== null) return body
  if (occurredAt === null || actor === null || data === null) return null
  return tellNow(encodeEvent({ id: eventId, type: eventType, discussionId, seq, occurredAt, actor, data }), commentNow)
}

/** Stable across retries, redeliveries and endpoints (docs/reference/choices.md). */
export const idempotencyKeyOf = ({ eventType, eventId }: { eventType: string; eventId: Id }): string =>
  `${eventType}:${eventId}`
