import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'

import type { Logger } from 'pino'

import { postItems } from '../core/grip.ts'
import { RECOVER } from './grip-items.ts'

const REQUEST_BYTES = 500_000
const MAX_WAITING_BYTES = 16 * 1024 * 1024
const MAX_TRIED_MS = 30_000
const RETRY_MS = { first: 100, most: 2000 }
/** Statuses of a request that would be refused again. */
const REFUSED = new Set([400, 413])

interface PublisherOptions {
  url: string
  token: string | undefined
  log: Logger
  /** Gets the number of items that the proxy has taken. */
  onSent: (items: number) => void
  /** How long items are retried. Later they could show texts that were deleted meanwhile. */
  maxTriedMs?: number
}

/**
 * Sends items to one proxy, in order, one request at a time, until it takes them. If too many wait,
 * they are dropped, and held streams ask the database instead.
 */
export class Publisher {
  readonly #options: PublisherOptions
  #waiting: string[] = []
  #bytes = 0
  #isDown = false
  #isClosed = false
  #draining: Promise<void> | null = null

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.length
  }

  push(item: string): void {
    if (this.#bytes > MAX_WAITING_BYTES) this.#replace([RECOVER])
    this.#waiting.push(item)
    this.#bytes += item.length
    this.#draining ??= this.#drain().finally(() => (this.#draining = null))
  }

  /** Sends the waiting items, for `graceMs` at most. */
  async close(graceMs: number): Promise<void> {
    const sent = new AbortController()
    // This timer keeps the process alive: between two tries nothing else may.
    const late = delay(graceMs, undefined, { signal: sent.signal }).catch(() => undefined)
    await Promise.race([this.#draining, late])
    sent.abort()
    this.#isClosed = true
  }

  async #drain(): Promise<void> {
    // Items of the same turn go into one request.
    await turn()
    let retryMs = RETRY_MS.first
    const { maxTriedMs = MAX_TRIED_MS } = this.#options
    let downSince: number | null = null
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const batch = this.#take()
      const error = await this.#send(batch)
      if (error === null) {
        retryMs = RETRY_MS.first
        downSince = null
        continue
      }
      downSince ??= performance.now()
      if (performance.now() - downSince > maxTriedMs) this.#replace([RECOVER])
      else this.#replace([...(error === 'refused' ? [RECOVER] : batch), ...this.#waiting])
      await delay(retryMs, undefined, { ref: false })
      retryMs = Math.min(RETRY_MS.most, retryMs * 2)
    }
  }

  #replace(items: string[]): void {
    this.#waiting = items
    this.#bytes = items.reduce((sum, item) => sum + item.length, 0)
  }

  #take(): string[] {
    let bytes = 0
    const end = this.#waiting.findIndex((item, index) => (bytes += item.length) > REQUEST_BYTES && index > 0)
    const batch = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
    this.#bytes -= batch.reduce((sum, item) => sum + item.length, 0)
    return batch
  }

  /** Null if the proxy has taken the items. Never rejects. */
  async #send(items: readonly string[]): Promise<'failed' | 'refused' | null> {
    const { url, token, log, onSent } = this.#options
    // Only the host is logged: the address may contain credentials.
    const { host } = new URL(url)
    try {
      const { ok, status } = await postItems(url, token, items)
      if (!ok) throw new RefusedError(status)
      onSent(items.length)
      if (this.#isDown) log.info({ host }, 'the GRIP proxy is back')
      this.#isDown = false
      return null
    } catch (err) {
      if (!this.#isDown) log.warn({ err, host }, 'the GRIP proxy takes no events; trying again')
      this.#isDown = true
      return err instanceof RefusedError && REFUSED.has(err.status) ? 'refused' : 'failed'
    }
  }
}

class RefusedError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`it answered ${status}`)
    this.status = status
  }
}
