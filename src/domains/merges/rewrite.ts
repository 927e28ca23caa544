import type { Id } from '../../core/ids.ts'
import type { EventTexts, ScrubbedEvent } from '../privacy/scrub.ts'
import type { Reader } from '../readers/readers.ts'

/**
 * An event that names the other reader in the place of the one who is gone; all else stays to the
 * byte. Null where it does not name the one who is gone.
 */
export function rewriteEvent({ actor, data }: EventTexts, from: Id, into: Reader): ScrubbedEvent | null {
  const { id, externalId, name, avatarUrl, profileUrl } = into
  const who = JSON.parse(actor) as { readerId?: Id }
  const what = JSON.parse(data) as EventData
  const profile = { id, externalId, name, avatarUrl, profileUrl }
  const after = { ...what }
  if (what.comment?.author?.id === from) after.comment = { ...what.comment, author: profile }
  if (what.reader?.id === from) after.reader = profile
  if (what.recipient?.readerId === from) after.recipient = { readerId: id, externalId }
  const rewritten = {
    actor: who.readerId === from ? JSON.stringify({ ...who, readerId: id, externalId }) : actor,
    data: JSON.stringify(after),
  }
  const isSame = rewritten.actor === actor && rewritten.data === JSON.stringify(what)
  return isSame ? null : { ...rewritten, hasLostRecipient: false }
}

/** What of an event's data this looks at; all else stays as it is. */
interface EventData {
  comment?: { author: { id: Id } | null; [name: string]: unknown }
  reader?: { id: Id } | null
  recipient?: { readerId: Id; externalId: string } | null
  [name: string]: unknown
}
