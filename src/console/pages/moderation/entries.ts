import { shallowEqual } from '@mantine/hooks'
import { replaceEqualDeep } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'

import {
  type CommentStatus,
  ModerationQueueDocument,
  type ModerationQueueQuery,
  type ModerationQueueStatus,
  QueuedCommentStateDocument,
} from '../../../generated/console.ts'
import type { Decision } from '../../ui/decision.ts'
import { patchPages } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { whoIsHere } from '../../api/session.ts'
import type { Done } from './deliver.ts'
import { DONE_STATES, type Verb } from './undo.ts'
import { type Part, useAsLeft, useLeave } from './view/as-left.ts'
import { type Order, type Places, placesAfter } from './view/order.ts'

export type QueueItem = ModerationQueueQuery['moderationQueue']['nodes'][number]

/** One comment in view. It stays in place until it is judged here. */
export interface Entry {
  item: QueueItem
  /** The last known state. */
  status: CommentStatus
  pinnedAt: string | null
  /**
   * Who has judged it since it came into view; then it is shown as one line. One that was judged
   * here has left the view, unless a judgement that was sent was undone.
   */
  dealtBy: 'me' | 'another' | null
  /** The name of the colleague who works on it. */
  colleague: string | null
  /** What its author was told with the last decision. */
  decision: Decision | null
  /** Why the last action on it was refused. */
  refusal: string | null
}

/** With fewer waiting comments than this, the next page is loaded. */
const LOAD_AHEAD = 10
/** With fewer than this, known ones are added at the end: as many as a page has. */
const FULL = 25
/** An answer that was asked for before a judgement may still hold the comment for this long. */
const STALE_MS = 30_000
/**
 * A request looks at 10 000 comments: after so many pages without any, the person is asked whether
 * to look further.
 */
const MOST_EMPTY_PAGES = 5

/**
 * Which comments of an answer may enter the list: all new ones, or only those after its last
 * comment.
 */
type Intake = 'all' | 'behind'

/** Judged comments that answers may still hold: until when, in ms; Infinity until they are sent. */
type Away = ReadonlyMap<string, number>

const NONE: Away = new Map()

/** What waits is sent when the page is left, and nobody hears there whether it was refused. */
function sentOnLeaving(away: Away): Away {
  const until = Date.now() + STALE_MS
  return new Map([...away].map(([id, then]) => [id, Math.min(then, until)]))
}

const idOf = ({ comment }: QueueItem): string => comment.id

const without =
  (ids: ReadonlySet<string>) =>
  ({ moderationQueue, ...rest }: ModerationQueueQuery): ModerationQueueQuery => ({
    ...rest,
    moderationQueue: { ...moderationQueue, nodes: moderationQueue.nodes.filter((item) => !ids.has(idOf(item))) },
  })

/** The name of the colleague who works on a comment; null for none. */
export const colleagueOn = ({ claimedBy }: Pick<QueueItem, 'claimedBy'>): string | null =>
  claimedBy == null || claimedBy.memberId === whoIsHere() ? null : (claimedBy.name ?? 'A colleague')

const entryOf = (item: QueueItem): Entry => ({
  item,
  status: item.comment.status,
  pinnedAt: item.comment.pinnedAt ?? null,
  dealtBy: null,
  colleague: colleagueOn(item),
  decision: item.decision ?? null,
  refusal: null,
})

/** A list of the service, page by page. */
interface Listed {
  data: { pages: readonly object[] } | undefined
  dataUpdatedAt: number
  nodes: readonly QueueItem[] | undefined
  error: unknown
  refetch: () => unknown
  hasNextPage: boolean
  isFetching: boolean
  isFetchingNextPage: boolean
  isPlaceholderData: boolean
  isFetchedAfterMount: boolean
  fetchNextPage: () => Promise<unknown>
}

/** What is kept of a list while another page is open. */
interface Left {
  /** Null before the first answer. */
  entries: readonly Entry[] | null
  /** Whether comments were left after the last answer that has added some. */
  hadMore: boolean
  away: Away
  places: Places
}

/**
 * One state, not one for each field: React can drop what is set during rendering while another
 * update waits, and then drops all of it. The next rendering sees that `taken` is not the answer.
 */
interface View extends Left {
  /** What the next answer may add to the list: all, only comments after its end, or nothing. */
  intake: Intake | null
  /** The last answer that is in the list. */
  taken: unknown
}

const ENTRIES: Part<Left> = { name: 'entries' }

export type Entries = ReturnType<typeof useEntries>

interface Kind {
  /** The queue; null for a list of any comments, in which judged ones stay as lines. */
  status: ModerationQueueStatus | null
  order: Order
  emptyPages: number
}

/**
 * A list for a working moderator: nothing in view moves or disappears. New comments wait in `fresh`
 * until requested, and comments that others have judged are marked.
 */
