import { MAX_BADGES, type TenantSettings } from '../../../core/settings/tenant.ts'

/** The ids of the setting that `given` has, in its order; at most as many as a reader can have. */
export const knownBadges = (setting: TenantSettings['badges'], given: readonly string[]): string[] => {
  const ids = new Set(given)
  return setting.flatMap(({ id }) => (ids.has(id) ? [id] : [])).slice(0, MAX_BADGES)
}

/**
 * What everybody sees: the assigned badges and, as far as there is room, the claimed ones.
 * `upsertReader` has the same in SQL.
 */
export const shownBadges = (assigned: readonly string[], claimed: readonly string[]): string[] =>
  [...new Set([...assigned, ...claimed])].slice(0, MAX_BADGES)
