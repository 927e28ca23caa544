import { LRUCache } from 'lru-cache'

/** Characters of all documents kept. Parsed, a document takes some fifty times its text. */
const MAX_KEPT_CHARACTERS = 1_000_000
const MAX_DOCUMENT_CHARACTERS = 20_000

/**
 * Documents by their text. The libraries' own caches count entries, and would keep a thousand of
 * 256 KiB.
 */
export const keptByLength = <Value extends object>(): LRUCache<string, Value> =>
  new LRUCache<string, Value>({
    maxSize: MAX_KEPT_CHARACTERS,
    maxEntrySize: MAX_DOCUMENT_CHARACTERS,
    sizeCalculation: (_value, text) => text.length + 1,
  })
