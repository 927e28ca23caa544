import { isRanked, type QueueView, sortOf } from './view.ts'

/** Where the answers of the service had each comment, the latest answer that had it. */
export type Places = ReadonlyMap<string, number>

export const placesAfter = (before: Places, ids: readonly string[]): Places =>
  new Map([...before, ...ids.map((id, index) => [id, index] as const)])

/** The order of a list. */
export interface Order {
  compare: (places: Places) => (a: string, b: string) => number
  /** See `hasLeft`. */
  hasLeft: (ids: readonly string[], hasNextPage: boolean) => (id: string) => boolean
}

/** The order of a list of any comments: UUIDv7 are in the order of time. */
export const orderByTime = (sort: 'newest' | 'oldest'): Order => ({
  compare: () => (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (sort === 'oldest' ? 1 : -1),
  // A comment that is in no answer any more, such as one of another search, is still there.
  hasLeft: () => () => false,
})

/** The order of a view. UUIDv7 are in the order of time; other orders are those of the answers. */
export function orderOf(view: QueueView, places: Places): (a: string, b: string) => number {
  const sort = sortOf(view)
  if (isRanked(sort)) return (a, b) => placeOf(places, a) - placeOf(places, b)
  const direction = sort === 'newest' ? -1 : 1
  return (a, b) => (a < b ? -direction : a > b ? direction : 0)
}

const placeOf = (places: Places, id: string): number => places.get(id) ?? Number.MAX_SAFE_INTEGER

/**
 * Whether an answer with these ids says that a comment has left the queue, and not only that it has
 * come to a later page.
 */
export function hasLeft(view: QueueView, ids: readonly string[], hasNextPage: boolean): (id: string) => boolean {
  if (!hasNextPage) return () => true
  const last = ids.at(-1)
  if (isRanked(sortOf(view)) || last === undefined) return () => false
  const compare = orderOf(view, new Map())
  return (id) => compare(id, last) < 0
}
