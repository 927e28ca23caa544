import { createHash } from 'node:crypto'

import { afterEach, describe, expect, test, vi } from 'vitest'

import { completeBackfill, continueBackfills, openBackfills } from '../../src/data/migrations/backfills.ts'
import type { Database } from '../../src/data/database.ts'
import { upgrade } from '../../src/data/migrations/migrate.ts'
import { parseMigration, readMigrations } from '../../src/data/migrations/files.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createServerDatabase, onServer, openTestDatabase } from '../harness/database.ts'
import { SILENT } from '../harness/log.ts'
import { NEXT_RELEASE } from '../harness/releases.ts'
import { startUpgrade } from '../harness/upgrade-process.ts'
import { unnamed } from '../harness/sql.ts'

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

/** Fills in comments of two tenants as a release before has left them. */
const FILL = `
  INSERT INTO tenants (id, slug) SELECT gen_random_uuid(), 'filled-' || n FROM generate_series(1, 2) n;
  INSERT INTO discussions (tenant_id, id, external_id)
  SELECT id, gen_random_uuid(), 'filled' FROM tenants WHERE slug LIKE 'filled-%';
  INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
  SELECT d.tenant_id, new_id(), d.id, 'text', '<p>text</p>', 'approved'
  FROM discussions d, generate_series(1, $ROWS) WHERE d.external_id = 'filled'`

const run = (database: Database, script: string): Promise<unknown> =>
  database.exclusively(async (adapter) => (await adapter.connect()).executeScript(script))

const one = async <Row>({ db }: Database, text: string): Promise<Row | undefined> =>
  (await db.query<Row>(unnamed(text)))[0]

const rulesOf = (database: Database) =>
  one(
    database,
    `SELECT (SELECT is_nullable FROM information_schema.columns WHERE table_name = 'comments' AND column_name = 'language') AS nullable,
       (SELECT convalidated FROM pg_constraint WHERE conname = 'comments_language_fkey') AS valid,
       (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('comments_language')) AS index,
       (SELECT count(*)::int FROM comments WHERE language IS DISTINCT FROM 'und') AS unfilled`,
  )
const UPGRADED = { nullable: 'NO', valid: true, index: true, unfilled: 0 }

async function openFilled(rows: number): Promise<Database> {
  const database = await openTestDatabase()
  cleanUps.push(database.close)
  await run(database, FILL.replace('$ROWS', String(rows)))
  return database
}

test('a release with a backfill, rules and a concurrent index is applied and recorded as by prisma migrate deploy', async () => {
  const database = await openFilled(600)
  await upgrade(database, SILENT, NEXT_RELEASE)
  expect(await rulesOf(database)).toEqual(UPGRADED)
  expect(
    await one(database, 'SELECT changed::int, completed_at IS NOT NULL AS done FROM backfills ORDER BY name DESC'),
  ).toEqual({
    changed: 1200,
    done: true,
  })
  const notes = await database.db.query(
    unnamed(`SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished, applied_steps_count AS steps, logs
       FROM _prisma_migrations ORDER BY started_at`),
  )
  expect(notes).toEqual(
    NEXT_RELEASE.map(({ name, script }) => ({
      name,
      checksum: createHash('sha256').update(script).digest('hex'),
      finished: true,
      steps: 1,
      logs: null,
    })),
  )
  await upgrade(database, SILENT, NEXT_RELEASE)
})

