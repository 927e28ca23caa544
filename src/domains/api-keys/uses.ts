import { LRUCache } from 'lru-cache'

import { type App, perApp } from '../../core/context.ts'
import { growing } from '../../core/process/growing.ts'
import type { Id } from '../../core/ids.ts'
import { recordUses } from './sql.ts'

/** The least time between two records of a key that is used all the time. */
const EVERY_MS = 60_000
/** Uses that are noted within this time are written by one statement. */
const DELAY_MS = 1000

interface Use {
  tenantId: Id
  id: Id
  at: Date
}

/**
 * When keys were last used: a hint, which no request waits for, and which is lost if the process
 * dies. It costs a request one look-up in memory.
 */
export class KeyUses {
  readonly #app: Pick<App, 'db' | 'log'>
  /** When each key's use was last noted, by key id. */
  readonly #noted = new LRUCache<Id, number>(growing(10_000))
  #waiting: Use[] = []

  constructor(app: Pick<App, 'db' | 'log'>) {
    this.#app = app
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
      await recordUses(this.#app.db.query, uses)
    } catch (err) {
      this.#app.log.debug({ err }, 'when keys were last used could not be written')
    }
  }
}

export const keyUsesOf = perApp((app) => new KeyUses(app))
