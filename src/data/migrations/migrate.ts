import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import type { Logger } from 'pino'

import { SettingsError } from '../../core/settings/settings.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { completeBackfill } from './backfills.ts'
import type { Database } from '../database.ts'
import { contracted, type Migration, PRISMA, readMigrations } from './files.ts'
import { explainFailure, UNDEFINED_TABLE, watchScripts } from './failures.ts'
import { forgetUnfinished } from './scripts.ts'

// Node has it, but its types come only with those of the browser.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: Record<string, object>) => { exports: Record<string, unknown> }
}

const FILTERS = { externalTables: [], externalEnums: [] }

/** How often a warning says that an upgrade is still running. */
const WARN_EVERY_MS = 10_000

/**
 * Brings the schema up to date, if needed, while no other process of the service does. Throws a
 * SettingsError for a database that this release cannot use.
 */
export async function upgrade(
  database: Database,
  log: Logger,
  migrations: readonly Migration[] = readMigrations(),
): Promise<void> {
  const { missing, newer } = await compare(database, migrations)
  if (newer.length > 0) {
    log.warn({ migrations: newer }, 'a newer release has upgraded the database; this one works beside it for the time')
  }
  if (missing.length === 0) return
  if (missing.length === migrations.length) await refuseElsewhere(database)
  const warnings = setInterval(
    () => log.warn('the upgrade waits for long transactions, for workers to fill in old rows, or for another process'),
    WARN_EVERY_MS,
  ).unref()
  try {
    await applyMissing(database, log, migrations)
  } finally {
    clearInterval(warnings)
  }
}

const ELSEWHERE = statement(
  'service_in_other_schema',
  `SELECT n.nspname::text AS name FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relname IN ('_prisma_migrations', 'discussions', 'webhook_endpoints') AND c.relkind = 'r'
     AND n.nspname <> 'public'
   GROUP BY 1 HAVING count(*) = 3 ORDER BY 1 LIMIT 1`,
)

/**
 * Throws a SettingsError where an earlier release has made its tables in another schema, to which
 * the `search_path` of its role led: the service would begin without them.
 */
async function refuseElsewhere({ db }: Database): Promise<void> {
  const [other] = await db.query<{ name: string }>(ELSEWHERE, [])
  if (other === undefined) return
  throw new SettingsError(
    `DATABASE_URL: the service uses the schema public, and its tables are in ${other.name}: stop all processes, then run ` +
      `ALTER SCHEMA public RENAME TO former_public; ALTER SCHEMA "${other.name}" RENAME TO public`,
  )
}

async function compare({ db }: Database, migrations: readonly Migration[]): Promise<Comparison> {
  const comparison = await compareMigrations(db.query, migrations)
  if (comparison.foreign.length > 0) throw new SettingsError(explainForeign(comparison.foreign, migrations))
  return comparison
}

const findMissing = async (database: Database, migrations: readonly Migration[]): Promise<string[]> =>
  (await compare(database, migrations)).missing

async function applyMissing(database: Database, log: Logger, migrations: readonly Migration[]): Promise<void> {
  const { db, exclusively } = database
  await exclusively(async (adapter) => {
    const missing = await findMissing(database, migrations)
    // Another process has just applied them.
    if (missing.length === 0) return
    const isEmpty = missing.length === migrations.length
    log.info({ migrations: missing }, isEmpty ? 'the tables are made' : 'the database is upgraded')
    for (const [index, { name, after }] of migrations.entries()) {
      if (after === null || !missing.includes(name)) continue
      await migrate(adapter, migrations.slice(0, index))
      await completeBackfill(db, find(migrations, after))
    }
    await migrate(adapter, migrations)
    if ((await findMissing(database, migrations)).length === 0) return
    throw new SettingsError('DATABASE_DIRECT_URL: it leads to another database than DATABASE_URL')
  })
}

/**
 * Applies missing migrations with Prisma's own engine as WebAssembly: no download, the same on
 * PGlite and PostgreSQL, and `_prisma_migrations` is what `prisma migrate deploy` would write. The
 * caller keeps other processes out. Returns the names of the applied migrations. Throws a
 * SettingsError if one fails.
 */
export async function migrate(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  migrations: readonly Migration[] = readMigrations(),
): Promise<string[]> {
  await forgetUnfinished(adapter)
  let failure: unknown
  const watched = watchScripts(adapter, (error) => (failure = error))
  return withEngine(watched, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: migrationsList(migrations),
      filters: FILTERS,
    })
    return appliedMigrationNames
  }).catch((error: unknown) => {
    throw explainFailure(error, failure)
  })
}

/**
 * The SQL from the database, as the migrations have made it, to `schema.prisma`; empty if they
 * agree.
 */
