import { type CacheNews, CHANNELS } from './bus.ts'
import { afterCommit, type App, perApp } from './app.ts'
import { bytesOfValue, type Room } from './cache.ts'

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
  /** Has all values of a group read again, such as those of a tenant (`groupOf`). */
  readonly forgetGroup: (group: string) => void
  readonly clear: () => void
}

interface CachedRead<Value> {
  value: Promise<Value>
  /** The value, once it is read. */
  known?: Value
  /** When the read began, not when it ended: its data may be as old as that. */
  since: number
}

/** So many groups are told apart; one more drops everything. */
const MAX_GROUPS = 1000

/**
 * A cache in front of `read`, bounded in bytes. It does not keep failures, nor values that `keep`
 * refuses (such as null).
 */
export function createReadCache<Value>(options: {
  room: Room
  /** Its part of the room; all of it by default. */
  part?: number
  maxAgeMs?: number
  read: (key: string) => Promise<Value>
  keep?: (value: Value) => boolean
  /** The group in which a value is forgotten; undefined for a value that is not read yet. */
  groupOf?: (key: string, value: Value | undefined) => string | undefined
}): ReadCache<Value> {
  const { room, part = 1, maxAgeMs = MAX_AGE_MS, read, keep = () => true, groupOf = () => undefined } = options
  const entries = room<string, CachedRead<Value>>({ part: part * 0.8, bytesOf: ({ known }) => bytesOfValue(known) })
  /** Keys that were found. Unlike entries they do not expire, and outlive a dropped entry. */
  const found = room<string, true>({ part: part * 0.2, bytesOf: () => 0 })
  /** When groups were last forgotten. A search for their entries would take time for each. */
  const forgotten = new Map<string, number>()
  let lastForgotten = -Infinity

  const start = (key: string): Promise<Value> => {
    const entry: CachedRead<Value> = { value: read(key), since: performance.now() }
    entries.set(key, entry)
    const drop = () => {
      if (entries.peek(key) === entry) entries.delete(key)
    }
    entry.value.then((value) => {
      if (keep(value)) {
        // Another object: only then is its size taken again.
        if (entries.peek(key) === entry) entries.set(key, { ...entry, known: value })
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
    if (entry === undefined || performance.now() - entry.since >= maxAgeMs) return undefined
    return entry.since > lastForgotten || !isForgotten(key, entry) ? entry : undefined
  }

  const isForgotten = (key: string, { known, since }: CachedRead<Value>): boolean => {
    const group = groupOf(key, known)
    return group === undefined ? known === undefined : since <= (forgotten.get(group) ?? -Infinity)
  }

  const clear = (): void => {
    entries.clear()
    forgotten.clear()
    lastForgotten = -Infinity
  }

  return {
    get: (key) => fresh(key)?.value ?? start(key),
    peek: (key) => fresh(key)?.known,
    isNew: (key) => !found.has(key) && !entries.has(key),
    forget: (key) => entries.delete(key),
    forgetGroup: (group) => {
      if (forgotten.size === MAX_GROUPS) clear()
      lastForgotten = performance.now()
      forgotten.set(group, lastForgotten)
    },
    clear,
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
