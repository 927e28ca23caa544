import type { Db } from '../../src/core/database/database.ts'
import { unnamed } from './sql.ts'

const TABLES = unnamed(`SELECT table_name AS name FROM information_schema.tables
   WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`)

/** Every row of every table as text, a line each that begins with the table's name. */
export async function dumpTables(db: Db): Promise<string> {
  const tables = await db.query<{ name: string }>(TABLES)
  if (tables.length < 15) throw new Error('these are not all tables')
  const lines: string[] = []
  for (const { name } of tables) {
    const rows = await db.query<{ row: string }>(unnamed(`SELECT t::text AS row FROM "${name}" t`))
    lines.push(...rows.map(({ row }) => `${name} ${row.replaceAll('\n', ' ')}`))
  }
  return lines.join('\n')
}

/** The rows with one of these texts, in the tables from which readers and webhooks are answered. */
export async function tracesOf(db: Db, ...marks: string[]): Promise<string[]> {
  const kept = /^(audit_log|idempotency_records|reader_merges|analytics_\w+) /
  const lines = (await dumpTables(db)).split('\n').filter((line) => !kept.test(line))
  return lines.filter((line) => marks.some((mark) => line.includes(mark)))
}
