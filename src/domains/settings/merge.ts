type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * `base` with what `patch` gives in its place: objects field by field, all else (lists and null
 * too) as a whole.
 */
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
    if (isSame(own, other[name])) continue
    difference[name] = isObject(own) && isObject(other[name]) ? differenceDeep(own, other[name]) : own
  }
  return difference
}

/**
 * What is stored after a change: `stored` with the fields of `patch` as `after` has them, without
 * those that are as the defaults have them. Everything that `patch` does not name stays as it is,
 * also what only a newer release can read.
 */
export function patchStored(stored: unknown, patch: Json, after: Json, defaults: unknown): Json {
  const result: Json = isObject(stored) ? { ...stored } : {}
  const base = isObject(defaults) ? defaults : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue
    const next = after[name]
    const isGroup = isObject(value) && isObject(next)
    const own = isGroup ? patchStored(result[name], value, next, base[name]) : next
    const isDefault = isGroup ? isObject(base[name]) && Object.keys(own as Json).length === 0 : isSame(own, base[name])
    if (isDefault) Reflect.deleteProperty(result, name)
    else result[name] = own
  }
  return result
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
