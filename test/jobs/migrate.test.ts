import { PrismaPg } from '@prisma/adapter-pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { poolOn } from '../../src/data/embedded/session.ts'
import { SettingsError } from '../../src/core/settings/settings.ts'
import { compareMigrations, migrate, upgrade } from '../../src/data/migrations/migrate.ts'
import { explainUnfinished } from '../../src/data/migrations/failures.ts'
import { parseMigration, readMigrations } from '../../src/data/migrations/files.ts'
import { migrationAdapter } from '../../src/data/pool.ts'
import { wholeScripts } from '../../src/data/migrations/scripts.ts'
import { lendBarePGlite, openTestDatabase } from '../harness/database.ts'
import { SILENT } from '../harness/log.ts'
import { unnamed } from '../harness/sql.ts'

const DEATH = new Error('the process dies')
const isMigration = (script: string): boolean => script.includes('CREATE TABLE tenants')

test.each([
  ['before its script is committed', false],
  ['after its script is committed', true],
])('a migration whose process dies %s is repaired by the next start', async (_when, isCommitted) => {
  const { pglite, giveBack } = await lendBarePGlite()
  const pool = poolOn(pglite)
  const dying = wholeScripts(new PrismaPg(pool), async (script) => {
    if (!isMigration(script)) return pool.query(script)
    if (isCommitted) await pool.query(script)
    throw DEATH
  })
  await expect(migrate(dying)).rejects.toThrow(DEATH.message)
  const tables = async () => (await pool.query('SELECT 1 FROM pg_tables WHERE tablename = $1', ['tenants'])).rows
  expect(await tables()).toHaveLength(isCommitted ? 1 : 0)

  await migrate(migrationAdapter(pool))
  expect(await tables()).toHaveLength(1)
  const { rows } = await pool.query<{ done: boolean }>('SELECT finished_at IS NOT NULL AS done FROM _prisma_migrations')
  expect(rows.length).toBeGreaterThan(0)
  expect(rows.every(({ done }) => done)).toBe(true)
  const listeners = pool.listenerCount('error')
  expect(await migrate(migrationAdapter(pool))).toEqual([])
  expect(pool.listenerCount('error')).toBe(listeners)
  await pool.end()
  await giveBack()
})

test('a failed script leaves nothing behind, and is reported', async () => {
  const { pglite, giveBack } = await lendBarePGlite()
  const pool = poolOn(pglite)
  const connection = await migrationAdapter(pool).connect()
  await expect(connection.executeScript('CREATE TABLE half (id int); CREATE TABL other ();')).rejects.toThrow(
    'syntax error',
  )
  expect((await pool.query("SELECT to_regclass('half') AS name")).rows).toEqual([{ name: null }])
  await connection.executeScript('CREATE TABLE whole (id int); -- a comment; with a semicolon')
  expect((await pool.query("SELECT to_regclass('whole') AS name")).rows).toEqual([{ name: 'whole' }])
  await pool.end()
  await giveBack()
})

test.each([
  [
    '20261121000000_init',
    /^another release or product made this database \(migration 20261121000000_init\).*empty database$/,
  ],
  ['29990101000000_contract_29980101000000', /^a newer release has taken away.*\(migration 2999.*_2998.*\).*backup/],
])('a database with the foreign migration %s is refused in one line', async (name, reason) => {
  const database = await openTestDatabase()
  await note(database, name)
  await expect(upgrade(database, SILENT)).rejects.toThrow(reason)
  await forget(database)
  await database.close()
})

const [firstTime] = readMigrations()[0]?.name.split('_') ?? []

test.each([['29990101000000_expanded'], [`29990101000000_contract_${firstTime}`]])(
  'a database with the migration %s of a newer release is used beside it',
  async (name) => {
    const database = await openTestDatabase()
    await note(database, name)
    await upgrade(database, SILENT)
    expect(await compareMigrations(database.db.query)).toEqual({ missing: [], newer: [name], foreign: [] })
    await forget(database)
    await database.close()
  },
)

test('a database that lacks migrations of this release and has others is refused', async () => {
  const database = await openTestDatabase()
  await note(database, '29990101000000_of_another_product')
  const [init] = await database.db.query<{ row: object }>(
    unnamed(`DELETE FROM _prisma_migrations m WHERE migration_name LIKE '%_init' RETURNING to_jsonb(m) AS row`),
  )
  await expect(upgrade(database, SILENT)).rejects.toThrow(/^another release or product made this database/)
  await database.db.query(
    unnamed('INSERT INTO _prisma_migrations SELECT * FROM jsonb_populate_record(NULL::_prisma_migrations, $1::jsonb)'),
    [JSON.stringify(init?.row)],
  )
  await forget(database)
  await database.close()
})

test('a start beside a newer release reports it', async () => {
  const database = await openTestDatabase()
  await note(database, '29990101000000_expanded')
  const lines: unknown[] = []
  await upgrade(database, pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }))
  expect(lines).toMatchObject([
    { level: 40, migrations: ['29990101000000_expanded'], msg: expect.stringMatching(/newer release/) },
  ])
  await forget(database)
  await database.close()
})

test('a database with tables of another program is refused, unchanged', async () => {
  const { pglite, giveBack } = await lendBarePGlite()
  const pool = poolOn(pglite)
  await pool.query('CREATE TABLE notes (id int)')
  await expect(migrate(migrationAdapter(pool))).rejects.toThrow(
    new SettingsError('the database has tables, but none of this service: use an empty database'),
  )
  expect((await pool.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', ['public'])).rows).toEqual([
    { tablename: 'notes' },
  ])
  await pool.end()
  await giveBack()
})

// It stands last: the next test would need a new database.
test('a failed migration reports its cause and the remedy, changes nothing, and is applied once the cause is gone', async () => {
  const database = await openTestDatabase()
  const script = 'CREATE TABLE half (id int);\nALTER TABLE tenants ADD COLUMN slug text;'
  const migrations = [...readMigrations(), parseMigration('29990101000000_next', script)]
  const reason =
    'failed: column "slug" of relation "tenants" already exists. It has changed nothing: remove the cause, then start again'
  for (const _start of [1, 2]) {
    await expect(upgrade(database, SILENT, migrations)).rejects.toThrow(
      new SettingsError(`the migration 29990101000000_next ${reason}`),
    )
    expect(await explainUnfinished(database.db.query)).toBe(`29990101000000_next ${reason}`)
  }
  expect(await database.db.query(unnamed(`SELECT to_regclass('half') AS half`))).toEqual([{ half: null }])
  await database.db.query(unnamed('ALTER TABLE tenants DROP COLUMN slug CASCADE'))
  await upgrade(database, SILENT, migrations)
  expect(await explainUnfinished(database.db.query)).toBeNull()
  await database.close()
})

const note = ({ db }: Database, name: string): Promise<unknown> =>
  db.query(unnamed("INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', 'x', $1)"), [name])

// A database that is as it was serves the next test; to make another one takes a second of CPU.
const forget = ({ db }: Database): Promise<unknown> =>
  db.query(unnamed("DELETE FROM _prisma_migrations WHERE id = 'x'"))
