import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { PGlite } from '@electric-sql/pglite'
import { expect, test } from 'vitest'

import { templateFile, unpackTemplate } from '../../src/data/embedded/template.ts'
import { useFolder } from '../harness/folders.ts'
import { freePort } from '../harness/ports.ts'

const ROOT = join(import.meta.dirname, '../..')

const folder = useFolder()

/** All that migrations make, but for the instants and the ids of their own table's rows. */
const CONTENTS = `SELECT
  (SELECT jsonb_agg(jsonb_build_array(table_name, column_name, ordinal_position, data_type, is_nullable, column_default,
     generation_expression) ORDER BY table_schema, table_name, ordinal_position) FROM information_schema.columns) AS columns,
  (SELECT jsonb_agg(pg_get_constraintdef(oid) ORDER BY conrelid::regclass::text, conname) FROM pg_constraint) AS constraints,
  (SELECT jsonb_agg(indexdef ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public') AS indexes,
  (SELECT jsonb_agg(md5(prosrc) ORDER BY oid::regprocedure::text) FROM pg_proc) AS functions,
  (SELECT jsonb_agg(pg_get_triggerdef(oid) ORDER BY tgname, tgrelid) FROM pg_trigger) AS triggers,
  (SELECT jsonb_agg(jsonb_build_array(name, setting) ORDER BY name) FROM pg_settings
   WHERE name NOT IN ('data_directory', 'config_file', 'hba_file', 'ident_file')) AS settings,
  (SELECT jsonb_agg(jsonb_build_array(migration_name, checksum, logs, rolled_back_at, applied_steps_count)
     ORDER BY migration_name) FROM _prisma_migrations) AS migrations,
  (SELECT jsonb_object_agg(relname, n) FROM (SELECT relname, (xpath('/row/n/text()', query_to_xml(
     format('SELECT count(*) AS n FROM %s', oid::regclass), false, true, '')))[1]::text AS n
     FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace) counted) AS rows`

async function contentsOf(files: string): Promise<object> {
  const names = readdirSync(files).filter((name) => name !== 'postmaster.pid')
  const config = readFileSync(join(files, 'postgresql.conf'), 'utf8')
  const pglite = await PGlite.create(files)
  try {
    const { rows } = await pglite.query<object>(CONTENTS)
    return { ...rows[0], names: names.sort(), config }
  } finally {
    await pglite.close()
  }
}

test('the template equals the migrated database', async () => {
  const [unpacked, migrated] = [join(folder, 'unpacked'), join(folder, 'migrated')]
  mkdirSync(unpacked)
  expect(unpackTemplate(unpacked)).toBe(true)
  const child = fork(join(ROOT, 'dist/data/embedded-child.js'), [migrated], {
    env: { TZ: 'Asia/Tokyo', LANG: 'de_DE' },
  })
  expect(await once(child, 'exit')).toEqual([0, null])
  const contents = await contentsOf(unpacked)
  expect(contents).toEqual(await contentsOf(migrated))
  expect(contents).toMatchObject({ rows: { tenants: '0', _prisma_migrations: expect.any(String) as string } })
})

test.each([
  ['cut short', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ['changed', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 1])])],
  ['empty', () => Buffer.alloc(0)],
])('a template that is %s is not used', (name, damage) => {
  const [file, into] = [join(folder, `${name}.br`), join(folder, name)]
  writeFileSync(file, damage(readFileSync(templateFile())))
  mkdirSync(into)
  expect(unpackTemplate(into, file)).toBe(false)
  expect(readdirSync(into)).toEqual([])
})

test('without a template a first start migrates', async () => {
  const copy = join(folder, 'copy')
  mkdirSync(copy)
  for (const name of ['dist', 'prisma', 'package.json']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, filter: (path) => !path.includes('dist/database') })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  expect(unpackTemplate(folder, templateFile().replace(ROOT, copy))).toBe(false)
  const DATA_DIR = join(folder, 'data')
  const { PATH } = process.env
  const env = { PATH, PORT: String(await freePort()), DATA_DIR, LOG_LEVEL: 'warn', DRAIN_SECONDS: '0' }
  const child = fork(join(copy, 'dist/main.js'), [], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  try {
    expect((await Promise.race([once(child, 'message'), once(child, 'exit')]))[0]).toEqual({ ready: true })
    expect(readdirSync(DATA_DIR).sort()).toEqual(['lock', 'postgres', 'secrets.json'])
  } finally {
    child.kill('SIGKILL')
  }
})
