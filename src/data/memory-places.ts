import type { StreamPlaces } from '../core/stream-places.ts'

/** The places of a process that is alone. */
export function createMemoryPlaces(): StreamPlaces {
  const tenants = new Counter()
  const readers = new Counter()
  return {
    take: async ({ tenantId, readerId, perTenant, perReader }) => {
      const reader = readerId === null ? null : `${tenantId}/${readerId}`
      if (tenants.get(tenantId) >= perTenant) return null
      if (reader !== null && readers.get(reader) >= perReader) return null
      const count = (by: 1 | -1): void => {
        tenants.add(tenantId, by)
        if (reader !== null) readers.add(reader, by)
      }
      count(1)
      let isHeld = true
      return () => {
        if (isHeld) count(-1)
        isHeld = false
      }
    },
    close: async () => undefined,
  }
}

/** Counts by name; what is at zero takes no room. */
class Counter {
  readonly #counts = new Map<string, number>()

  get(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string, by: number): void {
    const count = this.get(name) + by
    if (count === 0) this.#counts.delete(name)
    else this.#counts.set(name, count)
  }
}
