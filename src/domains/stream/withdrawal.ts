import type { EventType } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { eventOf, type StreamEvent } from './events.ts'
import { type Frame, frameOf } from './frames.ts'

interface EventComment {
  id: Id
  status: CommentStatus
  revision: number
  [name: string]: unknown
}

/**
 * An event as the public may see it once its comment is `status` and no longer approved: without its text, and where it
 * is deleted, without its author, as in the event that told of it. Its place and its id stay.
 */
export function withoutText(json: string, status: CommentStatus): string {
  const event = JSON.parse(json) as StreamEvent
  const comment = { ...commentOf(event), body: null, bodyHtml: null, ...(status === 'deleted' ? { author: null } : {}) }
  return JSON.stringify({ ...event, data: { ...event.data, comment } })
}

/** The changes that bring a comment into view or take it out. */
const CHANGES_VIEW: ReadonlySet<EventType> = new Set([
  'comment_edited',
  'comment_deleted',
  'comment_approved',
  'comment_rejected',
])

/**
 * Where `frame` has changed whether its comment is in view, what is kept of it from before goes to the public so, too. What
 * comes back into view is the text that `frame` has: an older one that has left it stays away.
 */
export function applyWithdrawal(frame: Frame, earlier: readonly Frame[]): void {
  if (!CHANGES_VIEW.has(frame.type)) return
  const comment = commentOf(eventOf(frame))
  if (comment === undefined) return
  const { id, status, revision } = comment
  for (const kept of earlier) {
    // Most are of other comments: that is seen without parsing them.
    if (!kept.json.includes(id)) continue
    const before = commentOf(eventOf(kept))
    if (before?.id !== id) continue
    if (status !== 'approved')
      kept.withdrawn = frameOf({ ...kept, json: withoutText(kept.json, status), withdrawn: null })
    else if (before.revision >= revision) kept.withdrawn = null
  }
}

const commentOf = ({ data }: StreamEvent): EventComment | undefined => data.comment as EventComment | undefined
