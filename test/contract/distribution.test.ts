import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { loadStatements } from '../../src/build/statements.ts'
import { openTestDatabase } from '../harness/database.ts'
import { unnamed } from '../harness/sql.ts'

// docs/operations/sizing.md promises that tenants can be spread over several servers, and lists
// the exceptions below. Add a new exception there too.

let database: Database
let tables: string[]

beforeAll(async () => {
  database = await openTestDatabase()
  const rows = await database.db.query<{ name: string }>(
    unnamed(`SELECT table_name::text AS name FROM information_schema.columns
             WHERE table_schema = current_schema() AND column_name = 'tenant_id' ORDER BY 1`),
  )
  tables = rows.map(({ name }) => name)
})
afterAll(() => database.close())

test("every key and unique index of a tenant's table begins with the tenant, with known exceptions", async () => {
  expect(tables.length).toBeGreaterThan(20)
  const rows = await database.db.query<{ name: string }>(
    unnamed(`SELECT indexrelid::regclass::text AS name FROM pg_index i
             WHERE indisunique AND indrelid::regclass::text = ANY($1)
               AND (SELECT attname FROM pg_attribute a WHERE a.attrelid = indrelid AND a.attnum = indkey[0]) <> 'tenant_id'
             ORDER BY 1`),
    [tables],
  )
  expect(rows.map(({ name }) => name)).toEqual([
    'api_keys_digest_key',
    'client_tokens_digest_key',
    'members_invitation_digest_key',
    'sites_public_key_key',
  ])
})

test("every reference between a tenant's rows includes the tenant, with known exceptions", async () => {
  const rows = await database.db.query<{ name: string }>(
    unnamed(`SELECT conname::text AS name FROM pg_constraint
             WHERE contype = 'f' AND conrelid::regclass::text = ANY($1)
               AND pg_get_constraintdef(oid) NOT LIKE 'FOREIGN KEY (tenant_id%' ORDER BY 1`),
    [tables],
  )
  expect(rows.map(({ name }) => name)).toEqual(['members_account_id_fkey', 'stream_counts_process_id_fkey'])
})

test("statements on a tenant's tables name the tenant, with known exceptions", async () => {
  const names = new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE)\\s+(?:${tables.join('|')})\\b`, 'i')
  const all = await loadStatements()
  const beside = all.filter(({ text }) => names.test(text) && !/\btenant_id\b/.test(text)).map(({ name }) => name)
  expect(all.filter(({ text }) => names.test(text)).length).toBeGreaterThan(120)
  expect(beside.toSorted((a, b) => a.localeCompare(b))).toEqual([
    'count_outcomes_by_key',
    'count_sealed_secrets',
    'delete_expired_aliases',
    'find_origin',
  ])
})
