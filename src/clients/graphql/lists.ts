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
export interface CommentChange {
  comment?: ListedComment | null
  tombstones?: readonly ListedComment[] | null
  discussion?: unknown
}

/** The types that a page meets behind an interface or a union. */
export const POSSIBLE_TYPES = {
  EventData: ['CommentEventData', 'DiscussionEventData', 'ReactionEventData', 'ReplyNotificationData'],
  Node: ['Comment', 'Discussion', 'Reader'],
}

/** The comments that an event brings. */
export const commentsOf = (data: CommentChange): ListedComment[] => [
  ...(data.comment == null ? [] : [data.comment]),
  ...(data.tombstones ?? []),
]

/** The object that has the list of a comment, and its field. */
export const listOf = ({ discussionId = '', parentId }: ListedComment) =>
  parentId == null
    ? { __typename: 'Discussion', id: discussionId, field: 'comments' }
    : { __typename: 'Comment', id: parentId, field: 'replies' }

/** What the place of a kept comment depends on, from a cache that `read` reads a field of. */
export const placedBy = (read: (field: string) => unknown): ListedComment =>
  Object.fromEntries(['id', 'status', 'replyCount', 'pinnedAt'].map((field) => [field, read(field)])) as never

/** Whether a comment is in the lists: an approved one, or a tombstone that has replies. */
export const isInView = ({ status, replyCount = 0 }: ListedComment): boolean => status === 'approved' || replyCount > 0

/** A negative number where `a` stands before `b`: pinned comments do, the last pinned first. */
function compare(a: ListedComment, b: ListedComment, sort: Sort): number {
  const pins = [a.pinnedAt ?? '', b.pinnedAt ?? ''] as const
  if (pins[0] !== pins[1]) return pins[0] > pins[1] ? -1 : 1
  return (a.id < b.id ? -1 : 1) * (sort === 'oldest' ? 1 : -1)
}

/**
 * Where `comment` belongs among the `others` of its list, in which it is at `at`, or -1. Returns -1
 * where it is not shown: it is out of view, or on a page that is not loaded. In `top` it keeps its
 * place below pinned ones, and a new one is the last.
 */
export function placeOf(
  comment: ListedComment,
  others: readonly ListedComment[],
  { sort, at, hasNextPage }: { sort: Sort; at: number; hasNextPage: boolean },
): number {
  if (!isInView(comment)) return -1
  const isRanked = sort === 'top' && comment.pinnedAt == null
  if (isRanked && at >= 0) return Math.max(at, others.filter(({ pinnedAt }) => pinnedAt != null).length)
  const place = isRanked ? -1 : others.findIndex((other) => compare(comment, other, sort) < 0)
  // The last one of what is loaded stays that.
  const isLast = !hasNextPage || at === others.length
  return place === -1 && isLast ? others.length : place
}

/** `items` with `item` at the index `at`. */
export const withAt = <Item>(items: readonly Item[], at: number, item: Item): Item[] => [
  ...items.slice(0, at),
  item,
  ...items.slice(at),
]
