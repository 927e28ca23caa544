import type { StoredField, StoredFields } from '../core/fields.ts'
import type { builder } from './builder.ts'

type Types = (typeof builder)['$inferSchemaTypes']

const TYPES = {
  uuid: 'ID',
  text: 'String',
  int: 'Int',
  bool: 'Boolean',
  timestamptz: 'DateTime',
  jsonb: 'JSON',
  'text[]': ['String'] as ['String'],
} as const

type Plain = keyof typeof TYPES

/** The GraphQL types of a table's enums. */
type Enums = { readonly [Type in Exclude<StoredField['type'], Plain>]?: PothosSchemaTypes.EnumRef<Types, unknown> }

const isPlain = (type: StoredField['type']): type is Plain => type in TYPES

/** The GraphQL type of a field. */
export function typeOf({ type }: StoredField, enums: Enums = {}) {
  const found = isPlain(type) ? TYPES[type] : enums[type]
  if (found === undefined) throw new Error(`${type} has no GraphQL type here`)
  return found
}

/**
 * Makes the fields of an object type as a table of fields describes them. The object has them under
 * the same names.
 */
export const storedFields =
  <Fields extends StoredFields>(fields: Fields, enums: Enums = {}) =>
  <Name extends keyof Fields & string>(
    t: PothosSchemaTypes.ObjectFieldBuilder<Types, { readonly [Each in Name]: unknown }>,
    name: Name,
  ) => {
    const field: StoredField | undefined = fields[name]
    if (field?.help === undefined) throw new Error(`${name} has no description`)
    // Events of before a list was added do not have it.
    const missing = field.type === 'text[]' ? [] : undefined
    return t.field({
      type: typeOf(field, enums),
      nullable: field.isNullable === true,
      description: field.help,
      resolve: (parent) => (parent[name] ?? missing) as never,
    })
  }
