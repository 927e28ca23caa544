import type { Id } from '../../core/ids.ts'
import { NO_TEXT } from '../../core/withdrawal.ts'

/** An event's parts that can name a reader, as JSON text. */
export interface EventTexts {
  actor: string
  data: string
}

export interface ScrubbedEvent extends EventTexts {
  /**
   * Whether it was a notification to the reader: without a recipient only the tenant may see it.
   */
  hasLostRecipient: boolean
}

/** Whose traces are to go, and whether the event is about a comment of theirs. */
interface Trace {
  readerId: Id
  isOnTheirComment: boolean
}

/**
 * An event without the reader: its shape stays, `author`, `reader` and `recipient` are null, an
 * actor keeps only its kind, and the text of their comments is gone. About a comment of theirs it
 * names nobody: that comment's row may go, and with it what would lead from another reader to this
 * event. Null where there is nothing to take out.
 */
export function scrubEvent({ actor, data }: EventTexts, { readerId, isOnTheirComment }: Trace): ScrubbedEvent | null {
  const who = JSON.parse(actor) as { kind: string; readerId?: Id }
  const what = JSON.parse(data) as EventData
  const isTheirs = (id: Id | undefined): boolean => id !== undefined && (id === readerId || isOnTheirComment)
  const after = { ...what }
  let hasLostRecipient = false
  if (what.comment?.author?.id === readerId) {
    after.comment = { ...what.comment, author: null, ...NO_TEXT }
  }
  if (isTheirs(what.reader?.id)) after.reader = null
  if (what.recipient?.readerId === readerId) {
    after.recipient = null
    hasLostRecipient = true
  }
  const scrubbed = {
    actor: isTheirs(who.readerId) ? JSON.stringify({ kind: who.kind }) : actor,
    data: JSON.stringify(after),
    hasLostRecipient,
  }
  const isSame = scrubbed.actor === actor && scrubbed.data === JSON.stringify(what)
  return isSame ? null : scrubbed
}

/** What of an event's data this looks at; all else stays as it is. */
interface EventData {
  comment?: { author: { id: Id } | null; [name: string]: unknown }
  reader?: { id: Id } | null
  recipient?: { readerId: Id } | null
  [name: string]: unknown
}
