import { CommentSearchDocument, type CommentSearchQueryVariables } from '../../../../generated/console.ts'
import { useList } from '../../../api/queries.ts'
import { withoutMentions } from '../../../ui/mentions.ts'
import { type QueueItem, useEntries } from '../view/entries.ts'
import { wordsIn } from './words.ts'

export type Wanted = Omit<CommentSearchQueryVariables, 'first' | 'after'>

/** The comments that a search has found, as they are worked on. */
export function useFound(wanted: Wanted) {
  const list = useList(CommentSearchDocument, { ...wanted, first: 25 }, (result) => result.comments)
  const { data } = list
  const nodes = list.nodes?.map((comment): QueueItem => ({
    comment,
    reason: null,
    holdDetails: wordsIn(withoutMentions(comment.body ?? ''), wanted.search ?? ''),
    reportCount: comment.reports?.nodes.length ?? 0,
    openReportCount: 0,
    claimedBy: null,
  }))
  const emptyPages = data?.pages.filter(({ comments }) => comments.nodes.length === 0).length ?? 0
  const entries = useEntries({ ...list, nodes }, { status: null, order: orderBy(wanted.sort), emptyPages })
  return { entries, isPartial: data?.pages.at(-1)?.comments.partial === true }
}

/** UUIDv7 are in the order of time. */
const orderBy = (sort: Wanted['sort']) => ({
  compare: () => (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0) * (sort === 'oldest' ? 1 : -1),
  // A comment that another search would find is still there.
  hasLeft: () => () => false,
})