test('an invalid index that an interrupted build has left is built again', async () => {
  const database = await openFilled(1)
  const index = NEXT_RELEASE.find(({ script }) => /CONCURRENTLY.*comments_language/.test(script))
  await upgrade(database, SILENT, NEXT_RELEASE)
  await run(database, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'comments_language'::regclass`)
  await run(database, `DELETE FROM _prisma_migrations WHERE migration_name = '${index?.name}'`)
  await upgrade(database, SILENT, NEXT_RELEASE)
  expect(await rulesOf(database)).toEqual(UPGRADED)
})

describe('a backfill', () => {
  const expand = NEXT_RELEASE.findLast(({ backfill }) => backfill !== null)

  test('is run by any number of workers, each row once, and again for rows of the previous release', async () => {
    const database = await openFilled(800)
    const migrations = NEXT_RELEASE.slice(0, NEXT_RELEASE.indexOf(expand!) + 1)
    await upgrade(database, SILENT, migrations)
    const work = async (): Promise<void> => {
      while ((await openBackfills(database.db.query)).length > 0) await continueBackfills(database.db, migrations)
    }
    await continueBackfills(database.db, migrations)
    await Promise.all([work(), work()])
    const changed = `SELECT changed::int FROM backfills WHERE name = '${expand?.name}'`
    expect(await one(database, changed)).toEqual({ changed: 1600 })
    await run(database, 'UPDATE comments SET language = NULL')
    expect(await continueBackfills(database.db, migrations)).toBe(false)
    await completeBackfill(database.db, expand!)
    expect(await rulesOf(database)).toMatchObject({ unfilled: 0 })
  })
})

describe.skipIf(!onServer)(`on a server${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  const openOwn = async (rows: number): Promise<{ url: string; database: Database; other: Database }> => {
    const { url, drop } = await createServerDatabase()
    cleanUps.push(drop)
    const open = async (): Promise<Database> => {
      const opened = await openServer({ url, size: 4, onError: () => undefined })
      cleanUps.push(opened.close)
      return opened
    }
    const database = await open()
    await run(database, FILL.replace('$ROWS', String(rows)))
    return { url, database, other: await open() }
  }

  /** Holds a lock on comments, as a long transaction does, until `let go`. */
  const holdComments = async ({ db }: Database): Promise<() => Promise<void>> => {
    let letGo = (): void => undefined
    const held = new Promise<void>((resolve) => (letGo = resolve))
    let isHeld = false
    const transaction = db.transaction(async (sql) => {
      await sql(unnamed('UPDATE comments SET depth = depth'))
      isHeld = true
      await held
    })
    await vi.waitFor(() => expect(isHeld).toBe(true))
    return async () => {
      letGo()
      await transaction
    }
  }

  const startOwnUpgrade = (url: string): ReturnType<typeof startUpgrade> => {
    const upgrading = startUpgrade(url)
    cleanUps.push(upgrading.kill)
    return upgrading
  }

  test('a migration that waits for a table lets writers go first, and is retried', async () => {
    const { database, other } = await openOwn(1)
    const letGo = await holdComments(other)
    const script = 'ALTER TABLE comments ADD COLUMN note text;'
    let isDone = false
    const upgraded = upgrade(database, SILENT, [
      ...readMigrations(),
      parseMigration('29990101000000_note', script),
    ]).then(() => (isDone = true))
    const waiting = `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
      WHERE datname = current_database() AND NOT granted AND relation = 'comments'::regclass`
    await vi.waitFor(async () => expect(await one(other, waiting)).toBeDefined(), { interval: 5 })
    // It comes behind the migration, and ends while the lock that the migration waits for is still
    // held.
    const write = `INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
      SELECT tenant_id, new_id(), discussion_id, body, body_html, status FROM comments LIMIT 1`
    await other.db.transaction((sql) => sql(unnamed(write)), 60_000)
    expect(isDone).toBe(false)
    await letGo()
    await upgraded
  })

  test('processes that start at the same time build an index concurrently, one after the other', async () => {
    const { database, other } = await openOwn(10)
    await Promise.all([upgrade(database, SILENT, NEXT_RELEASE), upgrade(other, SILENT, NEXT_RELEASE)])
    expect(await rulesOf(database)).toEqual(UPGRADED)
  })

  test.each([
    ['the server goes on with it', false],
    ['the server gives it up', true],
  ])('kill -9 in the middle of a concurrent index build, and %s: the next start completes it', async (_, isGivenUp) => {
    const { url, database, other } = await openOwn(10)
    await upgrade(database, SILENT, NEXT_RELEASE.slice(0, -1))
    const letGo = await holdComments(other)
    const process = startOwnUpgrade(url)
    const builder = () =>
      one<{ pid: number }>(
        database,
        'SELECT pid FROM pg_stat_progress_create_index WHERE datname = current_database() AND index_relid <> 0',
      )
    await vi.waitFor(async () => expect(await builder()).toBeDefined(), { timeout: 30_000 })
    await process.kill()
    if (isGivenUp) await one(database, `SELECT pg_terminate_backend(${(await builder())?.pid}, 5000)`)
    const upgraded = upgrade(database, SILENT, NEXT_RELEASE)
    await letGo()
    await upgraded
    expect(await rulesOf(database)).toEqual(UPGRADED)
  })

  test('kill -9 in the middle of a backfill: the next start continues, and handles each row once', async () => {
    const rows = 5000
    const { url, database } = await openOwn(rows)
    const process = startOwnUpgrade(url)
    const changed = async (): Promise<number> =>
      (await openBackfills(database.db.query).catch(() => []))[0]?.changed ?? 0
    await vi.waitFor(async () => expect(await changed()).toBeGreaterThan(0), { timeout: 30_000, interval: 5 })
    await process.kill()
    expect(await changed()).toBeLessThan(2 * rows)
    await upgrade(database, SILENT, NEXT_RELEASE)
    expect(await rulesOf(database)).toEqual(UPGRADED)
    expect(await one(database, 'SELECT changed::int FROM backfills ORDER BY name DESC')).toEqual({ changed: 2 * rows })
  })
})
