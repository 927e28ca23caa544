/** Objects that a change replaces as a whole: the names in them are the tenant's. */
const WHOLE: ReadonlySet<string> = new Set(['roles'])

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * `base` overridden by `patch`: objects field by field, everything else (also lists, null and those
 * of WHOLE) as a whole.
 */
export function mergeDeep(base: unknown, patch: Json): Json {
  const merged: Json = isObject(base) ? { ...base } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value !== undefined) merged[name] = isObject(value) && !WHOLE.has(name) ? mergeDeep(merged[name], value) : value
  }
  return merged
}

/** The part of `value` that differs from `base`: merged over `base` it gives `value` again. */
export function differenceDeep(value: Json, base: unknown): Json {
  const other = isObject(base) ? base : {}
  const difference: Json = {}
  for (const [name, own] of Object.entries(value)) {
    if (isSame(own, other[name])) continue
    difference[name] =
      isObject(own) && isObject(other[name]) && !WHOLE.has(name) ? differenceDeep(own, other[name]) : own
  }
  return difference
}

/**
 * The stored settings after a change: `stored` with the patched fields as in `after`, without those
 * equal to the defaults. Fields outside of `patch` stay, even those that only a newer release can
 * read.
 */
export function patchStored(stored: unknown, patch: Json, after: Json, defaults: unknown): Json {
  const result: Json = isObject(stored) ? { ...stored } : {}
  const base = isObject(defaults) ? defaults : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue
    const next = after[name]
    const isGroup = isObject(value) && isObject(next) && !WHOLE.has(name)
    const own = isGroup ? patchStored(result[name], value, next, base[name]) : next
    const isDefault = isGroup ? isObject(base[name]) && Object.keys(own as Json).length === 0 : isSame(own, base[name])
    if (isDefault) Reflect.deleteProperty(result, name)
    else result[name] = own
  }
  return result
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
