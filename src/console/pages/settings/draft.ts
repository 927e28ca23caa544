import { FIELDS, NULLABLE_GROUPS, type Value } from './table.ts'

export type Values = Readonly<Record<string, Value>>

/** A typed value, and the value in force at that time. */
export interface Edit {
  value: Value
  base: Value
}

export type Draft = Readonly<Record<string, Edit>>

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const isValue = (value: unknown): value is Value =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value)

/**
 * The settings in force by path. A group that is null has its fields' defaults, and `false` under
 * its name.
 */
export function valuesOf(settings: Json): Values {
  const values: Record<string, Value> = {}
  for (const name of NULLABLE_GROUPS) values[name] = settings[name] != null
  for (const { path, default: usual } of FIELDS) {
    const value = valueAt(settings, path)
    values[path] = isValue(value) ? value : usual
  }
  return values
}

/** Undefined in a group that is null. */
const valueAt = (settings: Json, path: string): unknown =>
  path.split('.').reduce<unknown>((around, name) => (isObject(around) ? around[name] : undefined), settings)

/** Puts a value at its path, into groups that it makes. */
function put(patch: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) patch[name] = value
  else {
    const inner = { ...(isObject(patch[name]) ? patch[name] : {}) }
    put(inner, rest, value)
    patch[name] = inner
  }
}

/** The paths with changes that are not in force yet. */
export const changedPaths = (draft: Draft, values: Values): string[] =>
  Object.keys(draft).filter((path) => !isSame(draft[path]?.value, values[path]))

/** Those that another admin has changed too since then. */
export const conflicts = (draft: Draft, values: Values): string[] =>
  changedPaths(draft, values).filter((path) => !isSame(draft[path]?.base, values[path]))

/** Only the changes, in the form of `updateSettings`. */
export function patchOf(draft: Draft, values: Values): Json {
  const patch: Record<string, unknown> = {}
  const changed = new Set(changedPaths(draft, values))
  for (const { path, group } of FIELDS) {
    const isOn = group === null || !NULLABLE_GROUPS.includes(group) || (draft[group]?.value ?? values[group]) === true
    // A group that is switched on needs all of its fields.
    if (!isOn || !(changed.has(path) || (group !== null && changed.has(group)))) continue
    const value = path in draft ? draft[path]?.value : values[path]
    put(patch, path.split('.'), value)
  }
  for (const name of NULLABLE_GROUPS) if (changed.has(name) && draft[name]?.value === false) patch[name] = null
  return patch
}
