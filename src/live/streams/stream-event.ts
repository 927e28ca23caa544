import type { EventActor, EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { Frame } from './frames.ts'

/** An event in the form of every interface (docs/reference/events.md), parsed from its JSON. */
export interface StreamEvent {
  id: Id
  type: EventType
  discussionId: Id
  seq: number
  occurredAt: string
  actor: EventActor
  data: Record<string, unknown>
}

/** The comment that an event is about; null for one of a discussion. */
export function subjectOf(frame: Frame): Id | null {
  const { comment, commentId } = eventOf(frame).data as { comment?: { id: Id }; commentId?: Id }
  return comment?.id ?? commentId ?? null
}

const read = new WeakMap<Frame, StreamEvent>()

/**
 * The event in a frame, parsed once for all subscribers. It lacks what is looked up for
 * each viewer, because it is the same for all.
 */
export function eventOf(frame: Frame): StreamEvent {
  const known = read.get(frame)
  if (known !== undefined) return known
  const event = JSON.parse(frame.json) as StreamEvent
  const comment = event.data.comment as
    | { viewerReaction?: unknown; authorMuted?: unknown; decision?: unknown }
    | undefined
  delete comment?.viewerReaction
  delete comment?.authorMuted
  delete comment?.decision
  read.set(frame, event)
  return event
}
