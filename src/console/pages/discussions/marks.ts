import {
  type CommentSort,
  MarkedDocument,
  type MarkedQuery,
  type ThreadCommentFragment,
} from '../../../generated/console.ts'
import { nodesOf, useApi } from '../../api/queries.ts'

export const MARKS = ['pending', 'reported', 'rejected'] as const

/** What a moderator is shown of a comment that readers are not, or that they complain of. */
export type Mark = (typeof MARKS)[number]

type Item = MarkedQuery['pending']['edges'][number]['node']

/** The comments of a discussion that are out of view or reported: the first 100 of each. */
export interface Marks {
  lists: Readonly<Record<Mark, readonly Item[]>>
  /** How many there are, in words. */
  counts: Readonly<Record<Mark, string>>
  /** Those out of view, by the comment that they reply to; those at the top by null. */
  hidden: ReadonlyMap<string | null, readonly ThreadCommentFragment[]>
  /** Why a comment waits and how often it was reported, by its id. */
  about: ReadonlyMap<string, Item>
}

const marksOf = (answer: MarkedQuery): Marks => {
  const lists = {
    pending: nodesOf(answer.pending),
    rejected: nodesOf(answer.rejected),
    reported: nodesOf(answer.reported),
  }
  const countOf = (mark: Mark): string => `${lists[mark].length}${answer[mark].pageInfo.hasNextPage ? '+' : ''}`
  const hidden = new Map<string | null, ThreadCommentFragment[]>()
  for (const { comment } of [...lists.pending, ...lists.rejected]) {
    const parentId = comment.parentId ?? null
    hidden.set(parentId, [...(hidden.get(parentId) ?? []), comment])
  }
  const items = [...lists.reported, ...lists.pending, ...lists.rejected]
  return {
    lists,
    counts: { pending: countOf('pending'), rejected: countOf('rejected'), reported: countOf('reported') },
    hidden,
    about: new Map(items.map((item) => [item.comment.id, item])),
  }
}

export function useMarks(discussionId: string) {
  const query = useApi(MarkedDocument, { id: discussionId })
  return { ...query, data: query.data === undefined ? undefined : marksOf(query.data) }
}

/**
 * A level of the thread with those out of view at their place among those in view, of which
 * `isWhole` says whether there are more. What stands behind the last of them appears with the next
 * page. Ids are in the order of time.
 */
export function withHidden(
  inView: readonly ThreadCommentFragment[],
  hidden: readonly ThreadCommentFragment[],
  { sort, isWhole }: { sort: CommentSort; isWhole: boolean },
): readonly ThreadCommentFragment[] {
  const known = new Set(inView.map(({ id }) => id))
  const others = hidden.filter(({ id }) => !known.has(id))
  // Nobody can react to one out of view: it has no place by reactions.
  if (sort === 'top') return [...others, ...inView]
  const isBefore = (a: string, b: string): boolean => (sort === 'newest' ? a > b : a < b)
  const pinned = inView.filter(({ pinnedAt }) => pinnedAt !== null)
  const rest = inView.filter(({ pinnedAt }) => pinnedAt === null)
  const last = rest.at(-1)?.id
  const placed = others.filter(({ id }) => isWhole || (last !== undefined && isBefore(id, last)))
  return [...pinned, ...[...rest, ...placed].sort((a, b) => (isBefore(a.id, b.id) ? -1 : 1))]
}
