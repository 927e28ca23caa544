import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import type { TestProject } from 'vitest/node'

import { ROOT } from '../../src/core/process/root.ts'
import { poolOn } from '../../src/data/embedded/session.ts'
import { migrate } from '../../src/data/migrations/migrate.ts'
import { migrationAdapter } from '../../src/data/pool.ts'
import { openServer } from '../../src/data/server/server.ts'
import { unpackTemplate } from '../../src/data/embedded/template.ts'

/** Migrates once for the whole run: each test file gets a database of its own from it. */
export async function makeDatabases(project: TestProject): Promise<() => Promise<void>> {
  await describeIfDue()
  const folder = mkdtempSync(join(tmpdir(), 'engagement-test-'))
  const dump = join(folder, 'dump.tar')
  const dataDir = join(folder, 'data')
  const files = join(dataDir, 'postgres')
  mkdirSync(files, { recursive: true })
  const isMigrated = unpackTemplate(files)
  const pglite = await PGlite.create(files)
  if (!isMigrated) {
    const pool = poolOn(pglite)
    await migrate(migrationAdapter(pool))
    await pool.end()
  }
  writeFileSync(dump, Buffer.from(await (await pglite.dumpDataDir('none')).arrayBuffer()))
  await pglite.close()
  project.provide('dump', dump)
  project.provide('dataDir', dataDir)
  const url = process.env.DATABASE_URL
  const template = url ? await createTemplate(url) : undefined
  project.provide('template', template)
  return async () => {
    rmSync(folder, { recursive: true, force: true })
    if (url && template !== undefined) await dropAll(url, template)
  }
}

/**
 * `npm run generate` makes this file, the build does not: a fresh clone has none, and after a pull
 * or an edit it may be older than the statements.
 */
async function describeIfDue(): Promise<void> {
  const file = join(ROOT, 'src/generated/statements.ts')
  if (existsSync(file) && madeAt(file) > Math.max(...statementFiles().map(madeAt))) return
  const { describeStatements } = await import('../../src/build/statements.ts')
  writeFileSync(file, await describeStatements())
}

const madeAt = (file: string): number => statSync(file).mtimeMs

/** What decides which statements there are, and what they return; not the console, for instance. */
const statementFiles = (): string[] =>
  ['src/cli', 'src/core', 'src/data', 'src/domains', 'src/live', 'src/worker', 'prisma/migrations'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|sql)$/.test(name))
      .map((name) => join(ROOT, folder, name)),
  )

async function createTemplate(url: string): Promise<string> {
  const name = `engagement_test_${randomBytes(4).toString('hex')}`
  await asAdmin(url, (client) => client.query(`CREATE DATABASE ${name}`))
  const target = new URL(url)
  target.pathname = `/${name}`
  const database = await openServer({ url: target.href, size: 2, onError: () => undefined })
  await database.exclusively(migrate)
  await database.close()
  return name
}

/** Also what a test that was killed has left behind. */
async function dropAll(url: string, template: string): Promise<void> {
  await asAdmin(url, async (client) => {
    const { rows } = await client.query<{ datname: string }>('SELECT datname FROM pg_database WHERE datname LIKE $1', [
      `${template}%`,
    ])
    for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`)
  })
}

async function asAdmin(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
