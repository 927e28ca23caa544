/**
 * A page of comments as JSON bytes, as everybody gets it who is no reader, and where a reader's own
 * reactions stand in it.
 */
export interface EncodedPage {
  bytes: Buffer
  /** In the order of the bytes. */
  slots: readonly Slot[]
}

interface Slot {
  commentId: string
  hasReactions: boolean
  /** Where the value `null` begins. */
  at: number
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
  const parts = JSON.stringify(body).split(UNFILLED)
  const comments = commentsOf(body as List)
  if (comments.length !== parts.length - 1) throw new Error('a page of comments has not one viewerReaction a comment')
  let at = 0
  const slots = comments.map(({ id, reactionCounts }, index): Slot => {
    at += Buffer.byteLength(parts[index] ?? '') + NAME.length
    const slot = { commentId: id, hasReactions: Object.keys(reactionCounts).length > 0, at }
    at += UNFILLED.length - NAME.length
    return slot
  })
  return { bytes: Buffer.from(parts.join(UNFILLED)), slots }
}

/** In the order of the JSON, where a comment's own fields stand before its replies. */
const commentsOf = ({ data }: List): ListedComment[] =>
  data.flatMap((comment) => [comment, ...(comment.replies === undefined ? [] : commentsOf(comment.replies))])

/** The page with what a reader holds on its comments. */
export function personalPage({ bytes, slots }: EncodedPage, held: ReadonlyMap<string, string>): Buffer {
  if (held.size === 0) return bytes
  const parts: Buffer[] = []
  let from = 0
  for (const { commentId, at } of slots) {
    const type = held.get(commentId)
    if (type === undefined) continue
    parts.push(bytes.subarray(from, at), Buffer.from(JSON.stringify(type)))
    from = at + 'null'.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}
