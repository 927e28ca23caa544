import type { CommentStatus, DiscussionState, ModerationMode, ReaderTrust } from '../generated/prisma/enums.ts'
import type { Id } from './ids.ts'
import { toSnakeCase } from './database/lists.ts'

// What the tables of the fields of comments, discussions and readers share.

/** The types of columns, with their values in a row. */
export interface Values {
  uuid: Id
  text: string
  int: number
  bool: boolean
  bigint: number
  jsonb: object
  timestamptz: Date
  'text[]': string[]
  comment_status: CommentStatus
  discussion_state: DiscussionState
  moderation_mode: ModerationMode
  reader_trust: ReaderTrust
}

/** A field. Its column is named after it: `pinned_at` after `pinnedAt`. */
export interface StoredField {
  type: keyof Values
  isNullable?: true
  /** The description in the API. A field without one is not shown. */
  help?: string
}

export type StoredFields = Readonly<Record<string, StoredField>>

/** The names of the fields that are like this. */
export type NamesOf<Fields, Kind> = {
  [Name in keyof Fields]: Fields[Name] extends Kind ? Name : never
}[keyof Fields]

/** A row with these columns. `Special` has the values that their types do not tell. */
export type RowOf<Fields extends StoredFields, Special = object> = {
  -readonly [Name in keyof Fields]:
    | (Name extends keyof Special ? Special[Name] : Values[Fields[Name]['type']])
    | (Fields[Name] extends { isNullable: true } ? null : never)
}

/** The value of a row in JSON: times are RFC 3339. */
export type InJson<Value> = Value extends Date ? string : Value

export const inJson = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : value)

/** The names of a table's fields, in their order. */
export const fieldsOf = <Fields extends StoredFields>(fields: Fields): (keyof Fields & string)[] => Object.keys(fields)

const ENUMS: ReadonlySet<string> = new Set(['comment_status', 'discussion_state', 'moderation_mode', 'reader_trust'])

/** SQL: a column, as the driver reads it: an enum as text. */
export const columnOf = (fields: StoredFields, name: string, table = ''): string => {
  const column = toSnakeCase(name)
  const isEnum = ENUMS.has(fields[name]?.type ?? '')
  return `${table && `${table}.`}${column}${isEnum ? '::text' : ''}`
}

/** SQL: these columns under the names of their fields. */
export const columnsOf = <Fields extends StoredFields>(
  fields: Fields,
  names: readonly (keyof Fields & string)[],
  table = '',
): string => names.map((name) => `${columnOf(fields, name, table)} AS "${name}"`).join(', ')

/** The types of these columns. */
export const typesOf = <Fields extends StoredFields, Name extends keyof Fields & string>(
  fields: Fields,
  names: readonly Name[],
) => Object.fromEntries(names.map((name) => [name, fields[name]?.type])) as { [Each in Name]: StoredField['type'] }
