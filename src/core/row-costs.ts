import { LRUCache } from 'lru-cache'

import { growing } from './growing.ts'
import type { Id } from './ids.ts'

/** A tenant writes apart from when its rows would take this long in a statement. */
const APART_MS = 10
/**
 * And for so long after that. If it went back at once, its rows would be spread over more
 * statements than before.
 */
const HOLD_MS = 1000
/** Where no other tenant has written for so long, a tenant delays nobody. */
const ALONE_MS = 10_000
/** What a row of a tenant that is not known is expected to take, for a short first statement. */
const UNKNOWN_MS = 2.5
/** So many rows always go together: statements of one row would not teach what each part takes. */
const MIN_ROWS = 4
/** The part of its error that a statement corrects. */
const RATE = 0.5
const MAX_TENANTS = 10_000
/** A tenant that writes nothing for so long is forgotten. */
const QUIET_MS = 600_000
const NONE: ReadonlySet<Id> = new Set()
const CLOCK = { now: () => performance.now() }

/**
 * What a row of each tenant costs, learned from how long statements take: a tenant with a thousand
 * webhook endpoints has a thousand deliveries written with each comment.
 *
 * A statement is expected to take a time for itself and one for each row of each tenant. Its error
 * corrects these estimates in proportion to the rows (normalised least mean squares): so a tenant
 * with one row beside 60 slow rows of another one is not blamed for them.
 */
export class RowCosts {
  #statementMs = 0
  #lastTenant: Id | null = null
  #aloneFrom = 0
  readonly #rowMs = new LRUCache<Id, number>({ ...growing(MAX_TENANTS), ttl: QUIET_MS, perf: CLOCK })
  readonly #held = new LRUCache<Id, true>({ ...growing(MAX_TENANTS), ttl: HOLD_MS, perf: CLOCK })

  /** Whether no tenant but the last one has written lately: nobody waits for its statements. */
  get isAlone(): boolean {
    return CLOCK.now() >= this.#aloneFrom
  }

  /** Notes that a tenant has a row to write. */
  note(tenant: Id): void {
    if (tenant === this.#lastTenant) return
    if (this.#lastTenant !== null) this.#aloneFrom = CLOCK.now() + ALONE_MS
    this.#lastTenant = tenant
  }

  /** Learns from a statement that took `ms`; `tenants` are those of its rows, one for each row. */
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
   * How many rows of these tenants, from the first one on, a statement is to write so that they
   * take no longer than `maxMs`. Null: a row that is not for this statement.
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

  /** Of the tenants of these rows those that are to write apart, now and for HOLD_MS. */
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
