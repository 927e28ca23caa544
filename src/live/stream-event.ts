import type { EventActor, EventType } from '../core/events.ts'
import type { Id } from '../core/ids.ts'
import type { Frame } from './frames.ts'

/** An event as it is sent everywhere (docs/reference/choices.md), read back from its one JSON. */
export interface StreamEvent {
  id: Id
  type: EventType
  discussionId: Id
  seq: number
  occurredAt: string
  actor: EventActor
  data: Record<string, unknown>
}

const read = new WeakMap<Frame, StreamEvent>()

/**
 * The event in a frame. It is parsed once, however many subscribers there are. What the viewer
 * holds on its comment is left out: the event is the same for all, and does not know.
 */
export function eventOf(frame: Frame): StreamEvent {
  const known = read.get(frame)
  if (known !== undefined) return known
  const event = JSON.parse(frame.json) as StreamEvent
  delete (event.data.comment as { viewerReaction?: unknown } | undefined)?.viewerReaction
  read.set(frame, event)
  return event
}
