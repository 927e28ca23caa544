import type { Db, Sql, TxSql } from '../../src/core/database/database.ts'
import type { Statement } from '../../src/core/database/statements.ts'
import type { Database } from '../../src/data/database.ts'
import { PARAMETERS } from '../../src/generated/statements.ts'
import { faults } from './faults.ts'

type Fits = (value: unknown) => boolean

const isText: Fits = (value) => typeof value === 'string'
const isJson: Fits = (value) => {
  try {
    return typeof value === 'string' && JSON.parse(value) !== undefined
  } catch {
    return false
  }
}

const INSTANT = /^(\d{4}-\d\d-\d\dT[\d:.]+Z|infinity)$/

/** What the code may send for each type. A type that is not here is an enum, which takes a text. */
const FITS: Readonly<Record<string, Fits>> = {
  bigint: (value) => typeof value === 'bigint' || Number.isSafeInteger(value) || /^-?\d+$/.test(String(value)),
  boolean: (value) => typeof value === 'boolean',
  bytea: (value) => value instanceof Uint8Array,
  'double precision': (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31,
  json: isJson,
  jsonb: isJson,
  text: isText,
  'timestamp with time zone': (value) => value instanceof Date || INSTANT.test(String(value)),
  uuid: (value) => typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value),
}

/**
 * Whether a value is one of a type of PostgreSQL. The driver would send any value: a number as a
 * text, an object as JSON, `undefined` as NULL.
 */
export function fits(type: string, value: unknown): boolean {
  if (value === null) return true
  if (!type.endsWith('[]')) return (FITS[type] ?? isText)(value)
  return Array.isArray(value) && value.every((each) => fits(type.slice(0, -2), each))
}

const known: Readonly<Record<string, readonly string[]>> = PARAMETERS

/** Throws where a statement is sent what does not fit its parameters. */
export function checkParameters({ name, text }: Statement, params: readonly unknown[] = []): void {
  const types = known[name]
  if (types === undefined) return
  if (types.length !== params.length) throw refusal(name, `takes ${types.length} parameters, not ${params.length}`)
  types.forEach((type, index) => {
    if (fits(type, params[index])) return
    throw refusal(name, `$${index + 1} is of type ${type}, and was sent ${describe(params[index])}: ${text}`)
  })
}

const describe = (value: unknown): string => `${typeof value} ${JSON.stringify(value)?.slice(0, 100)}`

function refusal(name: string, what: string): Error {
  const message = `statement ${name}: ${what}`
  faults.push(message)
  return new TypeError(message)
}

/** The same database, which checks what its statements are sent. */
export const checkingParameters = (database: Database): Database => ({ ...database, db: checkingDb(database.db) })

const checkingDb = (db: Db): Db => ({
  ...db,
  query: checked(db.query),
  transaction: (work, lockWaitMs) => db.transaction((sql) => work(checkingTx(sql)), lockWaitMs),
})

const checked =
  (sql: Sql): Sql =>
  (asked, params) => {
    checkParameters(asked, params)
    return sql(asked, params)
  }

const checkingTx = (sql: TxSql): TxSql =>
  Object.defineProperties(checked(sql), {
    prisma: { get: () => sql.prisma },
    within: { value: (...args: Parameters<TxSql['within']>) => checkingTx(sql.within(...args)) },
    trace: { get: () => sql.trace },
  }) as TxSql
