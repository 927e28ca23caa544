import { LRUCache } from 'lru-cache'

import { growing } from '../process/growing.ts'
import type { Id } from '../ids.ts'

/** A tenant whose rows would take this long in a statement writes apart. */
const APART_MS = 10
/**
 * It goes on writing apart for this long: going back at once would spread its rows over more
 * statements than before.
 */
const HOLD_MS = 1000
/** After this long without writes of another tenant, a tenant delays nobody. */
const ALONE_MS = 10_000
/** The expected cost of a row of an unknown tenant, so that its first statement is short. */
const UNKNOWN_MS = 2.5
/**
 * This many rows always go together: from statements of one row the two costs could not be told
 * apart.
 */
const MIN_ROWS = 4
/** The share of its error by which a statement corrects the estimates. */
const RATE = 0.5
const MAX_TENANTS = 10_000
/** A tenant without writes for this long is forgotten. */
const QUIET_MS = 600_000
const NONE: ReadonlySet<Id> = new Set()
const CLOCK = { now: () => performance.now() }

/**
 * What a row of each tenant costs, learned from the duration of statements: for a tenant with a
 * thousand webhook endpoints, each comment writes a thousand deliveries.
 *
 * A statement is expected to take a base time, and a time for each row by its tenant. The error
 * corrects these estimates in proportion to the rows (normalised least mean squares): so a tenant
 * with one row beside 60 slow rows of another is not blamed for them.
 */
export class RowCosts {
  #statementMs = 0
  #lastTenant: Id | null = null
  #aloneFrom = 0
  readonly #rowMs = new LRUCache<Id, number>({ ...growing(MAX_TENANTS), ttl: QUIET_MS, perf: CLOCK })
  readonly #held = new LRUCache<Id, true>({ ...growing(MAX_TENANTS), ttl: HOLD_MS, perf: CLOCK })

  /**
   * Whether only the latest tenant has written lately, so that no other waits for its statements.
   */
  get isAlone(): boolean {
    return CLOCK.now() >= this.#aloneFrom
  }

  /** Notes that a tenant has a row to write. */
  note(tenant: Id): void {
    if (tenant === this.#lastTenant) return
    if (this.#lastTenant !== null) this.#aloneFrom = CLOCK.now() + ALONE_MS
    this.#lastTenant = tenant
  }

  /** Learns from a statement that took `ms`; `tenants` has the tenant of each of its rows. */
  learn(tenants: readonly Id[], ms: number): void {
    const counts = countEach(tenants)
    let [error, weight] = [ms - this.#statementMs, 1]
    for (const [tenant, rows] of counts) {
      error -= rows * (this.#rowMs.get(tenant) ?? 0)
      weight += rows * rows
    }
    const step = (RATE * error) / weight
    this.#statementMs = Math.max(0, this.#statementMs + step)
    for (const [tenant, rows] of counts) {
      this.#rowMs.set(tenant, Math.max(0, (this.#rowMs.get(tenant) ?? 0) + step * rows))
    }
  }

  /**
   * How many of the first rows of `tenants` a statement can write within `maxMs`. Null stands for a
   * row that this statement does not write.
   */
  fitting(tenants: readonly (Id | null)[], maxMs: number): number {
    let [ms, rows] = [0, 0]
    const tooMany = tenants.findIndex((tenant) => {
      if (tenant === null) return false
      ms += this.#rowMs.get(tenant) ?? UNKNOWN_MS
      return ++rows > MIN_ROWS && ms > maxMs
    })
    return tooMany < 0 ? tenants.length : tooMany
  }

  /** The tenants of these rows that must write apart, now and for HOLD_MS. */
  heavy(tenants: readonly Id[]): ReadonlySet<Id> {
    if (this.isAlone) return NONE
    const counts = countEach(tenants)
    for (const [tenant, rows] of counts) {
      if (rows * (this.#rowMs.get(tenant) ?? 0) >= APART_MS) this.#held.set(tenant, true)
    }
    return new Set([...counts.keys()].filter((tenant) => this.#held.has(tenant)))
  }
}

function countEach(tenants: readonly Id[]): Map<Id, number> {
  const counts = new Map<Id, number>()
  for (const tenant of tenants) counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
  return counts
}
