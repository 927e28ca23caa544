import { PrismaPGlite } from 'pglite-prisma-adapter'
import { describe, expect, test } from 'vitest'

import { pendingChanges } from '../../src/data/migrations/migrate.ts'
import { parseMigration, readMigrations } from '../../src/data/migrations/files.ts'
import { lendPGlite } from '../harness/database.ts'
import { refusals } from '../harness/migration-rules.ts'
import { NEXT_RELEASE, RENDERER } from '../harness/releases.ts'

// By PGlite's own adapter: the comparison reads a column type that Prisma's adapter for pg does not
// know.
test('the migrations result in schema.prisma: no change is missing', async () => {
  const { pglite, giveBack } = await lendPGlite()
  try {
    expect(await pendingChanges(new PrismaPGlite(pglite))).toBe('')
  } finally {
    await giveBack()
  }
})

describe('a migration that keeps writers waiting, or breaks the previous release, is refused:', () => {
  test('none of the real migrations is', async () => {
    expect(await refusals(readMigrations())).toEqual([])
    expect(await refusals([...NEXT_RELEASE, RENDERER])).toEqual([])
  })

  const check = `ALTER TABLE comments ADD CONSTRAINT said CHECK (body IS NOT NULL) NOT VALID;`
  const validate = 'ALTER TABLE comments VALIDATE CONSTRAINT said;'

  test.each([
    ['CREATE INDEX i ON comments (id);', /without CONCURRENTLY/],
    ['CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON comments (id);', /first line/],
    ['-- concurrently\nCREATE INDEX CONCURRENTLY i ON comments (id);', /IF NOT EXISTS/],
    [
      '-- concurrently\nCREATE INDEX CONCURRENTLY IF NOT EXISTS i ON comments (id); CREATE TABLE t (id int);',
      /stands alone/,
    ],
    ['-- concurrently\nCREATE TABLE t (id int);', /first line/],
    ['ALTER TABLE comments ADD COLUMN n text NOT NULL;', /needs a DEFAULT/],
    ['ALTER TABLE comments ADD COLUMN n bigserial;', /serial/],
    ['ALTER TABLE comments ADD COLUMN n uuid DEFAULT gen_random_uuid();', /computed DEFAULT/],
    ['ALTER TABLE comments ADD COLUMN n int GENERATED ALWAYS AS (depth + 1) STORED;', /generated column/],
    ['ALTER TABLE comments ADD COLUMN n int CHECK (n > 0);', /by itself/],
    ['ALTER TABLE comments ADD COLUMN n uuid REFERENCES tenants (id);', /by itself/],
    ['ALTER TABLE comments ALTER COLUMN depth TYPE bigint;', /AT_AlterColumnType is not known/],
    ['ALTER TABLE comments ALTER COLUMN body SET NOT NULL;', /needs an earlier, validated CHECK/],
    ['ALTER TABLE comments ADD CONSTRAINT c CHECK (depth > 0);', /needs NOT VALID/],
    ['ALTER TABLE comments ADD CONSTRAINT c FOREIGN KEY (id) REFERENCES tenants (id);', /needs NOT VALID/],
    ['ALTER TABLE comments ADD CONSTRAINT c UNIQUE (id);', /USING INDEX/],
    [`${check}\n${validate}`, /VALIDATE CONSTRAINT stands alone/],
    ['ALTER TABLE comments SET LOGGED;', /AT_SetLogged is not known/],
    ['ALTER TABLE comments RENAME COLUMN body TO text;', /RenameStmt is not known/],
    ['ALTER TABLE comments DROP COLUMN body;', /needs a folder <time>_contract/],
    ['DROP TABLE comments;', /needs a folder <time>_contract/],
    ['ALTER TABLE comments ALTER COLUMN depth DROP DEFAULT;', /DROP DEFAULT needs a folder/],
    ['ALTER TABLE comments DROP CONSTRAINT comments_pkey;', /DROP CONSTRAINT needs a folder/],
    ["ALTER TYPE comment_status RENAME VALUE 'pending' TO 'waiting';", /RENAME VALUE needs a folder/],
    [
      '-- concurrently\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON comments (id);',
      /a new UNIQUE INDEX needs a folder/,
    ],
    [
      'CREATE OR REPLACE FUNCTION new_id() RETURNS uuid LANGUAGE sql AS $$ SELECT gen_random_uuid() $$;',
      /OR REPLACE needs a folder/,
    ],
    ['UPDATE comments SET body = NULL;', /backfill\.sql/],
    ['DELETE FROM comments;', /backfill\.sql/],
    ['WITH gone AS (SELECT 1) DELETE FROM comments;', /backfill\.sql/],
    ['CREATE TABLE t (id uuid); INSERT INTO t SELECT id FROM comments;', /backfill\.sql/],
    ['LOCK TABLE comments;', /LockStmt is not known/],
    ['TRUNCATE comments;', /TruncateStmt is not known/],
    ['DO $$ BEGIN DELETE FROM comments; END $$;', /DoStmt is not known/],
    [
      'ALTER TABLE comments ADD COLUMN n int; ALTER TABLE readers ADD COLUMN n int; ALTER TABLE events ADD COLUMN n int;',
      /2 tables at most/,
    ],
    ['-- after backfill 29990101000000_nothing\nCREATE TABLE t (id int);', /no earlier migration/],
  ])('%s', async (script, reason) => {
    const found = await refusals([...readMigrations().slice(0, 1), parseMigration('29990101000000_bad', script)])
    expect(found).toEqual([expect.stringMatching(reason)])
  })

  test.each([
    ['CREATE TABLE t (id uuid PRIMARY KEY, tenant_id uuid REFERENCES tenants (id)); CREATE INDEX i ON t (tenant_id);'],
    ['ALTER TABLE comments ADD COLUMN n int NOT NULL DEFAULT 0, ADD COLUMN at timestamptz DEFAULT CURRENT_TIMESTAMP;'],
    ["ALTER TYPE comment_status ADD VALUE 'hidden';"],
    ['-- concurrently\nDROP INDEX CONCURRENTLY IF EXISTS comments_author_id_idx;'],
  ])('but not %s', async (script) => {
    expect(await refusals([...readMigrations().slice(0, 1), parseMigration('29990101000000_good', script)])).toEqual([])
  })

  test.each([
    ['ALTER TABLE comments DROP COLUMN body;'],
    ['-- concurrently\nDROP INDEX CONCURRENTLY IF EXISTS comments_top;'],
  ])('%s requires a folder that names the migration a release must have', async (script) => {
    const [init] = readMigrations()
    const [time] = init?.name.split('_') ?? []
    const refusalsOf = (name: string) => refusals([...readMigrations().slice(0, 1), parseMigration(name, script)])
    expect(await refusalsOf(`29990101000000_contract_${time}`)).toEqual([])
    expect(await refusalsOf('29990101000000_contract_29980101000000')).toEqual([
      expect.stringMatching(/no earlier migration begins with 29980101000000/),
    ])
  })

  test('but not SET NOT NULL after a validated check', async () => {
    const scripts = [check, validate, 'ALTER TABLE comments ALTER COLUMN body SET NOT NULL;']
    const migrations = scripts.map((script, n) => parseMigration(`2999010100000${n}_step`, script))
    expect(await refusals([...readMigrations().slice(0, 1), ...migrations])).toEqual([])
    const unvalidated = migrations.filter((_, n) => n !== 1)
    expect(await refusals([...readMigrations().slice(0, 1), ...unvalidated])).toHaveLength(1)
  })
})
