import type { HoldReason, ModerationQueueSort, ModerationQueueStatus } from '../../../../generated/console.ts'
import { HOLD_REASONS } from '../../../ui/hold-reasons.ts'
import { useSearch } from '../../../ui/inputs/filters.ts'

/** What a queue shows, and in which order. Null stands for any, or for the usual order. */
export interface QueueView {
  status: ModerationQueueStatus
  reason: HoldReason | null
  readerId: string | null
  discussionId: string | null
  sort: ModerationQueueSort | null
}

export const QUEUES: Readonly<Record<ModerationQueueStatus, string>> = {
  pending: 'Pending',
  reported: 'Reported',
  unreviewed: 'Unreviewed',
  rejected: 'Rejected',
}

export const SORTS: Readonly<Record<ModerationQueueSort, string>> = {
  oldest: 'Oldest first',
  newest: 'Newest first',
  most_reported: 'Most reported first',
  busiest: 'Busiest pages first',
}

/** The order that a queue has by itself. */
const USUAL: Readonly<Record<ModerationQueueStatus, 'oldest' | 'newest'>> = {
  pending: 'oldest',
  reported: 'oldest',
  unreviewed: 'newest',
  rejected: 'newest',
}

export const sortOf = ({ status, sort }: QueueView): ModerationQueueSort => sort ?? USUAL[status]

/** The orders that a queue can have. */
export const sortsOf = (status: ModerationQueueStatus): ModerationQueueSort[] =>
  Object.keys(SORTS).filter(
    (sort) => isSort(sort) && (status !== 'unreviewed' || !isRanked(sort)),
  ) as ModerationQueueSort[]

/** Whether the order is one that no id tells. */
export const isRanked = (sort: ModerationQueueSort): boolean => sort === 'most_reported' || sort === 'busiest'

const isStatus = (name: string | null): name is ModerationQueueStatus => name !== null && Object.hasOwn(QUEUES, name)
const isSort = (name: string | null): name is ModerationQueueSort => name !== null && Object.hasOwn(SORTS, name)
const isReason = (name: string | null): name is HoldReason => name !== null && Object.hasOwn(HOLD_REASONS, name)

/** The names in the address. */
const NAMES: Readonly<Record<keyof QueueView, string>> = {
  status: 'status',
  reason: 'reason',
  readerId: 'reader',
  discussionId: 'discussion',
  sort: 'sort',
}

function viewOf(params: URLSearchParams): QueueView {
  const given = params.get(NAMES.status)
  const status = isStatus(given) ? given : 'pending'
  const [sort, reason] = [params.get(NAMES.sort), params.get(NAMES.reason)]
  const isOther = isSort(sort) && sort !== USUAL[status] && sortsOf(status).includes(sort)
  return {
    status,
    reason: isReason(reason) ? reason : null,
    readerId: params.get(NAMES.readerId),
    discussionId: params.get(NAMES.discussionId),
    sort: isOther ? sort : null,
  }
}

function putInto(params: URLSearchParams, view: QueueView): void {
  for (const [key, name] of Object.entries(NAMES)) {
    const value = view[key as keyof QueueView]
    if (value === null || (key === 'status' && value === 'pending')) params.delete(name)
    else params.set(name, value)
  }
}

/** The view in the address. A change of it is a step back in the browser's history. */
export function useQueueView() {
  const [params, change] = useSearch()
  return {
    view: viewOf(params),
    /** Whether the address has chosen nothing. */
    isUsual: Object.values(NAMES).every((name) => !params.has(name)),
    change: (news: Partial<QueueView>, options?: { replace: boolean }) =>
      change((now) => putInto(now, { ...viewOf(now), ...news }), options),
  }
}
