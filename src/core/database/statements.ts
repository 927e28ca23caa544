import type { Described, Json } from '../../generated/statements.ts'

/** One SQL statement. It is prepared once per connection under its name. */
export interface Statement<Columns = unknown> {
  name: string
  text: string
  /** Whether it locks rows, and so may wait for another transaction. */
  locks: boolean
  /** Whether it is planned for each execution instead of prepared: for sums over many rows. */
  isPlannedEachTime?: boolean
  /** For types only: no statement has it at run time. */
  columns?: Columns | undefined
}

/** The columns of a named statement, as PostgreSQL describes them (`npm run generate`). */
type ColumnsOf<Name> = Name extends keyof Described ? Described[Name] : unknown

/**
 * A statement whose rows are a `Row`: the compiler refuses a `Row` with a column that the statement
 * lacks, or of another type. PostgreSQL does not describe which columns may be null, which values a
 * text column has, or what a `json` contains: for these the `Row` is trusted.
 */
export type StatementOf<Row> = Statement<NoInfer<unknown extends Row ? unknown : ColumnsFor<Row>>>

/**
 * Runs one statement. Returns its rows, with `timestamptz` as Date, `bigint` as number, `json`
 * parsed.
 */
export interface Sql {
  <Row>(statement: StatementOf<Row>, params?: readonly Param[]): Promise<Row[]>
  /** The `traceparent` of the request that it runs for; absent where that is not traced. */
  readonly trace?: string | undefined
}

/** Runs one statement, whose parameters are its arguments, `$1` first. */
type Run<Params extends Param[], Answer> = (sql: Sql, ...params: Params) => Promise<Answer>

/** A statement as functions. */
interface Functions {
  /** Its rows. */
  rows<Params extends Param[], Row>(this: StatementOf<Row>): Run<Params, Row[]>
  /** Its only row, or its first. */
  first<Params extends Param[], Row>(this: StatementOf<Row>): Run<Params, Row | undefined>
  /** The `count` of its only row; 0 without a row. */
  count<Params extends Param[]>(this: StatementOf<{ count: number }>): Run<Params, number>
  /** Nothing of what it returns. */
  run<Params extends Param[] = []>(): Run<Params, void>
}

type ColumnsFor<Row> = { [Key in keyof Row]: Json | Widened<NonNullable<Row[Key]>> }

type Widened<T> = T extends string ? string : T extends number ? number : T extends boolean ? boolean : T

/**
 * The values that a statement accepts: the driver would send an object as JSON, and `undefined` as
 * NULL. Tests check that they fit the parameters (`test/harness/parameters.ts`).
 */
export type Param = Value | readonly Value[]

export type Value = string | number | bigint | boolean | Date | Uint8Array | null

/** Whether a statement locks rows. */
export const takesLocks = (text: string): boolean => /\b(INSERT|UPDATE|DELETE|SHARE|pg_advisory_xact_lock)\b/.test(text)

const registered = new Map<string, Statement>()

/**
 * Registers a statement under its name. White space is folded, so that logs and prepared statements
 * stay short. Throws where the name already has another text, because a connection prepares one
 * text per name.
 */
export function statement<Name extends string>(
  name: Name,
  text: string,
  options: Pick<Statement, 'isPlannedEachTime'> = {},
): Statement<ColumnsOf<Name>> & Functions {
  const made: Statement<ColumnsOf<Name>> & Functions = {
    name,
    text: text.replace(/\s+/g, ' ').trim(),
    locks: takesLocks(text),
    ...options,
    rows() {
      return (sql, ...params) => sql(this, params)
    },
    first() {
      return async (sql, ...params) => (await sql(this, params))[0]
    },
    count() {
      return async (sql, ...params) => (await sql<{ count: number }>(this, params))[0]?.count ?? 0
    },
    run() {
      return async (sql, ...params) => void (await sql(made, params))
    },
  }
  const before = registered.get(name)
  if (before === undefined) registered.set(name, made)
  else if (before.text !== made.text) throw new Error(`two statements are named ${name}`)
  return made
}

/** All statements registered by the modules that are loaded so far. */
export const registeredStatements = (): Statement[] => [...registered.values()]
