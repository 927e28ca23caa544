/**
 * A page of comments as JSON bytes, as everybody gets it who is no reader, and whose comments they
 * are.
 */
export interface EncodedPage {
  bytes: Buffer
  /** In the order of the bytes. */
  slots: readonly Slot[]
}

/** A comment, in which a reader's own reaction has its place. */
interface Slot {
  commentId: string
  hasReactions: boolean
}

interface ListedComment {
  id: string
  reactionCounts: object
  viewerReaction: null
  replies?: List
}

interface List {
  data: readonly ListedComment[]
}

const NAME = '"viewerReaction":'
// No text within the JSON can hold it: its quotes are escaped there.
const UNFILLED = `${NAME}null`

/** Encodes a list of comments that was read without an identity. */
export function encodePage(body: unknown): EncodedPage {
  const slots = commentsOf(body as List).map(({ id, reactionCounts }) => ({
    commentId: id,
    hasReactions: Object.keys(reactionCounts).length > 0,
  }))
  return { bytes: Buffer.from(JSON.stringify(body)), slots }
}

/** In the order of the JSON, where a comment's own fields stand before its replies. */
const commentsOf = ({ data }: List): ListedComment[] =>
  data.flatMap((comment) => [comment, ...(comment.replies === undefined ? [] : commentsOf(comment.replies))])

/** The page with what a reader holds on its comments. */
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

// Looked for when a reader first asks for the page: most pages are made for nobody in particular.
const places = new WeakMap<readonly Slot[], readonly number[]>()

/** Where the value `null` of each slot begins. */
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
