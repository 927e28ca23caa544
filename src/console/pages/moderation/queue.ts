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
/** Fewer comments that wait than this, and the next page is loaded. */
const LOAD_AHEAD = 10

/**
 * What an answer may put into the list: everything that is new, or only what stands behind its last
 * comment.
 */
type Intake = 'all' | 'behind'

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
 * The queue as somebody works through it: nothing in view moves or goes. What has come meanwhile
 * waits in `fresh` until it is asked for, and what others have dealt with is marked.
 */
export function useQueue(status: ModerationQueueStatus) {
  const list = useList(ModerationQueueDocument, { status, first: 25 }, (result) => result.moderationQueue, {
    everyMs: POLL_MS,
  })
  const { data, nodes, hasNextPage, isFetching, fetchNextPage, isPlaceholderData, isFetchedAfterMount } = list
  const [entries, setEntries] = useState<readonly Entry[] | null>(null)
  // What the next answer may put into the list: everything, only what stands behind its end, or
  // nothing.
  const [intake, setIntake] = useState<Intake | null>('all')
  const [hadMore, setHadMore] = useState(false)

  const change = useCallback((id: string, news: Partial<Entry>) => {
    setEntries((before) => before?.map((entry) => (idOf(entry.item) === id ? { ...entry, ...news } : entry)) ?? null)
  }, [])

  // While it renders, not in an effect: nobody sees the list as it was beside an answer that has
  // come.
  const [taken, setTaken] = useState<unknown>(null)
  const isDue = taken !== data || (intake !== null && isFetchedAfterMount)
  if (isDue && nodes !== undefined && !isPlaceholderData) {
    const now = new Map(nodes.map((item) => [idOf(item), item]))
    // What was remembered from an earlier visit is replaced by the first answer; from then on
    // nothing moves unasked.
    const takes = isFetchedAfterMount ? intake : 'all'
    const kept = (entries ?? []).filter(
      ({ item, dealtBy }) => takes !== 'all' || now.has(idOf(item)) || dealtBy !== null,
    )
    setTaken(data)
    setEntries(refreshed(kept, now, takes, status))
    if (intake !== null && isFetchedAfterMount) {
      setIntake(null)
      setHadMore(hasNextPage)
    }
  }

  // Who is in view no longer, and was not dealt with here, was by somebody else: asked for one by
  // one, as they are few.
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
  const fresh = (nodes ?? []).map(idOf).filter((id) => !shown.has(id))

  // The next comments are there before the last one is judged. They come at the end, so that
  // nothing in view moves.
  const waiting = entries?.filter(({ dealtBy }) => dealtBy === null).length
  const isLow = waiting !== undefined && waiting < LOAD_AHEAD && hadMore && list.error == null
  const isBehind = isLow && behind(entries ?? [], fresh, status).length > 0
  if (isBehind && intake === null) setIntake('behind')
  const isToLoad = isLow && !isBehind && hasNextPage && !isFetching
  useEffect(() => {
    if (isToLoad) void fetchNextPage().then(() => setIntake('behind'))
  }, [isToLoad, fetchNextPage])

  return {
    list,
    entries,
    change,
    /**
     * The ids of those that have come and are not in view; `isBacklog`: they were there, behind the
     * last page.
     */
    fresh,
    isBacklog: hadMore,
    /** Whether comments may still come by themselves at the end of the list. */
    isLoadingAhead: isLow && (isBehind || hasNextPage || isFetching),
    showFresh: () => setIntake('all'),
    loadMore: async () => {
      await fetchNextPage()
      setIntake('all')
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

/**
 * Whether a comment of that state, just judged, is still one for this queue. Any judgement answers
 * the reports.
 */
export const isWaiting = (state: CommentStatus, queue: ModerationQueueStatus): boolean => state === queue

/**
 * UUIDv7 are in the order of time: the queue is oldest first, that of rejected comments newest
 * first.
 */
const inOrder = (queue: ModerationQueueStatus) => {
  const direction = queue === 'rejected' ? -1 : 1
  return (a: string, b: string): number => (a < b ? -direction : a > b ? direction : 0)
}

/** Those of `ids` that stand behind the last entry. */
function behind(entries: readonly Entry[], ids: readonly string[], queue: ModerationQueueStatus): string[] {
  const compare = inOrder(queue)
  const last = entries.at(-1)
  return ids.filter((id) => last === undefined || compare(id, idOf(last.item)) > 0)
}

/**
 * Every entry where it is, as the service now has it; those that are new and may come in, in their
 * places.
 */
function refreshed(
  before: readonly Entry[],
  now: ReadonlyMap<string, QueueItem>,
  takes: Intake | null,
  queue: ModerationQueueStatus,
): readonly Entry[] {
  const known = new Set(before.map(({ item }) => idOf(item)))
  const kept = before.map((entry) => {
    const item = now.get(idOf(entry.item))
    // What was done here is known better than by an answer that was on its way.
    if (item === undefined || entry.dealtBy === 'me' || entry.isBusy) return entry
    return { ...entryOf(item), refusal: entry.refusal }
  })
  if (takes === null) return kept
  const unknown = [...now.keys()].filter((id) => !known.has(id))
  const admitted = new Set(takes === 'all' ? unknown : behind(before, unknown, queue))
  const fresh = [...now.values()].filter((item) => admitted.has(idOf(item))).map(entryOf)
  const compare = inOrder(queue)
  return [...kept, ...fresh].sort((a, b) => compare(idOf(a.item), idOf(b.item)))
}
