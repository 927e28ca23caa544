// Where a comment stands in a list that a client's cache keeps. Each change can be applied again:
// a comment is taken out, and put where it belongs now.

export type Sort = 'newest' | 'oldest' | 'top'

/**
 * A comment as the document of a subscription selects it. Its place depends on all of these; an
 * event of reactions names it alone. Ids are in the order of time.
 */
export interface ListedComment {
  id: string
  discussionId?: string
  parentId?: string | null
  status?: string
  replyCount?: number
  pinnedAt?: string | null
  /** As a mutation or an event selects it. */
  parent?: { replyCount?: number } | null
}

/** What an event's `data` has of comments, in the document of a subscription. */
export interface CommentChange<C extends ListedComment = ListedComment> {
  comment?: C | null
  tombstones?: readonly C[] | null
  discussion?: unknown
}

/** The types that a page meets behind an interface or a union. */
export const POSSIBLE_TYPES = {
  EventData: ['CommentEventData', 'DiscussionEventData', 'ReactionEventData', 'ReplyNotificationData'],
  Node: ['Comment', 'Discussion', 'Reader'],
}

/** The comments that an event brings. */
export const commentsOf = <C extends ListedComment>(data: CommentChange<C>): C[] => [
  ...(data.comment == null ? [] : [data.comment]),
  ...(data.tombstones ?? []),
]

/** The object that has the list of a comment, and its field. */
export const listOf = ({ discussionId = '', parentId }: ListedComment) =>
  parentId == null
    ? { __typename: 'Discussion', id: discussionId, field: 'comments' }
    : { __typename: 'Comment', id: parentId, field: 'replies' }

/** Whether a comment is in the lists: an approved one, or a tombstone that has replies. */
export const isInView = ({ status, replyCount = 0 }: ListedComment): boolean => status === 'approved' || replyCount > 0

/**
 * Negative where `a` stands before `b`: pinned comments do, the last pinned first. In `top`, whose
 * numbers a page does not know, others are alike.
 */
function compare(a: ListedComment, b: ListedComment, sort: Sort): number {
  const pins = [a.pinnedAt ?? '', b.pinnedAt ?? ''] as const
  if (pins[0] !== pins[1]) return pins[0] > pins[1] ? -1 : 1
  if (a.id === b.id || (sort === 'top' && pins[0] === '')) return 0
  return a.id < b.id === (sort === 'oldest') ? -1 : 1
}

/** The place that a cursor names: pages reach as far, also when its comment has left it. */
function placeIn(cursor: string | null | undefined): ListedComment | undefined {
  try {
    // base64 and base64url write a cursor alike: it is ASCII without `>`, `?` and `~`.
    const [, pinnedAt, id] = JSON.parse(atob(cursor ?? ''))
    return { id, pinnedAt }
  } catch {
    return undefined
  }
}

/** A list of a client's cache, of which `items` are loaded. */
export interface LoadedList<Item> {
  items: readonly Item[]
  sort: Sort
  /** Where a page's document leaves it out, the list counts as whole. */
  pageInfo: { hasNextPage?: boolean; endCursor?: string | null }
  /** A field of the comment of an item. */
  read: (item: Item, field: 'id' | 'pinnedAt') => unknown
}

/**
 * The items of a list with a changed comment where it belongs now: `item` stands for it. It is left
 * out where it is out of view, or on a page that is not loaded. In `top` it keeps its place below
 * pinned ones, and a new one is the last.
 */
export function arrange<Item>(
  { items, sort, pageInfo: { hasNextPage, endCursor }, read }: LoadedList<Item>,
  comment: ListedComment,
  item: Item,
): Item[] {
  const placed = items.map((each) => ({ each, id: read(each, 'id'), pinnedAt: read(each, 'pinnedAt') }) as Placed<Item>)
  const at = placed.findIndex(({ id }) => id === comment.id)
  const others = placed.filter((_, n) => n !== at)
  const end = placeIn(endCursor) ?? placed.at(-1)
  const beyond = sort === 'top' && at < 0 ? 0 : 1
  if (isInView(comment) && (!hasNextPage || (end && compare(comment, end, sort) < beyond)))
    others.splice(at < 0 ? others.length : at, 0, { ...comment, each: item })
  return others.sort((a, b) => compare(a, b, sort)).map(({ each }) => each)
}

type Placed<Item> = ListedComment & { each: Item }
