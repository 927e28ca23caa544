import type { Id } from '../../core/ids.ts'
import { changeEvent, type EventTexts, type ScrubbedEvent } from '../erasure/scrub.ts'
import { profileOf, type Reader } from '../readers/fields.ts'

/**
 * The event with the target in place of the merged reader; everything else stays the same byte for
 * byte. Null if the event does not name the merged reader.
 */
export function rewriteEvent(event: EventTexts, from: Id, into: Reader): ScrubbedEvent | null {
  const profile = profileOf(into)
  const { id, externalId } = profile
  return changeEvent(event, (who, what) => {
    const after = { ...what }
    if (what.comment?.author?.id === from) after.comment = { ...what.comment, author: profile }
    if (what.reader?.id === from) after.reader = profile
    if (what.recipient?.readerId === from) after.recipient = { readerId: id, externalId }
    return {
      who: who.readerId === from ? { ...who, readerId: id, externalId } : who,
      what: after,
      hasLostRecipient: false,
    }
  })
}
