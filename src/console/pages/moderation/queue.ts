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

export type QueueItem = ModerationQueueQuery['moderationQueue']['nodes'][number]

/** One comment in view. It stays in place whatever happens to it. */
export interface Entry {
  item: QueueItem
  /** The last known state. */
  status: CommentStatus
  pinnedAt: string | null
  /** Who has judged it since it came into view; then it is shown as one line. */
  dealtBy: 'me' | 'another' | null
  /** Whether an action on it is under way. */
  isBusy: boolean
  /** Why the last action on it was refused. */
  refusal: string | null
}

// Changes are pushed; polling covers changes without a message, such as an author's new name.
const POLL_MS = 30_000
/** With fewer waiting comments than this, the next page is loaded. */
const LOAD_AHEAD = 10

/**
 * Which comments of an answer may enter the list: all new ones, or only those after its last
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
 * The queue for a working moderator: nothing in view moves or disappears. New comments wait in
 * `fresh` until requested, and comments that others have judged are marked.
 */
export function useQueue(status: ModerationQueueStatus) {
  const list = useList(ModerationQueueDocument, { status, first: 25 }, (result) => result.moderationQueue, {
    everyMs: POLL_MS,
  })
  const { data, nodes, hasNextPage, isFetching, fetchNextPage, isPlaceholderData, isFetchedAfterMount } = list
  const [entries, setEntries] = useState<readonly Entry[] | null>(null)
  // What the next answer may add to the list: everything, only comments after its end, or nothing.
  const [intake, setIntake] = useState<Intake | null>('all')
  const [hadMore, setHadMore] = useState(false)

  const change = useCallback((id: string, news: Partial<Entry>) => {
    setEntries((before) => before?.map((entry) => (idOf(entry.item) === id ? { ...entry, ...news } : entry)) ?? null)
  }, [])

  // Updated during rendering, not in an effect, so that the old list is never shown beside a new
  // answer.
  const [taken, setTaken] = useState<unknown>(null)
  const isDue = taken !== data || (intake !== null && isFetchedAfterMount)
  if (isDue && nodes !== undefined && !isPlaceholderData) {
    const now = new Map(nodes.map((item) => [idOf(item), item]))
    // The first answer replaces data cached from an earlier visit; after that nothing moves
    // unrequested.
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

  // Comments that left the queue and were not judged here were judged by others: they are few, and
  // are queried one by one.
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
        // It stays unchanged, and is queried again at the next change of the queue.
        .catch(() => undefined)
    }
    return () => stop.abort()
  }, [goneIds, change, status])

  const shown = new Set((entries ?? []).map(({ item }) => idOf(item)))
  const fresh = (nodes ?? []).map(idOf).filter((id) => !shown.has(id))

  // Loads the next comments before the last one is judged. They are added at the end, so that
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
     * The ids of new comments that are not in view; `isBacklog`: they were there before, after the
     * last page.
     */
    fresh,
    isBacklog: hadMore,
    /** Whether further comments may be added to the end of the list. */
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
 * Whether a comment that was just judged, now in that state, still belongs in this queue. Any
 * judgement answers the reports.
 */
export const isWaiting = (state: CommentStatus, queue: ModerationQueueStatus): boolean => state === queue

/** UUIDv7 are in the order of time: the queues are oldest first, rejected comments newest first. */
const inOrder = (queue: ModerationQueueStatus) => {
  const direction = queue === 'rejected' ? -1 : 1
  return (a: string, b: string): number => (a < b ? -direction : a > b ? direction : 0)
}

/** Those of `ids` that come after the last entry. */
function behind(entries: readonly Entry[], ids: readonly string[], queue: ModerationQueueStatus): string[] {
  const compare = inOrder(queue)
  const last = entries.at(-1)
  return ids.filter((id) => last === undefined || compare(id, idOf(last.item)) > 0)
}

/** Every entry in its place, with its present data; new ones that may enter, in their places. */
function refreshed(
  before: readonly Entry[],
  now: ReadonlyMap<string, QueueItem>,
  takes: Intake | null,
  queue: ModerationQueueStatus,
): readonly Entry[] {
  const known = new Set(before.map(({ item }) => idOf(item)))
  const kept = before.map((entry) => {
    const item = now.get(idOf(entry.item))
    // What was done here is more recent than an answer that was under way.
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
