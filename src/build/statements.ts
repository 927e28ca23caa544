import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'

import { ROOT } from '../core/process/root.ts'
import { registeredStatements, type Statement } from '../core/database/statements.ts'
import { poolOn } from '../data/embedded/session.ts'
import { migrate } from '../data/migrations/migrate.ts'
import { migrationAdapter } from '../data/pool.ts'

/** All statements of the service; loads every module that registers one. */
export async function loadStatements(): Promise<Statement[]> {
  const folder = join(ROOT, 'src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && readFileSync(join(folder, name), 'utf8').includes('statement('),
  )
  await Promise.all(files.map((name) => import(join(folder, name))))
  return registeredStatements()
}

const {
  BOOL,
  BYTEA,
  FLOAT8,
  INT4,
  INT8,
  JSON: JSON_TEXT,
  JSONB,
  NUMERIC,
  TEXT,
  TIMESTAMPTZ,
  UUID,
  VARCHAR,
} = pg.types.builtins
const TEXT_ARRAY = 1009
const VOID = 2278

/** The JavaScript types of the driver's values (`TYPES` in `data/pool.ts`). */
export const DRIVER_TYPES: Readonly<Record<number, string>> = {
  [BOOL]: 'boolean',
  [BYTEA]: 'Buffer<ArrayBuffer>',
  [FLOAT8]: 'number',
  [INT4]: 'number',
  [INT8]: 'number',
  [JSON_TEXT]: 'Json',
  [JSONB]: 'Json',
  [NUMERIC]: 'string',
  [TEXT]: 'string',
  [TEXT_ARRAY]: 'string[]',
  [TIMESTAMPTZ]: 'Date',
  [UUID]: 'string',
  [VARCHAR]: 'string',
  [VOID]: 'string',
}

/**
 * The source of `generated/statements.ts`: the parameters and columns of each statement on a
 * migrated database. The compiler checks the code's row types against it, tests the parameters that
 * the code sends.
 */
export async function describeStatements(): Promise<string> {
  const statements = await loadStatements()
  const pglite = await PGlite.create()
  const pool = poolOn(pglite)
  await migrate(migrationAdapter(pool))
  await pool.end()
  const rows = await Promise.all(statements.map((each) => describeStatement(pglite, each)))
  const parameters = await Promise.all(statements.map((each) => describeParameters(pglite, each)))
  await pglite.close()
  return [
    `/** A json or jsonb column. */\nexport declare class Json {\n  private readonly parsed: unknown\n}`,
    `export interface Described {\n${rows.sort().join('\n')}\n}`,
    `/** For tests: the types of the parameters. */`,
    `export const PARAMETERS = {\n${parameters.sort().join('\n')}\n}\n`,
  ].join('\n\n')
}

/** A statement's name and columns. Throws if PostgreSQL refuses it. */
export async function describeStatement(pglite: PGlite, { name, text }: Statement): Promise<string> {
  const { resultFields } = await pglite.describeQuery(text).catch((cause: Error) => {
    throw new Error(`PostgreSQL refuses the statement ${name}: ${cause.message}`, { cause })
  })
  const columns = resultFields.map((column) => {
    const type = DRIVER_TYPES[column.dataTypeID]
    if (type === undefined) throw new Error(`${name}: DRIVER_TYPES lacks the type of ${column.name}`)
    return `${JSON.stringify(column.name)}: ${type}`
  })
  return `  ${name}: { ${columns.join('; ')} }`
}

/** A statement's name and the types of its parameters, as PostgreSQL names them. */
export async function describeParameters(pglite: PGlite, { name, text }: Statement): Promise<string> {
  const { queryParams } = await pglite.describeQuery(text)
  const types = await pglite.query<{ type: string }>(
    'SELECT format_type(oid, NULL) AS type FROM unnest($1::oid[]) WITH ORDINALITY AS p (oid, n) ORDER BY n',
    [queryParams.map(({ dataTypeID }) => dataTypeID)],
  )
  return `  ${name}: ${JSON.stringify(types.rows.map(({ type }) => type))},`
}
