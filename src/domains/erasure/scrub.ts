import type { Id } from '../../core/ids.ts'
import { NO_TEXT } from '../../core/withdrawal.ts'

/** The parts of an event that can name a reader, as JSON text. */
export interface EventTexts {
  actor: string
  data: string
}

export interface ScrubbedEvent extends EventTexts {
  /**
   * Whether it was to the reader: a notification without a recipient goes to the tenant alone.
   */
  hasLostRecipient: boolean
}

/** The reader to remove, and whether the event is about a comment of theirs, or to them. */
interface Trace {
  readerId: Id
  isOnTheirComment: boolean
  isToThem: boolean
}

/**
 * An event without the reader: it keeps its shape, `author`, `reader` and `recipient` are null, an
 * actor keeps only its kind, and the text of the reader's comments is removed. An event about a
 * comment of theirs then names no one: the comment's row may be deleted, and then nothing would
 * lead from another reader to this event. Null if there is nothing to remove.
 */
export function scrubEvent(event: EventTexts, { readerId, isOnTheirComment, isToThem }: Trace): ScrubbedEvent | null {
  const isTheirs = (id: Id | undefined): boolean => id !== undefined && (id === readerId || isOnTheirComment)
  return changeEvent(event, (who, what) => {
    const after = { ...what }
    if (what.comment?.author?.id === readerId) after.comment = { ...what.comment, author: null, ...NO_TEXT }
    if (isTheirs(what.reader?.id)) after.reader = null
    if (what.recipient?.readerId === readerId) after.recipient = null
    return { who: isTheirs(who.readerId) ? { kind: who.kind } : who, what: after, hasLostRecipient: isToThem }
  })
}

interface Changed {
  who: EventWho
  what: EventData
  hasLostRecipient: boolean
}

/**
 * An event with another actor or other data; what stays the same object stays to the byte. Null
 * where all of it is the same.
 */
export function changeEvent(
  { actor, data }: EventTexts,
  change: (who: EventWho, what: EventData) => Changed,
): ScrubbedEvent | null {
  const who = JSON.parse(actor) as EventWho
  const what = JSON.parse(data) as EventData
  const after = change(who, what)
  const changed = {
    actor: after.who === who ? actor : JSON.stringify(after.who),
    data: JSON.stringify(after.what),
    hasLostRecipient: after.hasLostRecipient,
  }
  const isSame = changed.actor === actor && changed.data === JSON.stringify(what) && !changed.hasLostRecipient
  return isSame ? null : changed
}

interface EventWho {
  kind: string
  readerId?: Id
  externalId?: string
}

/** The parts of an event's data that are read here; the rest is unchanged. */
interface EventData {
  comment?: { author: { id: Id } | null; [name: string]: unknown }
  reader?: { id: Id } | null
  recipient?: { readerId: Id; externalId?: string } | null
  [name: string]: unknown
}
