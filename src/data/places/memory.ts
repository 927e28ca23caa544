import type { StreamPlaces } from '../../core/stream-places.ts'

/** The places of a process that is alone. */
export function createMemoryPlaces(): StreamPlaces {
  const counts = new Map<string, number>()
  const hasRoom = (name: string, cap: number): boolean => (counts.get(name) ?? 0) < cap
  // A name with no streams takes no memory.
  const add = (name: string, by: 1 | -1): void => {
    const count = (counts.get(name) ?? 0) + by
    if (count === 0) counts.delete(name)
    else counts.set(name, count)
  }
  return {
    take: async ({ tenantId, perTenant, quotas }) => {
      const names = [tenantId, ...quotas.map(({ name }) => `${tenantId}/${name}`)]
      const caps = [perTenant, ...quotas.map(({ cap }) => cap)]
      if (!names.every((name, n) => hasRoom(name, caps[n] ?? 0))) return null
      names.forEach((name) => add(name, 1))
      let isHeld = true
      return () => {
        if (isHeld) names.forEach((name) => add(name, -1))
        isHeld = false
      }
    },
    close: async () => undefined,
  }
}
