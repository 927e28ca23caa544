import { createHash } from 'node:crypto'

import { describe, expect, test, vi } from 'vitest'

import { completeBackfill, continueBackfills, openBackfills } from '../../src/data/migrations/backfills.ts'
import { upgrade } from '../../src/data/migrations/migrate.ts'
import { parseMigration, readMigrations } from '../../src/data/migrations/files.ts'
import { onServer } from '../harness/database.ts'
import { SILENT } from '../harness/log.ts'
import { NEXT_RELEASE } from '../harness/releases.ts'
import { unnamed } from '../harness/sql.ts'
import {
  holdComments,
  oneRow,
  openFilled,
  openFilledTwice,
  rulesOf,
  runScript,
  UPGRADED,
} from '../harness/filled-databases.ts'

test('a release with a backfill, rules and a concurrent index is applied and recorded as by prisma migrate deploy', async () => {
  const database = await openFilled(300)
  await upgrade(database, SILENT, NEXT_RELEASE)
  expect(await rulesOf(database)).toEqual(UPGRADED)
  expect(
    await oneRow(database, 'SELECT changed::int, completed_at IS NOT NULL AS done FROM backfills ORDER BY name DESC'),
  ).toEqual({
    changed: 600,
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
  await runScript(database, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'comments_language'::regclass`)
  await runScript(database, `DELETE FROM _prisma_migrations WHERE migration_name = '${index?.name}'`)
  await upgrade(database, SILENT, NEXT_RELEASE)
  expect(await rulesOf(database)).toEqual(UPGRADED)
})

describe('a backfill', () => {
  const expand = NEXT_RELEASE.findLast(({ backfill }) => backfill !== null)

  test('is run by any number of workers, each row once, and again for rows of the previous release', async () => {
    const database = await openFilled(600)
    const migrations = NEXT_RELEASE.slice(0, NEXT_RELEASE.indexOf(expand!) + 1)
    await upgrade(database, SILENT, migrations)
    const isOpen = async () => (await openBackfills(database.db.query)).some(({ name }) => name === expand?.name)
    const work = async (): Promise<void> => {
      while (await isOpen()) await continueBackfills(database.db, migrations)
    }
    await continueBackfills(database.db, migrations)
    await Promise.all([work(), work()])
    const changed = `SELECT changed::int FROM backfills WHERE name = '${expand?.name}'`
    expect(await oneRow(database, changed)).toEqual({ changed: 1200 })
    await runScript(database, 'UPDATE comments SET language = NULL')
    expect(await continueBackfills(database.db, migrations)).toBe(false)
    await completeBackfill(database.db, expand!)
    expect(await rulesOf(database)).toMatchObject({ unfilled: 0 })
  })
})

describe.skipIf(!onServer)(`on a server${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  test('a migration that waits for a table lets writers go first, and is retried', async () => {
    const { database, other } = await openFilledTwice(1)
    const letGo = await holdComments(other)
    const script = 'ALTER TABLE comments ADD COLUMN note text;'
    let isDone = false
    const upgraded = upgrade(database, SILENT, [
      ...readMigrations(),
      parseMigration('29990101000000_note', script),
    ]).then(() => (isDone = true))
    const waiting = `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
      WHERE datname = current_database() AND NOT granted AND relation = 'comments'::regclass`
    await vi.waitFor(async () => expect(await oneRow(other, waiting)).toBeDefined(), { interval: 5 })
    // It comes behind the migration, and ends while the lock that the migration waits for is still
    // held.
    const write = `INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
      SELECT tenant_id, new_id(), discussion_id, body, body_html, status FROM comments LIMIT 1`
    await other.db.transaction((sql) => sql(unnamed(write)), 60_000)
    expect(isDone).toBe(false)
    await letGo()
    await upgraded
  })

  test.each([
    ['_search_of_comments', 'an edit', "body = 'plain'", "UPDATE comment_search SET terms = ''", ['plain']],
    [
      '_comment_search',
      'a removal',
      "body = NULL, status = 'deleted', deleted_at = now()",
      'DELETE FROM comment_search',
      [],
    ],
  ])('the backfill %s waits for %s that is not committed yet', async (name, _what, change, unfilled, words) => {
    const { database, other } = await openFilledTwice(1)
    await runScript(database, `UPDATE comments SET body = 'ältere Wörter'; ${unfilled}`)
    const letGo = await holdComments(other, 'true', change)
    let isDone = false
    const backfill = readMigrations().find((migration) => migration.name.endsWith(name))!
    const filled = completeBackfill(database.db, backfill).then(() => (isDone = true))
    const waiting = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%comment_terms%'`
    const isReached = async (): Promise<boolean> => isDone || (await oneRow(other, waiting)) !== undefined
    await vi.waitFor(async () => expect(await isReached()).toBe(true), { interval: 5 })
    await letGo()
    await filled
    const terms = `SELECT DISTINCT split_part(term, '.', 2) AS word
      FROM comment_search, unnest(tsvector_to_array(terms)) term WHERE term LIKE '%.%'`
    const found = await other.db.query<{ word: string }>(unnamed(terms))
    expect(found.map(({ word }) => word)).toEqual(words)
  })

  test('processes that start at the same time build an index concurrently, one after the other', async () => {
    const { database, other } = await openFilledTwice(10)
    await Promise.all([upgrade(database, SILENT, NEXT_RELEASE), upgrade(other, SILENT, NEXT_RELEASE)])
    expect(await rulesOf(database)).toEqual(UPGRADED)
  })
})
