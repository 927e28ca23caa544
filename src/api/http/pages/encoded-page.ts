/**
 * A page of comments as JSON bytes, in the form for callers who are no reader, and its comments.
 */
export interface EncodedPage {
  bytes: Buffer
  /** In the order of the bytes. */
  slots: readonly Slot[]
}

/** A comment, which has a place in the JSON for each field of the viewer. */
export interface Slot {
  commentId: string
  hasReactions: boolean
  status: string
  /** Null in a tombstone. */
  authorId: string | null
}

interface ListedComment {
  id: string
  status: string
  author: { id: string } | null
  reactionCounts: object
  viewerReaction: null
  authorMuted: null
  replies?: List
}

interface List {
  data: readonly ListedComment[]
}

/** The fields of a viewer that pages are filled with. In the JSON each is null. */
const VIEWERS = ['viewerReaction', 'authorMuted'] as const

export type ViewersValues = Partial<Record<(typeof VIEWERS)[number], string | boolean>>

// Text in the JSON cannot contain it, because its quotes are escaped.
const unfilled = (name: string): string => `"${name}":null`

/** Encodes a list of comments that was read without an identity. */
export function encodePage(body: unknown): EncodedPage {
  return { bytes: Buffer.from(JSON.stringify(body)), slots: slotsOf(body as List) }
}

/** In the order of the JSON: a comment's own fields come before its replies. */
function slotsOf({ data }: List, slots: Slot[] = []): Slot[] {
  for (const { id, status, author, reactionCounts, replies } of data) {
    const hasReactions = Object.keys(reactionCounts).length > 0
    slots.push({ commentId: id, hasReactions, status, authorId: author?.id ?? null })
    if (replies !== undefined) slotsOf(replies, slots)
  }
  return slots
}

/** The page with what is a reader's own. */
export function personalPage(page: EncodedPage, valuesOf: (slot: Slot) => ViewersValues): Buffer {
  const { bytes, slots } = page
  const own = slots.flatMap((slot, index) =>
    Object.entries(valuesOf(slot)).map(([name, value]) => ({ name: name as keyof ViewersValues, index, value })),
  )
  if (own.length === 0) return bytes
  const places = placesOf(page)
  const parts: Buffer[] = []
  let from = 0
  const filled = own.map(({ name, index, value }) => ({ at: places[name][index] ?? 0, value }))
  for (const { at, value } of filled.toSorted((one, other) => one.at - other.at)) {
    parts.push(bytes.subarray(from, at), Buffer.from(JSON.stringify(value)))
    from = at + 'null'.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

type Places = Readonly<Record<keyof ViewersValues, readonly number[]>>

// Computed when a reader first requests the page: most pages are requested without an identity.
const places = new WeakMap<readonly Slot[], Places>()

/** The position of each slot's `null`, of each field. */
function placesOf(page: EncodedPage): Places {
  const known = places.get(page.slots)
  if (known !== undefined) return known
  const found = Object.fromEntries(VIEWERS.map((name) => [name, placesOfField(page, name)])) as unknown as Places
  places.set(page.slots, found)
  return found
}

function placesOfField({ bytes, slots }: EncodedPage, name: string): number[] {
  const found: number[] = []
  const text = unfilled(name)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) {
    found.push(at + text.length - 'null'.length)
  }
  if (found.length !== slots.length) throw new Error(`a page of comments has not one ${name} a comment`)
  return found
}
