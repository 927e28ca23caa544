import { ReaderHistoryDocument } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { type QueueItem, useEntries } from '../moderation/entries.ts'
import { orderByTime } from '../moderation/view/order.ts'

/** A reader's comments, in any state, as they are worked on. */
export function useHistory(id: string) {
  const list = useList(ReaderHistoryDocument, { id, first: 20 }, ({ reader }) => reader?.comments, { everyMs: 5_000 })
  const nodes = list.nodes?.map((comment): QueueItem => ({
    comment,
    reason: null,
    holdDetails: [],
    reportCount: comment.reports?.nodes.length ?? 0,
    openReportCount: 0,
    decision: null,
    claimedBy: null,
  }))
  return useEntries({ ...list, nodes }, { status: null, order: orderByTime('newest'), emptyPages: 0 })
}
