type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** `base` with what `patch` gives in its place: objects field by field, all else (lists and null too) as a whole. */
export function mergeDeep(base: unknown, patch: Json): Json {
  const merged: Json = isObject(base) ? { ...base } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value !== undefined) merged[name] = isObject(value) ? mergeDeep(merged[name], value) : value
  }
  return merged
}

/** What of `value` differs from `base`, such that merging it over `base` gives `value` again. */
export function differenceDeep(value: Json, base: unknown): Json {
  const other = isObject(base) ? base : {}
  const difference: Json = {}
  for (const [name, own] of Object.entries(value)) {
    if (JSON.stringify(own) === JSON.stringify(other[name])) continue
    difference[name] = isObject(own) && isObject(other[name]) ? differenceDeep(own, other[name]) : own
  }
  return difference
}
