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
  for (const { path, group, default: usual } of FIELDS) {
    const around = group === null ? settings : settings[group]
    const value = isObject(around) ? around[path.split('.').at(-1) ?? path] : usual
    values[path] = isValue(value) ? value : usual
  }
  return values
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
    if (group === null) patch[path] = value
    else patch[group] = { ...(isObject(patch[group]) ? patch[group] : {}), [path.split('.').at(-1) ?? path]: value }
  }
  for (const name of NULLABLE_GROUPS) if (changed.has(name) && draft[name]?.value === false) patch[name] = null
  return patch
}
