import { LRUCache } from 'lru-cache'

import { type CacheNews, CHANNELS } from './bus.ts'
import { afterCommit, type App, perApp } from './context.ts'
import { growing } from './process/growing.ts'

/**
 * The greatest age of a cached value. A bus message drops an entry sooner; without the bus, this
 * bound alone must guarantee that a revoked key ends within 5 s.
 */
export const MAX_AGE_MS = 4000

export interface ReadCache<Value> {
  /** The cached value, or what `read` finds. Concurrent reads of one key are one read. */
  readonly get: (key: string) => Promise<Value>
  /** The cached value, if it is there already; else undefined. */
  readonly peek: (key: string) => Value | undefined
  /**
   * Whether `get` would begin the first read of this key, as far as the cache knows: the last read,
   * if any, found no value to keep.
   */
  readonly isNew: (key: string) => boolean
  readonly forget: (key: string) => void
  readonly clear: () => void
}

interface CachedRead<Value> {
  value: Promise<Value>
  /** The value, once it is read. */
  known?: Value
  /** When the read began, not when it ended: its data may be as old as that. */
  since: number
}

/**
 * A bounded cache in front of `read`. It does not keep failures, nor values that `keep` refuses
 * (such as null).
 */
export function createReadCache<Value>(options: {
  max: number
  maxAgeMs?: number
  read: (key: string) => Promise<Value>
  keep?: (value: Value) => boolean
}): ReadCache<Value> {
  const { max, maxAgeMs = MAX_AGE_MS, read, keep = () => true } = options
  const entries = new LRUCache<string, CachedRead<Value>>(growing(max))
  /** Keys that were found. Unlike entries they do not expire, and outlive a dropped entry. */
  const found = new LRUCache<string, true>(growing(max))

  const start = (key: string): Promise<Value> => {
    const entry: CachedRead<Value> = { value: read(key), since: performance.now() }
    entries.set(key, entry)
    const drop = () => {
      if (entries.peek(key) === entry) entries.delete(key)
    }
    entry.value.then((value) => {
      if (keep(value)) {
        entry.known = value
        found.set(key, true)
      } else {
        found.delete(key)
        drop()
      }
    }, drop)
    return entry.value
  }

  const fresh = (key: string): CachedRead<Value> | undefined => {
    const entry = entries.get(key)
    return entry !== undefined && performance.now() - entry.since < maxAgeMs ? entry : undefined
  }

  return {
    get: (key) => fresh(key)?.value ?? start(key),
    peek: (key) => fresh(key)?.known,
    isNew: (key) => !found.has(key) && !entries.has(key),
    forget: (key) => entries.delete(key),
    clear: () => entries.clear(),
  }
}

type Listener = {
  [Kind in CacheNews['kind']]: {
    kind: Kind
    forget: (news: Extract<CacheNews, { kind: Kind }>) => void
    clear: () => void
  }
}[CacheNews['kind']]

const newsOf = perApp((app) => {
  const listeners = new Set<Listener>()
  const hear = (news: CacheNews): void => {
    for (const listener of listeners)
      if (listener.kind === news.kind) (listener.forget as (news: CacheNews) => void)(news)
  }
  const clearAll = (): void => listeners.forEach((listener) => listener.clear())
  app.bus.onGap(clearAll)
  // Changes from before the subscription was in force were missed.
  app.bus
    .subscribe(CHANNELS.caches, (message) => {
      const news = decodeCacheNews(message)
      if (news !== null) hear(news)
    })
    .then(clearAll, (error: unknown) =>
      app.log.warn({ err: error }, 'caches get no invalidations; their entries expire instead'),
    )
  return { listeners, hear }
})

/** Calls `listener` for cache messages of one kind, from this process and all others. */
export function followCacheNews(app: App, listener: Listener): void {
  newsOf(app).listeners.add(listener)
}

/** Has every process, this one at once, drop what has changed. Call it after the commit. */
export function announceChange(app: App, news: CacheNews): void {
  afterCommit(app, () => newsOf(app).hear(news))
  app.bus.publish(CHANNELS.caches, JSON.stringify(news))
}

function decodeCacheNews(message: string): CacheNews | null {
  try {
    const news = JSON.parse(message) as CacheNews | null
    return typeof news === 'object' ? news : null
  } catch {
    return null
  }
}