export async function pendingChanges(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<string> {
  return withEngine(adapter, async (engine) => {
    const { stdout } = await engine.diff({
      from: { tag: 'schemaDatasource', files: [{ path: 'schema.prisma', content: schema() }], configDir: PRISMA },
      to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: schema() }] },
      script: true,
      exitCode: null,
      filters: FILTERS,
    })
    const text = stdout ?? ''
    return text.includes('This is an empty migration') ? '' : text
  })
}

const APPLIED = statement(
  'applied_migrations',
  `SELECT migration_name AS name, finished_at IS NOT NULL AS finished FROM _prisma_migrations
   WHERE rolled_back_at IS NULL ORDER BY 1`,
)

export interface Comparison {
  /** Migrations that the database lacks. */
  missing: string[]
  /** Migrations of newer releases that this release can run beside. */
  newer: string[]
  /** Migrations of other releases that this release cannot run beside. */
  foreign: string[]
}

/** Compares the database with this release. Changes nothing. */
export async function compareMigrations(
  sql: Sql,
  migrations: readonly Migration[] = readMigrations(),
): Promise<Comparison> {
  const rows = await sql<{ name: string; finished: boolean }>(APPLIED).catch((error: unknown) => {
    // The service has never been started on it.
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return []
    throw error
  })
  const known = migrations.map(({ name }) => name)
  const applied = new Set(rows.filter(({ finished }) => finished).map(({ name }) => name))
  // Includes those that their release has not finished.
  const unknown = rows.map(({ name }) => name).filter((name) => !known.includes(name))
  const missing = known.filter((name) => !applied.has(name))
  // A newer release has every migration that this one has. A database that lacks some belongs to
  // another product or branch.
  const isBeside = (name: string): boolean => {
    const needed = contracted(name)
    return (
      missing.length === 0 &&
      !isOlder(name, migrations) &&
      (needed === null || known.some((one) => one.startsWith(`${needed}_`)))
    )
  }
  return { missing, newer: unknown.filter(isBeside), foreign: unknown.filter((name) => !isBeside(name)) }
}

const isOlder = (name: string, [first]: readonly Migration[]): boolean => name < (first?.name ?? '')

/** What to do about a database with migrations that this release cannot run beside. One line. */
export function explainForeign(
  foreign: readonly string[],
  migrations: readonly Migration[] = readMigrations(),
): string {
  const [first = ''] = foreign
  const names = foreign.length > 1 ? `${first} and ${foreign.length - 1} more` : first
  return contracted(first) === null || isOlder(first, migrations)
    ? `another release or product made this database (migration ${names}), and there is no upgrade from it: use an empty database`
    : `a newer release has taken away what this one needs (migration ${names}): start that release, or restore a backup from before it`
}

const schema = (): string => readFileSync(join(PRISMA, 'schema.prisma'), 'utf8')

async function withEngine<T>(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  const bg = await (loaded ??= loadWasm())
  // The engine does not dispose of them, and each keeps a listener on the pool.
  const connections: SqlDriverAdapter[] = []
  const connect = async (): Promise<SqlDriverAdapter> => {
    const connection = await adapter.connect()
    connections.push(connection)
    return connection
  }
  const engine = await bg.SchemaEngine.new(
    { datamodels: [['schema.prisma', schema()]] },
    () => undefined,
    bindMigrationAwareSqlAdapterFactory({
      provider: adapter.provider,
      adapterName: adapter.adapterName,
      connect,
      connectToShadowDb: () => adapter.connectToShadowDb(),
    }),
  )
  try {
    return await work(engine)
  } finally {
    engine.free()
    for (const connection of connections) await connection.dispose()
  }
}

// Once per process, because the glue code supports only one instance.
let loaded: ReturnType<typeof loadWasm> | undefined

// The package's own entry imports the .wasm as a module, which Node 20 cannot do.
async function loadWasm() {
  const bg = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const file = join(
    dirname(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm')),
    'schema_engine_bg.wasm',
  )
  const glue = bg as unknown as { __wbg_set_wasm(exports: object): void }
  const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), {
    './schema_engine_bg.js': glue,
  })
  glue.__wbg_set_wasm(instance.exports)
  const start = instance.exports.__wbindgen_start
  if (typeof start === 'function') (start as () => void)()
  return bg
}

function migrationsList(migrations: readonly Migration[]) {
  const baseDir = join(PRISMA, 'migrations')
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: readFileSync(join(baseDir, 'migration_lock.toml'), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, script }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: script } },
    })),
  }
}

function find(migrations: readonly Migration[], name: string): Migration {
  const found = migrations.find((migration) => migration.name === name)
  if (found === undefined) throw new Error(`there is no migration ${name}`)
  return found
}
