import { randomBytes } from 'node:crypto'

import type { Db } from '../../src/core/database/database.ts'
import { newId } from '../../src/core/ids.ts'
import { unnamed } from './sql.ts'

interface Column {
  table: string
  name: string
  type: string
  /** The first value of an enum. */
  label: string | null
  isNeeded: boolean
}

const COLUMNS = unnamed(`SELECT c.table_name AS table, c.column_name AS name, c.udt_name AS type,
     (SELECT e.enumlabel FROM pg_enum e WHERE e.enumtypid = c.udt_name::regtype ORDER BY e.enumsortorder LIMIT 1) AS label,
     c.is_nullable = 'NO' AND c.column_default IS NULL AND c.is_generated = 'NEVER' AND c.is_identity = 'NO' AS "isNeeded"
   FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
   WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.table_name IN (
     SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id')
   ORDER BY 1, c.ordinal_position`)

/** Stands for the id of all rows. */
const ID = Symbol('id')

/** What checks of the tables want. */
const CHECKED: Readonly<Record<string, unknown>> = {
  'comments.body': 'x',
  'comments.body_html': 'x',
  'events.audience': 'public',
  'idempotency_records.status': 200,
  'import_items.kind': 'reader',
  'notes.comment_id': ID,
  'reports.reason': 'spam',
  // Unique over all tenants.
  'sites.public_key': ID,
  'webhook_endpoints.event_types': ['*'],
}

const VALUES: Readonly<Record<string, unknown>> = {
  bool: false,
  int2: 1,
  int4: 1,
  int8: 1,
  json: '{}',
  jsonb: '{}',
  text: 'x',
  tsvector: '',
  _text: '{}',
  _uuid: '{}',
}

/** The tables with a column tenant_id, by the catalog of the database. */
export async function tenantTables(db: Db): Promise<string[]> {
  return [...new Set((await db.query<Column>(COLUMNS)).map(({ table }) => table))]
}

/**
 * Writes a row of the tenant into each of these tables. All ids of the rows are the same one, so
 * that each row refers to rows that are there.
 */
export async function fillTables(db: Db, tenantId: string): Promise<void> {
  const id = newId()
  const columns = await db.query<Column>(COLUMNS)
  const valueOf = ({ table, name, type, label }: Column): unknown => {
    if (name === 'tenant_id') return tenantId
    if (type === 'uuid') return id
    const checked = CHECKED[`${table}.${name}`]
    if (checked !== undefined) return checked === ID ? id : checked
    if (type === 'timestamptz') return new Date()
    if (type === 'bytea') return randomBytes(32)
    const value = label ?? VALUES[type]
    if (value === undefined) throw new Error(`no value is known for ${table}.${name} of type ${type}`)
    return value
  }
  await db.transaction(async (sql) => {
    // Neither triggers nor foreign keys: the order of the tables does not matter.
    await sql(unnamed('SET LOCAL session_replication_role = replica'))
    for (const table of new Set(columns.map((column) => column.table))) {
      const some = columns.filter(
        ({ table: of, name, isNeeded }) => of === table && (isNeeded || CHECKED[`${of}.${name}`] !== undefined),
      )
      const names = some.map(({ name }) => `"${name}"`).join(', ')
      const places = some.map(({ type }, n) => `$${n + 1}::${type}`).join(', ')
      const insert = `INSERT INTO "${table}" (${names}) VALUES (${places})`
      await sql(unnamed(insert), some.map(valueOf) as never)
    }
  })
}

/** How many rows the tenant has in each of these tables, without those where it has none. */
export async function countTables(
  db: Db,
  tenantId: string,
  tables?: readonly string[],
): Promise<Record<string, number>> {
  const counts = (tables ?? (await tenantTables(db))).map(
    (table) => `SELECT '${table}' AS table, count(*)::int AS n FROM "${table}" WHERE tenant_id = $1`,
  )
  const rows = await db.query<{ table: string; n: number }>(unnamed(counts.join(' UNION ALL ')), [tenantId])
  return Object.fromEntries(rows.flatMap(({ table, n }) => (n > 0 ? [[table, n]] : [])))
}
