import { LRUCache } from 'lru-cache'

import { type App, perApp } from './app.ts'
import { gaugeOf, metricsOf } from './telemetry/metrics.ts'

/**
 * The caches whose entries vary in size, each with its share of CACHE_MB in percent. What fills one
 * cache, such as the tokens of one key, takes nothing from the others.
 */
const SHARES = {
  parsedDocuments: 13,
  compiledDocuments: 13,
  automaticDocuments: 3,
  documents: 7,
  clientTokens: 12,
  guestTokens: 1,
  sites: 1,
  keys: 3,
  signIns: 2,
  tenants: 6,
  keyrings: 3,
  identities: 12,
  readers: 12,
  externalIds: 5,
  mutes: 2,
  frontPages: 2,
  other: 3,
} as const

export type CacheName = keyof typeof SHARES

const cachesOf = perApp((app) => {
  const caches = new Set<Pick<LRUCache<string, object>, 'calculatedSize' | 'size'>>()
  const sum = (name: 'calculatedSize' | 'size') => () => [...caches].reduce((total, cache) => total + cache[name], 0)
  gaugeOf(metricsOf(app), 'cache_bytes', sum('calculatedSize'))
  gaugeOf(metricsOf(app), 'cache_entries', sum('size'))
  return caches
})

/** Registers the metrics of the caches. */
export const countCaches = (app: App): void => void cachesOf(app)

/** Makes caches in a share of the memory that the process has for all. */
export interface Room {
  /** A cache in `part` of the share (1: all of it). `bytesOf` a value is an estimate by default. */
  <Key extends object | string, Value extends object | string | true>(options: {
    part: number
    bytesOf?: (value: Value, key: Key) => number
    maxAgeMs?: number
  }): LRUCache<Key, Value>
}

/** An entry's memory beside its key and value (measured: 100 to 150 bytes in an LRUCache). */
const ENTRY_BYTES = 150

/** The room of a cache. Caches that share a name share its room: `part` says how. */
export function roomOf(app: App, name: CacheName): Room {
  const maxBytes = (app.settings.CACHE_MB * 2 ** 20 * SHARES[name]) / 100
  return ({ part, ...options }) => {
    const cache = roomOfBytes(Math.floor(maxBytes * part))({ part: 1, ...options })
    cachesOf(app).add(cache)
    return cache
  }
}

/** Room of its own, for a cache without an app. */
export const roomOfBytes =
  (maxBytes: number): Room =>
  ({ part, bytesOf = (value) => bytesOfValue(value), maxAgeMs }) =>
    new LRUCache({
      maxSize: Math.floor(maxBytes * part),
      sizeCalculation: (value, key) => Math.ceil(bytesOf(value, key) + bytesOfValue(key) + ENTRY_BYTES),
      ...(maxAgeMs !== undefined && { ttl: maxAgeMs }),
    })

const MAX_DEPTH = 12

/**
 * An estimate of a value's memory: two bytes for a character of a text, and some for each object,
 * entry and field.
 */
export function bytesOfValue(value: unknown, depth = 0): number {
  if (typeof value === 'string') return 24 + 2 * value.length
  if (typeof value !== 'object' || value === null) return 8
  if (ArrayBuffer.isView(value)) return 100 + value.byteLength
  if (depth === MAX_DEPTH) return 100
  const inner =
    value instanceof Map
      ? [...value].flat()
      : value instanceof Set || Array.isArray(value)
        ? [...(value as Iterable<unknown>)]
        : Object.values(value)
  return inner.reduce<number>((sum, each) => sum + 8 + bytesOfValue(each, depth + 1), 48)
}