export function useEntries(list: Listed, { status, order, emptyPages }: Kind) {
  const { data, dataUpdatedAt, nodes, hasNextPage, isFetching, fetchNextPage, isPlaceholderData, isFetchedAfterMount } =
    list
  const asLeft = useAsLeft(ENTRIES)
  const [view, setView] = useState<View>(() => ({
    ...(asLeft ?? { entries: null, hadMore: false, away: NONE, places: new Map() }),
    intake: asLeft === null ? 'all' : null,
    taken: null,
  }))
  const { entries, intake, hadMore, away, places } = view
  const isAway = (id: string): boolean => (away.get(id) ?? -1) >= dataUpdatedAt
  useLeave(ENTRIES, () => (entries === null ? null : { entries, hadMore, away: sentOnLeaving(away), places }))
  const compare = order.compare(places)

  const setEntries = useCallback((update: (entries: readonly Entry[]) => readonly Entry[]) => {
    setView((before) => {
      const after = before.entries && update(before.entries)
      return after === before.entries ? before : { ...before, entries: after }
    })
  }, [])
  const setAway = useCallback((update: (away: Away) => Away) => {
    setView((before) => ({ ...before, away: update(before.away) }))
  }, [])
  const setIntake = useCallback((next: Intake) => {
    setView((before) => ({ ...before, intake: next }))
  }, [])
  const change = useCallback(
    (id: string, news: Partial<Entry>) => {
      setEntries((before) => {
        const old = before.find(({ item }) => idOf(item) === id)
        if (old === undefined) return before
        const changed = { ...old, ...news }
        return shallowEqual(old, changed) ? before : before.map((entry) => (entry === old ? changed : entry))
      })
    },
    [setEntries],
  )
  /** Lets comments come into the view again. */
  const stay = useCallback(
    (ids: ReadonlySet<string>) => {
      setAway((before) => new Map([...before].filter(([id]) => !ids.has(id))))
    },
    [setAway],
  )
  /** Takes judged comments out of the view, or makes them lines. */
  const take = (ids: ReadonlySet<string>, verb: Verb): void => {
    const isTaken = ({ item }: Entry): boolean => ids.has(idOf(item))
    if (status === null) {
      const judged = { status: DONE_STATES[verb], dealtBy: 'me', decision: null, refusal: null } as const
      setEntries((before) => before.map((entry) => (isTaken(entry) ? { ...entry, ...judged } : entry)))
      return
    }
    setEntries((before) => before.filter((entry) => !isTaken(entry)))
    setAway((before) => new Map([...before, ...[...ids].map((id) => [id, Infinity] as const)]))
  }
  /** Puts comments into the view, or replaces them there. */
  const bring = (brought: readonly Entry[]): void => {
    const ids = new Set(brought.map(({ item }) => idOf(item)))
    setEntries((before) =>
      [...before.filter(({ item }) => !ids.has(idOf(item))), ...brought].sort((a, b) =>
        compare(idOf(a.item), idOf(b.item)),
      ),
    )
    stay(ids)
  }
  /** Notes what the service has made of comments that were judged here. */
  const forget = useCallback(
    (done: ReadonlyMap<string, Done>) => {
      patchPages(
        ModerationQueueDocument,
        without(new Set(done.keys())),
        ({ moderationQueue }) => moderationQueue.nodes.length === 0,
      )
      // No timer: it would draw the whole list once more for each judgement.
      const until = Date.now() + STALE_MS
      setAway((before) => new Map([...before].map(([id, then]) => [id, done.has(id) ? until : then])))
      setEntries((before) =>
        before.map((entry) => {
          const state = done.get(idOf(entry.item))
          // It may have been judged again meanwhile.
          return state?.status === entry.status ? { ...entry, decision: state.decision } : entry
        }),
      )
    },
    [setAway, setEntries],
  )

  // Updated during rendering, not in an effect, so that the old list is never shown beside a new
  // answer.
  const isDue = view.taken !== data || (intake !== null && isFetchedAfterMount)
  if (isDue && nodes !== undefined && !isPlaceholderData) {
    const now = new Map(nodes.filter((item) => !isAway(idOf(item))).map((item) => [idOf(item), item]))
    // The first answer replaces data cached from an earlier visit; after that nothing moves
    // unrequested.
    const takes = isFetchedAfterMount || asLeft !== null ? intake : 'all'
    const kept = (entries ?? []).filter(
      ({ item, dealtBy }) => takes !== 'all' || now.has(idOf(item)) || dealtBy !== null,
    )
    const known = placesAfter(places, nodes.map(idOf))
    const isIntake = intake !== null && isFetchedAfterMount
    setView({
      taken: data,
      places: known,
      away: new Map([...away].filter(([id]) => isAway(id))),
      entries: refreshed(kept, now, takes, order.compare(known)),
      intake: isIntake ? null : intake,
      hadMore: isIntake ? hasNextPage : hadMore,
    })
  }

  // Comments that left the queue and were not judged here were judged by others: they are few, and
  // are queried one by one.
  const gone = nodes === undefined ? [] : missing(entries ?? [], new Set(nodes.map(idOf)))
  const goneIds = gone.map(({ item }) => idOf(item)).join()
  const isNoLonger = useRef((_id: string, _now: CommentStatus): boolean => false)
  useEffect(() => {
    const before = new Map(gone.map(({ item }) => [idOf(item), item.comment.status]))
    const isOut = order.hasLeft((nodes ?? []).map(idOf), hasNextPage)
    isNoLonger.current = (id, now) => (isOut(id) ? !isWaiting(now, status) : now !== before.get(id))
  })
  useEffect(() => {
    const stop = new AbortController()
    const isDealt = isNoLonger.current
    for (const id of goneIds.split(',').filter((each) => each !== '')) {
      request(QueuedCommentStateDocument, { id }, stop.signal)
        .then(({ comment }) => {
          const state = stateOf(comment)
          if (isDealt(id, state.status)) change(id, { ...state, dealtBy: 'another', decision: null })
        })
        // It stays unchanged, and is queried again at the next change of the queue.
        .catch(() => undefined)
    }
    return () => stop.abort()
  }, [goneIds, change])

  const shown = new Set((entries ?? []).map(({ item }) => idOf(item)))
  const fresh = (nodes ?? []).map(idOf).filter((id) => !shown.has(id) && !isAway(id))

  // Loads the next comments before the last one is judged. They are added at the end, so that
  // nothing in view moves.
  const waiting = entries?.filter(({ dealtBy }) => dealtBy === null).length
  const isBelow = (count: number): boolean => waiting !== undefined && waiting < count && hadMore && list.error == null
  const isLow = isBelow(LOAD_AHEAD)
  const isBehind = isBelow(FULL) && behind(entries ?? [], fresh, compare).length > 0
  if (isBehind && intake === null) setIntake('behind')
  const isSparse = emptyPages >= MOST_EMPTY_PAGES
  const isToLoad = isLow && !isBehind && hasNextPage && !isFetching && !isSparse
  useEffect(() => {
    if (isToLoad) void fetchNextPage().then(() => setIntake('behind'))
  }, [isToLoad, fetchNextPage, setIntake])

  return {
    status,
    list,
    entries,
    change,
    take,
    bring,
    forget,
    stay,
    /**
     * The ids of new comments that are not in view; `isBacklog`: they were there before, after the
     * last page.
     */
    fresh,
    isBacklog: hadMore,
    /** Whether the next page is loaded, or is about to be. */
    isLoadingAhead: isToLoad || list.isFetchingNextPage,
    showFresh: () => setIntake('all'),
    loadMore: async () => {
      await fetchNextPage()
      setIntake('all')
    },
    clearDealt: () => setEntries((before) => before.filter(({ dealtBy }) => dealtBy === null)),
  }
}

