import { LRUCache } from 'lru-cache'
import type { Registry } from 'prom-client'

import { perApp } from '../../core/context.ts'
import { counter, gaugeOf, metricsOf } from '../../core/metrics.ts'
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
  readonly #hits
  readonly #misses
  readonly #shared
  readonly #notModified

  constructor(maxBytes: number, registry: Registry) {
    const sizeCalculation = ({ bytes, slots }: Kept, key: string): number =>
      bytes.length + 2 * key.length + ENTRY_BYTES + SLOT_BYTES * slots.length
    this.#pages = maxBytes === 0 ? null : new LRUCache({ maxSize: maxBytes, sizeCalculation })
    gaugeOf(registry, 'page_cache_bytes', () => this.#pages?.calculatedSize ?? 0)
    gaugeOf(registry, 'page_cache_entries', () => this.#pages?.size ?? 0)
    const requests = counter(registry, 'page_cache_requests_total')
    this.#hits = requests.labels('hit')
    this.#misses = requests.labels('miss')
    this.#shared = requests.labels('shared')
    this.#notModified = requests.labels('not_modified')
  }

  /**
   * The page of `key` in this version, as it is kept, or as `make` makes it once for all who wait
   * for it.
   */
  get(key: string, version: string, make: () => Promise<EncodedPage>): Promise<EncodedPage> | EncodedPage {
    const kept = this.#pages?.get(key)
    if (kept?.version === version) {
      this.#hits.inc()
      return kept
    }
    const name = `${version} ${key}`
    const existing = this.#underWay.get(name)
    if (existing !== undefined) {
      this.#shared.inc()
      return existing
    }
    this.#misses.inc()
    const page = make()
      .then((made) => {
        this.#pages?.set(key, { ...made, version })
        return made
      })
      .finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, page)
    return page
  }

  /** A caller has the page of this version already. */
  notModified(): void {
    this.#notModified.inc()
  }
}

export const pageCache = perApp((app) => new PageCache(app.settings.PAGE_CACHE_MB * 2 ** 20, metricsOf(app)))
