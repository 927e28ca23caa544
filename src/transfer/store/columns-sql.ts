import { toSnakeCase } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'

// Rows are inserted by arrays of their columns: many in a statement, each statement short.

export type Columns<Row> = { readonly [Field in keyof Row]?: string }

/** SQL: rows `t` of arrays, column by column, starting with parameter `$first`. */
export const rowsOf = (columns: object, first: number): string => {
  const entries = Object.entries(columns) as [string, string][]
  const arrays = entries.map(([, type], index) => `$${first + index}::${type === LIST ? 'text' : type}[]`)
  return `unnest(${arrays.join(', ')}) AS t (${namesOf(columns)})`
}

/** A column with a list in each row. Its cells are sent as texts, because arrays do not nest. */
const LIST = 'text[]'

/** SQL: the columns of such rows, as they are stored. */
const cellsOf = (columns: object): string =>
  Object.entries(columns)
    .map(([name, type]) => (type === LIST ? `string_to_array(${toSnakeCase(name)}, ',')` : toSnakeCase(name)))
    .join(', ')

export const namesOf = (columns: object): string => Object.keys(columns).map(toSnakeCase).join(', ')

/** Inserts rows of a tenant: $1, then `arraysOf`. */
export const insertion = <Name extends string>(name: Name, table: string, columns: object, rest = '') =>
  statement(
    name,
    `INSERT INTO ${table} (tenant_id, ${namesOf(columns)}) SELECT $1, ${cellsOf(columns)} FROM ${rowsOf(columns, 2)} ${rest}`,
  )

/** The parameters of `rowsOf`. */
export const arraysOf = <Field extends string>(
  columns: Readonly<Record<Field, string>>,
  rows: readonly Readonly<Record<Field, Cell | readonly string[]>>[],
): Cell[][] => (Object.keys(columns) as Field[]).map((field) => rows.map((row) => sent(row[field])))

/** A list becomes one text. Its entries have no commas. */
const sent = (value: Cell | readonly string[]): Cell => (isList(value) ? value.join() : value)

const isList = (value: Cell | readonly string[]): value is readonly string[] => Array.isArray(value)

type Cell = string | number | boolean | Date | null
