/**
 * A page of comments as JSON bytes, in the form for callers who are no reader, and its comments.
 */
export interface EncodedPage {
  bytes: Buffer
  /** In the order of the bytes. */
  slots: readonly Slot[]
}

/** A comment, and the place in the JSON for a reader's own reaction. */
interface Slot {
  commentId: string
  hasReactions: boolean
  /** Whether its author sees more of it. */
  isWithheld: boolean
}

interface ListedComment {
  id: string
  status: string
  reactionCounts: object
  viewerReaction: null
  replies?: List
}

interface List {
  data: readonly ListedComment[]
}

const NAME = '"viewerReaction":'
// Text in the JSON cannot contain it, because its quotes are escaped.
const UNFILLED = `${NAME}null`

/** Encodes a list of comments that was read without an identity. */
export function encodePage(body: unknown): EncodedPage {
  return { bytes: Buffer.from(JSON.stringify(body)), slots: slotsOf(body as List) }
}

/** In the order of the JSON: a comment's own fields come before its replies. */
function slotsOf({ data }: List, slots: Slot[] = []): Slot[] {
  for (const { id, status, reactionCounts, replies } of data) {
    const hasReactions = Object.keys(reactionCounts).length > 0
    slots.push({ commentId: id, hasReactions, isWithheld: status === 'withheld' })
    if (replies !== undefined) slotsOf(replies, slots)
  }
  return slots
}

/** The page with a reader's own reactions. */
export function personalPage(page: EncodedPage, held: ReadonlyMap<string, string>): Buffer {
  const { bytes, slots } = page
  if (held.size === 0) return bytes
  const parts: Buffer[] = []
  let from = 0
  for (const [index, at] of placesOf(page).entries()) {
    const type = held.get(slots[index]?.commentId ?? '')
    if (type === undefined) continue
    parts.push(bytes.subarray(from, at), Buffer.from(JSON.stringify(type)))
    from = at + 'null'.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

// Computed when a reader first requests the page: most pages are requested without an identity.
const places = new WeakMap<readonly Slot[], readonly number[]>()

/** The position of each slot's `null`. */
function placesOf({ bytes, slots }: EncodedPage): readonly number[] {
  const known = places.get(slots)
  if (known !== undefined) return known
  const found: number[] = []
  for (let at = bytes.indexOf(UNFILLED); at >= 0; at = bytes.indexOf(UNFILLED, at + UNFILLED.length)) {
    found.push(at + NAME.length)
  }
  if (found.length !== slots.length) throw new Error('a page of comments has not one viewerReaction a comment')
  places.set(slots, found)
  return found
}
