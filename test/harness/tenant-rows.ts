import { expect } from 'vitest'

import type { Db } from '../../src/core/database/database.ts'
import { unnamed } from './sql.ts'

const TABLES = unnamed(`SELECT table_name AS name FROM information_schema.columns
   WHERE table_schema = current_schema() AND column_name = 'tenant_id' ORDER BY 1`)

/** A digest of everything that a tenant has, table by table. */
export async function digestOf(db: Db, tenantId: string): Promise<Record<string, unknown>> {
  const tables = await db.query<{ name: string }>(TABLES)
  expect(tables.length).toBeGreaterThan(10)
  const digests: Record<string, unknown> = {}
  for (const { name, column } of [
    ...tables.map((table) => ({ name: table.name, column: 'tenant_id' })),
    { name: 'tenants', column: 'id' },
  ]) {
    // When a key was last used, or a member last seen, is written a little later.
    const row = "(to_jsonb(t) - 'last_used_at' - 'last_seen_at')::text"
    const digest = `SELECT count(*) AS rows, md5(string_agg(${row}, ' ' ORDER BY ${row})) AS digest FROM "${name}" t WHERE ${column} = $1`
    digests[name] = (await db.query(unnamed(digest), [tenantId]))[0]
  }
  return digests
}
