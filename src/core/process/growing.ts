/**
 * Options for an LRUCache of up to `entries` small entries, such as ids, that allocates as it
 * grows. With `max` it allocates all at once: 5 MB for 200 000 entries, and some 15 ms of each
 * start for all caches. A `Room` (`core/cache.ts`) is for entries that callers can make long.
 */
export const growing = (entries: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
})
