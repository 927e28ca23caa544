import { toSnakeCase } from '../../core/sql.ts'

// Rows are inserted by arrays of their columns: many in a statement, each statement short.

export type Columns<Row> = { readonly [Field in keyof Row]?: string }

/** SQL: rows `t` of arrays, column by column, starting with parameter `$first`. */
export const rowsOf = (columns: object, first: number): string => {
  const entries = Object.entries(columns) as [string, string][]
  const arrays = entries.map(([, type], index) => `$${first + index}::${type}[]`)
  return `unnest(${arrays.join(', ')}) AS t (${namesOf(columns)})`
}

export const namesOf = (columns: object): string => Object.keys(columns).map(toSnakeCase).join(', ')

/** The parameters of `rowsOf`. */
export const arraysOf = <Field extends string>(
  columns: Readonly<Record<Field, string>>,
  rows: readonly Readonly<Record<Field, Cell>>[],
): Cell[][] => (Object.keys(columns) as Field[]).map((field) => rows.map((row) => row[field]))

type Cell = string | number | boolean | Date | null
