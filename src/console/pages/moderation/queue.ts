import { useCallback, useEffect, useState } from 'react'

import {
  type CommentStatus,
  ModerationQueueDocument,
  type ModerationQueueQuery,
  type ModerationQueueStatus,
  QueuedCommentStateDocument,
} from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { request } from '../../api/request.ts'

export type QueueItem = ModerationQueueQuery['moderationQueue']['edges'][number]['node']

/** One comment of the list in view, which stays where it is whatever becomes of it. */
export interface Entry {
  item: QueueItem
  /** As last heard. */
  status: CommentStatus
  pinnedAt: string | null
  /** Who has dealt with it since it came into view; then it is a line that says so. */
  dealtBy: 'me' | 'another' | null
  /** What is done to it here is under way. */
  isBusy: boolean
  /** Why the last thing that was done to it was refused. */
  refusal: string | null
}

// Changes are told; this is for what nobody is told of, such as another name of an author.
const POLL_MS = 30_000
const idOf = ({ comment }: QueueItem): string => comment.id

const entryOf = (item: QueueItem): Entry => ({
  item,
  status: item.comment.status,
  pinnedAt: item.comment.pinnedAt ?? null,
  dealtBy: null,
  isBusy: false,
  refusal: null,
})

/**
 * The queue as somebody works through it: nothing in view moves or goes. What has come meanwhile waits in `fresh` until
 * it is asked for, and what others have dealt with is marked.
 */
export function useQueue(status: ModerationQueueStatus) {
  const list = useList(ModerationQueueDocument, { status, first: 25 }, (result) => result.moderationQueue, {
    everyMs: POLL_MS,
  })
  const { data, nodes, hasNextPage, isPlaceholderData, isFetchedAfterMount } = list
  const [entries, setEntries] = useState<readonly Entry[] | null>(null)
  // Another page was asked for: what comes next is put in without asking.
  const [isMore, setMore] = useState(true)
  const [hadMore, setHadMore] = useState(false)

  const change = useCallback((id: string, news: Partial<Entry>) => {
    setEntries((before) => before?.map((entry) => (idOf(entry.item) === id ? { ...entry, ...news } : entry)) ?? null)
  }, [])

  // While it renders, not in an effect: nobody sees the list as it was beside an answer that has come.
  const [taken, setTaken] = useState<unknown>(null)
  const isDue = taken !== data || (isMore && isFetchedAfterMount)
  if (isDue && nodes !== undefined && !isPlaceholderData) {
    const now = new Map(nodes.map((item) => [idOf(item), item]))
    // What was remembered from an earlier visit is replaced by the first answer; from then on nothing moves unasked.
    const takesIn = isMore || !isFetchedAfterMount
    const kept = (entries ?? []).filter(({ item, dealtBy }) => !takesIn || now.has(idOf(item)) || dealtBy !== null)
    setTaken(data)
    setEntries(refreshed(kept, now, takesIn, status))
    if (isMore && isFetchedAfterMount) {
      setMore(false)
      setHadMore(hasNextPage)
    }
  }

  // Who is in view no longer, and was not dealt with here, was by somebody else: asked for one by one, as they are few.
  const gone = nodes === undefined ? [] : missing(entries ?? [], new Set(nodes.map(idOf)))
  const goneIds = gone.join()
  useEffect(() => {
    const stop = new AbortController()
    for (const id of goneIds.split(',').filter((each) => each !== '')) {
      request(QueuedCommentStateDocument, { id }, stop.signal)
        .then(({ comment }) => {
          const state = stateOf(comment)
          if (!isWaiting(state.status, status)) change(id, { ...state, dealtBy: 'another' })
        })
        // It stays as it is, and is asked for again at the next change of the queue.
        .catch(() => undefined)
    }
    return () => stop.abort()
  }, [goneIds, change, status])

  const shown = new Set((entries ?? []).map(({ item }) => idOf(item)))
  return {
    list,
    entries,
    change,
    /** The ids of those that have come and are not in view; `isBacklog`: they were there, behind the last page. */
    fresh: (nodes ?? []).map(idOf).filter((id) => !shown.has(id)),
    isBacklog: hadMore,
    showFresh: () => setMore(true),
    loadMore: async () => {
      await list.fetchNextPage()
      setMore(true)
    },
    clearDealt: () => setEntries((before) => before?.filter(({ dealtBy }) => dealtBy === null) ?? null),
  }
}

const stateOf = (comment: { status: CommentStatus; pinnedAt?: string | null } | null | undefined) =>
  comment == null
    ? { status: 'deleted' as const, pinnedAt: null }
    : { status: comment.status, pinnedAt: comment.pinnedAt ?? null }

const missing = (entries: readonly Entry[], now: ReadonlySet<string>): string[] =>
  entries
    .filter(({ item, dealtBy, isBusy }) => dealtBy === null && !isBusy && !now.has(idOf(item)))
    .map(({ item }) => idOf(item))

/** Whether a comment of that state, just judged, is still one for this queue. Any judgement answers the reports. */
export const isWaiting = (state: CommentStatus, queue: ModerationQueueStatus): boolean => state === queue

/** Every entry where it is, as the service now has it; with `takesIn` those that are new, in their places. */
function refreshed(
  before: readonly Entry[],
  now: ReadonlyMap<string, QueueItem>,
  takesIn: boolean,
  queue: ModerationQueueStatus,
): readonly Entry[] {
  const known = new Set(before.map(({ item }) => idOf(item)))
  const kept = before.map((entry) => {
    const item = now.get(idOf(entry.item))
    // What was done here is known better than by an answer that was on its way.
    if (item === undefined || entry.dealtBy === 'me' || entry.isBusy) return entry
    return { ...entryOf(item), refusal: entry.refusal }
  })
  if (!takesIn) return kept
  const fresh = [...now.values()].filter((item) => !known.has(idOf(item))).map(entryOf)
  // UUIDv7 are in the order of time: the queue is oldest first, that of rejected comments newest first.
  const direction = queue === 'rejected' ? -1 : 1
  return [...kept, ...fresh].sort((a, b) => (idOf(a.item) < idOf(b.item) ? -direction : direction))
}
