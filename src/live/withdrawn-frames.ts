import type { EventType } from '../core/events.ts'
import type { Id } from '../core/ids.ts'
import { type CommentState, tellNow } from '../core/withdrawal.ts'
import { eventOf, type StreamEvent } from './stream-event.ts'
import { type Frame, frameOf } from './frames.ts'

/** Event types that withdraw a text or bring it back into view. */
const CHANGES_VIEW: ReadonlySet<EventType> = new Set([
  'comment_edited',
  'comment_deleted',
  'comment_approved',
  'comment_rejected',
])

/**
 * After an event that changes whether its comment's text may be shown, updates the `kept` frames
 * about that comment. `frame` itself may be among them.
 */
export function applyWithdrawal(frame: Frame, kept: readonly Frame[]): void {
  if (!CHANGES_VIEW.has(frame.type)) return
  const now = commentOf(eventOf(frame))
  if (now === undefined) return
  for (const each of kept) {
    // Most are about other comments, which is seen without parsing them.
    if (!each.json.includes(now.id) || commentOf(eventOf(each))?.id !== now.id) continue
    const json = tellNow(each.json, now)
    if (json !== each.json) each.withdrawn = frameOf({ ...each, json, withdrawn: null })
    // If the database gave `frame` without its text, a later change has withdrawn that: such a
    // frame restores nothing.
    else if (frame.withdrawn === null) each.withdrawn = null
  }
}

const commentOf = ({ data }: StreamEvent): (CommentState & { id: Id }) | undefined =>
  data.comment as (CommentState & { id: Id }) | undefined
