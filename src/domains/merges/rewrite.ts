import type { Id } from '../../core/ids.ts'
import { changeEvent, type EventTexts, type ScrubbedEvent } from '../privacy/scrub.ts'
import type { Reader } from '../readers/readers.ts'

/**
 * An event that names the other reader in the place of the one who is gone; all else stays to the
 * byte. Null where it does not name the one who is gone.
 */
export function rewriteEvent(event: EventTexts, from: Id, into: Reader): ScrubbedEvent | null {
  const { id, externalId, name, avatarUrl, profileUrl } = into
  const profile = { id, externalId, name, avatarUrl, profileUrl }
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
