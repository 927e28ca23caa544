import {
  type CommentSort,
  MarkedDocument,
  type MarkedQuery,
  type ThreadCommentFragment,
} from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import type { Desk } from './desk.ts'

export const MARKS = ['pending', 'reported', 'rejected'] as const

/** Marks of comments that only moderators see, or that readers have reported. */
export type Mark = (typeof MARKS)[number]

type Item = MarkedQuery['pending']['nodes'][number]

/** The comments of a discussion that are out of view or reported: the first 100 of each. */
export interface Marks {
  lists: Readonly<Record<Mark, readonly Item[]>>
  /** Whether there are more. */
  hasMore: Readonly<Record<Mark, boolean>>
  /** Comments that are not approved, by parent; those at the top level under null. */
  hidden: ReadonlyMap<string | null, readonly ThreadCommentFragment[]>
  /** Why a comment is held and how often it was reported, by id. */
  about: ReadonlyMap<string, Item>
}

const marksOf = (answer: MarkedQuery): Marks => {
  const lists = {
    pending: answer.pending.nodes,
    rejected: answer.rejected.nodes,
    reported: answer.reported.nodes,
  }
  const hidden = new Map<string | null, ThreadCommentFragment[]>()
  for (const { comment } of [...lists.pending, ...lists.rejected]) {
    const parentId = comment.parentId ?? null
    hidden.set(parentId, [...(hidden.get(parentId) ?? []), comment])
  }
  const items = [...lists.reported, ...lists.pending, ...lists.rejected]
  return {
    lists,
    hasMore: {
      pending: answer.pending.pageInfo.hasNextPage,
      rejected: answer.rejected.pageInfo.hasNextPage,
      reported: answer.reported.pageInfo.hasNextPage,
    },
    hidden,
    about: new Map(items.map((item) => [item.comment.id, item])),
  }
}

export function useMarks(discussionId: string) {
  const query = useApi(MarkedDocument, { id: discussionId })
  return { ...query, data: query.data === undefined ? undefined : marksOf(query.data) }
}

/** The number of comments with a mark, in words, as the actions on the page leave it. */
export function countOf(
  mark: Mark,
  { lists, hasMore }: Pick<Marks, 'lists' | 'hasMore'>,
  { statusAfter, rejected }: Pick<Desk, 'statusAfter' | 'rejected'>,
): string {
  const ids = lists[mark].map(({ comment }) => comment.id)
  // Any judgement answers the reports.
  const left = ids.filter((id) => (statusAfter(id) ?? mark) === mark)
  const come = mark === 'rejected' ? rejected.filter((id) => !ids.includes(id)) : []
  return `${left.length + come.length}${hasMore[mark] ? '+' : ''}`
}

/**
 * A level of the thread with hidden comments inserted among those in view, in the place of their
 * tombstones where they have one; `isWhole` says whether the level is complete. Hidden comments
 * after the last visible one appear with the next page. Ids are in the order of time.
 */
export function withHidden(
  shown: readonly ThreadCommentFragment[],
  hidden: readonly ThreadCommentFragment[],
  { sort, isWhole }: { sort: CommentSort; isWhole: boolean },
): readonly ThreadCommentFragment[] {
  const known = new Set(shown.map(({ id }) => id))
  const behind = new Map(hidden.map((comment) => [comment.id, comment]))
  const inView = shown.map((comment) => behind.get(comment.id) ?? comment)
  const others = hidden.filter(({ id }) => !known.has(id))
  // Comments out of view have no reactions, so they have no place in an order by reactions.
  if (sort === 'top') return [...others, ...inView]
  const isBefore = (a: string, b: string): boolean => (sort === 'newest' ? a > b : a < b)
  const pinned = inView.filter(({ pinnedAt }) => pinnedAt !== null)
  const rest = inView.filter(({ pinnedAt }) => pinnedAt === null)
  const last = rest.at(-1)?.id
  const placed = others.filter(({ id }) => isWhole || (last !== undefined && isBefore(id, last)))
  return [...pinned, ...[...rest, ...placed].sort((a, b) => (isBefore(a.id, b.id) ? -1 : 1))]
}