const stateOf = (comment: { status: CommentStatus; pinnedAt?: string | null } | null | undefined) =>
  comment == null
    ? { status: 'deleted' as const, pinnedAt: null }
    : { status: comment.status, pinnedAt: comment.pinnedAt ?? null }

const missing = (entries: readonly Entry[], now: ReadonlySet<string>): Entry[] =>
  entries.filter(({ item, dealtBy }) => dealtBy === null && !now.has(idOf(item)))

/**
 * Whether a comment that was just judged, now in that state, still belongs in this queue. Any
 * judgement answers the reports.
 */
export const isWaiting = (state: CommentStatus, queue: ModerationQueueStatus | null): boolean =>
  queue === null || state === queue

type Compare = (a: string, b: string) => number

/** Those of `ids` that come after the last waiting entry. */
function behind(entries: readonly Entry[], ids: readonly string[], compare: Compare): string[] {
  const last = entries.findLast(({ dealtBy }) => dealtBy === null)
  return ids.filter((id) => last === undefined || compare(id, idOf(last.item)) > 0)
}

/** Every entry in its place, with its present data; new ones that may enter, in their places. */
function refreshed(
  before: readonly Entry[],
  now: ReadonlyMap<string, QueueItem>,
  takes: Intake | null,
  compare: Compare,
): readonly Entry[] {
  const known = new Set(before.map(({ item }) => idOf(item)))
  const kept = before.map((entry) => {
    const item = now.get(idOf(entry.item))
    // What was done here is more recent than an answer that was under way.
    if (item === undefined || entry.dealtBy === 'me') return entry
    // An unchanged one stays the same object, whatever page it is in now: it is not drawn again.
    const present = { ...entryOf(replaceEqualDeep(entry.item, item)), refusal: entry.refusal }
    return shallowEqual(entry, present) ? entry : present
  })
  if (takes === null) return kept
  const unknown = [...now.keys()].filter((id) => !known.has(id))
  const admitted = new Set(takes === 'all' ? unknown : behind(before, unknown, compare))
  const fresh = [...now.values()].filter((item) => admitted.has(idOf(item))).map(entryOf)
  return [...kept, ...fresh].sort((a, b) => compare(idOf(a.item), idOf(b.item)))
}
