import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import { LRUCache } from 'lru-cache'
import type { Registry } from 'prom-client'

import { perApp } from '../../../core/app.ts'
import { counter, gaugeOf, metricsOf } from '../../../core/telemetry/metrics.ts'
import type { EncodedPage } from './encoded-page.ts'

interface Kept extends EncodedPage {
  version: string
  /** Null until a client needs it. */
  gzipped: Buffer | null
}

/** Smaller pages stay plain: with their head they fit into one packet. */
const MIN_GZIP_BYTES = 1024

/** A copy in memory of its own: a small Buffer would keep a whole block of Node's pool alive. */
function ofItsOwn(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}

/** In a thread of the pool: the largest pages take tens of milliseconds. */
const inThread: (bytes: Buffer) => Promise<Buffer> = promisify(gzip)

/**
 * An estimate of an entry's memory beside its bytes and key: its objects and those of each slot.
 */
const ENTRY_BYTES = 500
const SLOT_BYTES = 120

/** The pages of this process, bounded in bytes (PAGE_CACHE_MB), each valid for one version. */
export class PageCache {
  readonly #pages: LRUCache<string, Kept> | null
  readonly #underWay = new Map<string, Promise<EncodedPage>>()
  readonly #compressing = new WeakMap<Kept, Promise<Buffer>>()
  readonly #gzip
  readonly #hits
  readonly #misses
  readonly #shared
  readonly #notModified

  constructor(maxBytes: number, registry: Registry, compress = inThread) {
    this.#gzip = compress
    const sizeCalculation = ({ bytes, gzipped, slots }: Kept, key: string): number =>
      bytes.length + (gzipped?.length ?? 0) + 2 * key.length + ENTRY_BYTES + SLOT_BYTES * slots.length
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
   * The page of `key` in this version, from the cache, or from `make`, which runs once for all
   * concurrent requests.
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
        this.#pages?.set(key, { ...made, bytes: ofItsOwn(made.bytes), version, gzipped: null })
        return made
      })
      .finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, page)
    return page
  }

  /**
   * The compressed page, made once for all concurrent requests; null if the page is not cached, or
   * stays plain.
   */
  gzipped(key: string, version: string): Promise<Buffer> | Buffer | null {
    const kept = this.#kept(key, version)
    if (kept === undefined || !this.#isCompressed(kept)) return null
    if (kept.gzipped !== null) return kept.gzipped
    const existing = this.#compressing.get(kept)
    if (existing !== undefined) return existing
    const making = this.#compress(key, kept)
    making.catch(() => this.#compressing.delete(kept))
    this.#compressing.set(kept, making)
    return making
  }

  /** Whether clients that accept gzip may get other bytes than those that do not. */
  variesByEncoding(key: string, version: string): boolean {
    const kept = this.#kept(key, version)
    return kept === undefined ? this.#pages !== null : this.#isCompressed(kept)
  }

  async #compress(key: string, kept: Kept): Promise<Buffer> {
    const gzipped = ofItsOwn(await this.#gzip(kept.bytes))
    // Set again, so that its new size is counted.
    if (this.#pages?.peek(key) === kept) this.#pages.set(key, { ...kept, gzipped })
    return gzipped
  }

  #kept(key: string, version: string): Kept | undefined {
    const kept = this.#pages?.peek(key)
    return kept?.version === version ? kept : undefined
  }

  /** A page also stays plain if the cache cannot hold both forms. */
  #isCompressed({ bytes: { length } }: Kept): boolean {
    return length >= MIN_GZIP_BYTES && length < (this.#pages?.maxSize ?? 0) / 2
  }

  /** Counts a caller that has this version of the page already. */
  notModified(): void {
    this.#notModified.inc()
  }
}

export const pageCache = perApp((app) => new PageCache(app.settings.PAGE_CACHE_MB * 2 ** 20, metricsOf(app)))
