import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'

import { type Sql, statement } from '../core/sql.ts'
import { forgetUnfinished } from './scripts.ts'

// Node has it; its types come with the browser's only.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: Record<string, object>) => { exports: Record<string, unknown> }
}

const PRISMA = join(dirname(fileURLToPath(import.meta.url)), '../../prisma')
const FILTERS = { externalTables: [], externalEnums: [] }

/**
 * Applies the migrations that the database lacks, with Prisma's own engine as WebAssembly: no download, on PGlite and
 * PostgreSQL alike, and `_prisma_migrations` is what `prisma migrate deploy` would have written.
 * The caller keeps other processes out. Returns the names of what was applied.
 */
export async function migrate(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<string[]> {
  await forgetUnfinished(adapter)
  return withEngine(adapter, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: migrationsList(),
      filters: FILTERS,
    })
    return appliedMigrationNames
  })
}

/** The SQL that leads from the database, as the migrations have made it, to `schema.prisma`; empty where they agree. */
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
  'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
)

/** How the database stands to this release: migrations that it lacks, and those of another release. Changes nothing. */
export async function compareMigrations(sql: Sql): Promise<{ missing: string[]; unknown: string[] }> {
  const rows = await sql<{ name: string }>(APPLIED).catch((error: unknown) => {
    // Nobody has started the service on it yet.
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return []
    throw error
  })
  const applied = new Set(rows.map(({ name }) => name))
  const known = migrationNames()
  return {
    missing: known.filter((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !known.includes(name)),
  }
}

const UNDEFINED_TABLE = '42P01'

const schema = (): string => readFileSync(join(PRISMA, 'schema.prisma'), 'utf8')

async function withEngine<T>(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  const bg = await (loaded ??= loadWasm())
  const engine = await bg.SchemaEngine.new(
    { datamodels: [['schema.prisma', schema()]] },
    () => undefined,
    bindMigrationAwareSqlAdapterFactory(adapter),
  )
  try {
    return await work(engine)
  } finally {
    engine.free()
  }
}

// Once per process: the glue code knows one instance only.
let loaded: ReturnType<typeof loadWasm> | undefined

// The package's own entry imports the .wasm as a module, which Node 20 does not do.
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

function migrationsList() {
  const baseDir = join(PRISMA, 'migrations')
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: readFileSync(join(baseDir, 'migration_lock.toml'), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: migrationNames().map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok' as const, value: readFileSync(join(baseDir, name, 'migration.sql'), 'utf8') },
      },
    })),
  }
}

/** The migrations of this release, oldest first. */
const migrationNames = (): string[] =>
  readdirSync(join(PRISMA, 'migrations'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort((a, b) => a.localeCompare(b))
