import { PGlite } from '@electric-sql/pglite'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { expect, test } from 'vitest'

import { migrationAdapter } from '../../src/data/embedded.ts'
import { migrate } from '../../src/data/migrate.ts'
import { wholeScripts } from '../../src/data/scripts.ts'

const DEATH = new Error('the process dies')
const isMigration = (script: string): boolean => script.includes('CREATE TABLE "tenants"')

test.each([
  ['before its script is committed', false],
  ['after its script is committed', true],
])('a migration whose process dies %s is made good by the next start', async (_when, isCommitted) => {
  const pglite = await PGlite.create()
  const dying = wholeScripts(new PrismaPGlite(pglite), async (script) => {
    if (!isMigration(script)) return pglite.exec(script)
    if (isCommitted) await pglite.exec(script)
    throw DEATH
  })
  await expect(migrate(dying)).rejects.toThrow(DEATH.message)
  const tables = async () => (await pglite.query('SELECT 1 FROM pg_tables WHERE tablename = $1', ['tenants'])).rows
  expect(await tables()).toHaveLength(isCommitted ? 1 : 0)

  await migrate(migrationAdapter(pglite))
  expect(await tables()).toHaveLength(1)
  const { rows } = await pglite.query<{ done: boolean }>(
    'SELECT finished_at IS NOT NULL AS done FROM _prisma_migrations',
  )
  expect(rows.length).toBeGreaterThan(0)
  expect(rows.every(({ done }) => done)).toBe(true)
  expect(await migrate(migrationAdapter(pglite))).toEqual([])
  await pglite.close()
})

test('a script that fails leaves nothing of itself, and is told', async () => {
  const pglite = await PGlite.create()
  const connection = await migrationAdapter(pglite).connect()
  await expect(connection.executeScript('CREATE TABLE half (id int); CREATE TABL other ();')).rejects.toThrow(
    'syntax error',
  )
  expect((await pglite.query("SELECT to_regclass('half') AS name")).rows).toEqual([{ name: null }])
  await connection.executeScript('CREATE TABLE whole (id int); -- a comment; with a semicolon')
  expect((await pglite.query("SELECT to_regclass('whole') AS name")).rows).toEqual([{ name: 'whole' }])
  await pglite.close()
})
