import { ModerationQueueDocument } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { useEntries } from './entries.ts'
import { hasLeft, orderOf } from './view/order.ts'
import type { QueueView } from './view/view.ts'

// Changes are pushed; polling covers changes without a message, such as an author's new name.
const POLL_MS = 30_000

/** A queue as it is worked on. */
export function useQueue(view: QueueView) {
  const { status, reason, readerId: authorId, discussionId, sort } = view
  const variables = { status, reason, authorId, discussionId, sort, first: 25 }
  const list = useList(ModerationQueueDocument, variables, (result) => result.moderationQueue, { everyMs: POLL_MS })
  const emptyPages = list.data?.pages.filter(({ moderationQueue }) => moderationQueue.nodes.length === 0).length ?? 0
  const order = {
    compare: (places: ReadonlyMap<string, number>) => orderOf(view, places),
    hasLeft: (ids: readonly string[], hasNextPage: boolean) => hasLeft(view, ids, hasNextPage),
  }
  return useEntries(list, { status, order, emptyPages })
}
