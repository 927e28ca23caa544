import { LRUCache } from 'lru-cache'

import type { App } from './app.ts'
import type { Id } from './ids.ts'
import { growing } from './process/growing.ts'

/** The least time between two records of a credential that is used all the time. */
const EVERY_MS = 60_000
/** Uses that are noted within this time are written together. */
const DELAY_MS = 1000

export interface Use {
  tenantId: Id
  id: Id
  at: Date
}

/**
 * When keys were last used, or members last seen: a hint, which no request waits for, and which is
 * lost if the process dies. It costs a request one look-up in memory.
 */
export class Uses {
  readonly #log: App['log']
  readonly #record: (uses: readonly Use[]) => Promise<unknown>
  /** When each use was last noted, by the id of the key or member. */
  readonly #noted = new LRUCache<Id, number>(growing(10_000))
  #waiting: Use[] = []

  constructor(log: App['log'], record: (uses: readonly Use[]) => Promise<unknown>) {
    this.#log = log
    this.#record = record
  }

  note(tenantId: Id, id: Id, now = Date.now()): void {
    const last = this.#noted.get(id)
    if (last !== undefined && now - last < EVERY_MS) return
    this.#noted.set(id, now)
    if (this.#waiting.length === 0) setTimeout(() => void this.flush(), DELAY_MS).unref()
    this.#waiting.push({ tenantId, id, at: new Date(now) })
  }

  /** Never rejects. */
  async flush(): Promise<void> {
    const uses = this.#waiting
    this.#waiting = []
    if (uses.length === 0) return
    try {
      await this.#record(uses)
    } catch (err) {
      this.#log.debug({ err }, 'the times of last uses could not be written')
    }
  }
}
