/** One SQL statement. It is prepared once per connection under its name. */
export interface Statement {
  name: string
  text: string
}

/** Runs one statement: the rows, with `timestamptz` as Date, `bigint` as number, `json` parsed. */
export type Sql = <Row>(statement: Statement, params?: readonly unknown[]) => Promise<Row[]>

/** PostgreSQL, embedded or on a server. */
export interface Db {
  query: Sql
  /** One transaction (READ COMMITTED) on one connection. Rolled back where `work` throws. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>
}

/** Names a statement; white space is folded, so that logs and prepared statements stay short. */
export const statement = (name: string, text: string): Statement => ({ name, text: text.replace(/\s+/g, ' ').trim() })
