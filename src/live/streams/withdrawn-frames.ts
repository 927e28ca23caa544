import type { EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import { type CommentState, tellNow } from '../../core/withdrawal.ts'
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
  const event = eventOf(frame)
  const shown = commentOf(event)
  if (shown === undefined) return
  // Most are about other comments, which is seen without parsing them.
  const alike = kept.filter(({ json }) => json.includes(shown.id))
  const about = alike.filter((each) => commentOf(eventOf(each))?.id === shown.id)
  const now = isHeldByReports(event, shown) ? { status: 'pending' as const, revision: revisionIn(about) } : shown
  for (const each of about) {
    const json = tellNow(each.json, now)
    if (json !== each.json) each.withdrawn = frameOf({ ...each, json, withdrawn: null })
    // If the database gave `frame` without its text, a later change has withdrawn that: such a
    // frame restores nothing.
    else if (frame.withdrawn === null) each.withdrawn = null
  }
}

/** Reports leave the text as it is: it waits for a moderator, and its event tells no revision. */
const isHeldByReports = ({ type, actor }: StreamEvent, { status }: CommentState): boolean =>
  type === 'comment_edited' && status === 'withheld' && actor.kind === 'system'

const revisionIn = (frames: readonly Frame[]): number =>
  Math.max(0, ...frames.map((frame) => commentOf(eventOf(frame))?.revision ?? 0))

const commentOf = ({ data }: StreamEvent): (CommentState & { id: Id }) | undefined =>
  data.comment as (CommentState & { id: Id }) | undefined
