import {
  getNamedType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  getNullableType,
} from 'graphql'

import { tenantSettings } from '../../../core/settings/tenant.ts'
import { shapeOf } from '../../../graphql/shape.ts'
import { boundsOf, type Schema, withoutNull } from '../json-schema.ts'

/**
 * One setting of a tenant for a form, from the descriptions of the schema and the operation's
 * checks.
 */
export interface SettingField {
  /** The path in `PATCH /settings`: `editWindowSeconds`, `stream.replayHours`. */
  path: string
  /** The path of the enclosing setting, one of `groups`; null for a top-level one. */
  group: string | null
  type: 'integer' | 'switch' | 'text' | 'choice' | 'texts' | 'objects' | 'choices by name'
  /** Whether null is allowed. */
  isNullable: boolean
  /**
   * The value in force if the tenant has set none; inside a group that is null by default, the
   * value once the group is set.
   */
  default: unknown
  unit: 'milliseconds' | 'seconds' | 'hours' | 'days' | null
  /** Including its bounds, for a form. */
  description: string
  /** Without bounds, for a table that has a column for them. */
  meaning: string
  /** The values of a `choice`. */
  values: { value: string; description: string }[] | null
  /**
   * The JSON Schema keywords that bound it: `minimum`, `maximum`, `minLength`, `maxLength`,
   * `pattern`, `format`; of texts also `minItems` and `maxItems`.
   */
  bounds: Schema
  /** The keywords that bound each text of a list; null for other types. */
  itemBounds: Schema | null
  /** The fields of each of the `objects` of a list; null for other types. */
  items: SettingField[] | null
}

/** Settings that belong together. */
export interface SettingGroup {
  name: string
  description: string
  /** Whether the whole group can be null. */
  isNullable: boolean
}

/**
 * Every setting of a tenant, in the order of `tenantSettingsSchema`: the content of
 * `src/generated/settings.json`.
 */
export interface SettingsTable {
  groups: SettingGroup[]
  fields: SettingField[]
}

/** The table of the settings. Throws for a setting that a form could not show. */
export function settingsTable(schema: GraphQLSchema): SettingsTable {
  const input = schema.getType('UpdateSettingsInput')
  if (!isInputObjectType(input)) throw new Error('there is no UpdateSettingsInput')
  const shapes: Schema = shapeOf(input.extensions) ?? {}
  const defaults: Record<string, unknown> = { ...tenantSettings({}) }
  const table: SettingsTable = { groups: [], fields: [] }
  for (const [field, shape] of fieldsOf(input, shapes)) {
    const type = getNamedType(field.type)
    if (!isInputObjectType(type) || isList(field)) {
      table.fields.push(settingOf(field, null, shape, defaults[field.name]))
      continue
    }
    addGroup(table, field, type, shape, { path: field.name, values: defaults[field.name] })
  }
  return table
}

/** Adds a group, and those inside of it after its own fields. */
function addGroup(
  table: SettingsTable,
  field: GraphQLInputField,
  type: GraphQLInputObjectType,
  given: Schema,
  { path, values }: { path: string; values: unknown },
): void {
  const { shape, hasNull } = withoutNull(given)
  table.groups.push({ name: path, description: textOf(field), isNullable: hasNull })
  const defaults = (values ?? {}) as Record<string, unknown>
  const inner: (() => void)[] = []
  for (const [each, its] of fieldsOf(type, shape)) {
    const value = defaults[each.name] ?? its.default ?? null
    const own = getNamedType(each.type)
    if (isInputObjectType(own))
      inner.push(() => addGroup(table, each, own, its, { path: `${path}.${each.name}`, values: value }))
    else table.fields.push(settingOf(each, path, its, value))
  }
  for (const add of inner) add()
}

/**
 * The fields with their checks, in the order of the checks, because the schema is sorted by name.
 */
function fieldsOf(type: GraphQLInputObjectType, { properties = {} }: Schema): [GraphQLInputField, Schema][] {
  const fields = type.getFields()
  return Object.entries(properties).map(([name, shape]) => {
    const field = fields[name]
    if (field === undefined) throw new Error(`${type.name} has no ${name}`)
    return [field, shape]
  })
}

function settingOf(field: GraphQLInputField, group: string | null, given: Schema, value: unknown): SettingField {
  const { shape, hasNull } = withoutNull(given)
  const type = typeOf(field)
  const named = getNamedType(field.type)
  const names = shape.enum as string[] | undefined
  const values = isEnumType(named)
    ? (names ?? []).map((name) => ({ value: name, description: named.getValue(name)?.description ?? '' }))
    : null
  return {
    path: group === null ? field.name : `${group}.${field.name}`,
    group,
    type,
    isNullable: hasNull,
    default: value,
    unit: unitOf(field.name),
    description: textOf(field),
    meaning: String(given.description),
    values,
    bounds: boundsOf(shape),
    itemBounds: type === 'texts' ? boundsOf((shape.items ?? {}) as Schema) : null,
    items: isInputObjectType(named) ? itemsOf(named, (shape.items ?? {}) as Schema) : null,
  }
}

const itemsOf = (type: GraphQLInputObjectType, shape: Schema): SettingField[] =>
  fieldsOf(type, shape).map(([field, its]) => settingOf(field, null, its, its.default ?? null))

const isList = ({ type }: GraphQLInputField): boolean => isListType(getNullableType(type))

function typeOf(field: GraphQLInputField): SettingField['type'] {
  const { name, type } = field
  const named = getNamedType(type)
  if (isInputObjectType(named) && isList(field)) return 'objects'
  if (isEnumType(named)) return 'choice'
  if (named.name === 'Int') return 'integer'
  if (named.name === 'Boolean') return 'switch'
  if (named.name === 'JSON') return 'choices by name'
  if (named.name === 'String') return isList(field) ? 'texts' : 'text'
  throw new Error(`src/api/reference/pages/settings.ts does not know how a form shows a ${named.name} (${name})`)
}

function textOf({ name, description }: GraphQLInputField): string {
  if (description == null) throw new Error(`the setting ${name} has no description`)
  return description
}

// Units are parts of names.
const UNITS = { Ms: 'milliseconds', Seconds: 'seconds', Hours: 'hours', Days: 'days' } as const

const unitOf = (name: string): SettingField['unit'] =>
  Object.entries(UNITS).find(([suffix]) => name.endsWith(suffix))?.[1] ?? null
