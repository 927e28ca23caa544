import { CommentSearchDocument, type CommentSearchQueryVariables } from '../../../../generated/console.ts'
import { useList } from '../../../api/queries.ts'
import { withoutMentions } from '../../../ui/mentions.ts'
import { type QueueItem, useEntries } from '../entries.ts'
import { orderByTime } from '../view/order.ts'
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
    decision: null,
    claimedBy: null,
  }))
  const emptyPages = data?.pages.filter(({ comments }) => comments.nodes.length === 0).length ?? 0
  const entries = useEntries(
    { ...list, nodes },
    { status: null, order: orderByTime(wanted.sort ?? 'newest'), emptyPages },
  )
  return { entries, isPartial: data?.pages.at(-1)?.comments.partial === true }
}
