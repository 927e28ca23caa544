import { LRUCache } from 'lru-cache'

import { perApp } from '../../core/context.ts'
import type { EncodedPage } from './encoded-page.ts'

interface Kept extends EncodedPage {
  version: string
}

/**
 * What an entry takes beside its bytes and key, by estimate: the objects of it and of each slot.
 */
const ENTRY_BYTES = 500
const SLOT_BYTES = 120

/** Pages of this process, bounded in bytes (PAGE_CACHE_MB), each good for one version. */
export class PageCache {
  readonly #pages: LRUCache<string, Kept> | null
  readonly #underWay = new Map<string, Promise<EncodedPage>>()

  constructor(maxBytes: number) {
    const sizeCalculation = ({ bytes, slots }: Kept, key: string): number =>
      bytes.length + 2 * key.length + ENTRY_BYTES + SLOT_BYTES * slots.length
    this.#pages = maxBytes === 0 ? null : new LRUCache({ maxSize: maxBytes, sizeCalculation })
  }

  /**
   * The page of `key` in this version, as it is kept, or as `make` makes it once for all who wait
   * for it.
   */
  get(key: string, version: string, make: () => Promise<EncodedPage>): Promise<EncodedPage> | EncodedPage {
    const kept = this.#pages?.get(key)
    if (kept?.version === version) return kept
    const name = `${version} ${key}`
    const existing = this.#underWay.get(name)
    if (existing !== undefined) return existing
    const page = make()
      .then((made) => {
        this.#pages?.set(key, { ...made, version })
        return made
      })
      .finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, page)
    return page
  }
}

export const pageCache = perApp(({ settings }) => new PageCache(settings.PAGE_CACHE_MB * 2 ** 20))
