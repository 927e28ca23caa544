import { fork } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { PGlite, types } from '@electric-sql/pglite'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'

import type { Database } from './database.ts'
import type { Sql } from '../core/sql.ts'
import { lockFolder } from './lock.ts'
import { migrate } from './migrate.ts'
import { PrismaOver, txSql } from './prisma.ts'
import { wholeScripts } from './scripts.ts'

/**
 * A PostgreSQL in this process (PGlite), its files below `dataDir`. PGlite has no lock of its own,
 * and two processes on the same files would ruin them: throws a SettingsError where another process
 * has the folder.
 */
export async function openEmbedded(dataDir: string): Promise<Database> {
  const unlock = await lockFolder(dataDir)
  try {
    const files = join(dataDir, 'postgres')
    if (!existsSync(join(files, 'PG_VERSION'))) await createInChild(files)
    const database = await wrapPGlite(new PGlite(files, TYPES))
    return {
      ...database,
      close: async () => {
        await database.close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}

const TYPES = {
  parsers: { [types.INT8]: Number, [types.JSON]: (text: string) => JSON.parse(text) as unknown },
  serializers: { [types.TIMESTAMPTZ]: timestamp },
}

/** An instant as PostgreSQL reads it, as `pg` writes it for a server: the year 0 is 1 BC. */
function timestamp(value: unknown): string {
  if (!(value instanceof Date)) return String(value)
  const text = value.toISOString()
  const year = value.getUTCFullYear()
  return year > 0 ? text : `${String(1 - year).padStart(4, '0')}${text.slice(text.indexOf('-', 1))} BC`
}

/** A database of its own in memory, from a dump of a data folder. For tests. */
export const openDump = (dump: Blob): Promise<Database> => wrapPGlite(new PGlite({ loadDataDir: dump, ...TYPES }))

async function wrapPGlite(pglite: PGlite): Promise<Database> {
  await pglite.waitReady
  const sqlOn =
    (target: Pick<PGlite, 'query'>): Sql =>
    async <Row>(statement: { text: string }, params: readonly unknown[] = []) =>
      (await target.query<Row>(statement.text, [...params])).rows
  let hear: (error: unknown) => void = () => undefined
  const prisma = new PrismaOver(new PrismaPGlite(pglite), (error) => hear(error))
  return {
    db: {
      query: sqlOn(pglite),
      transaction: (work) =>
        pglite.transaction((tx) => {
          const session = prisma.on(tx)
          return work(txSql(sqlOn(tx), session)).finally(() => session.end())
        }),
      connections: 1,
    },
    prisma: prisma.client,
    observe: (listener) => void (hear = listener),
    // One process holds the files: there is nobody to lock out.
    exclusively: (work) => work(migrationAdapter(pglite)),
    renew: () => undefined,
    abandon: () => undefined,
    close: async () => {
      await prisma.close()
      await pglite.close()
    },
  }
}

/** What the migration engine talks to PGlite through. */
export const migrationAdapter = (pglite: PGlite): SqlMigrationAwareDriverAdapterFactory =>
  wholeScripts(new PrismaPGlite(pglite), (script) => pglite.exec(script))

/**
 * Makes a migrated database. It takes some 0.8 GB for good in the process that does it: a child
 * does, and goes. The folder gets its name when it is whole, so that a kill at any instant leaves
 * one or none.
 */
async function createInChild(files: string): Promise<void> {
  const folder = dirname(files)
  const drafts = readdirSync(folder).filter((name) => name.startsWith(DRAFT))
  for (const name of drafts) removeDraft(join(folder, name))
  // The child of a killed process may run on for a moment, without the lock: it knows its own draft
  // only, and never gives it the name under which databases are opened.
  const draft = mkdtempSync(join(folder, DRAFT))
  const code = await new Promise<number | null>((resolve, reject) => {
    const env = { ...process.env, EMBEDDED_CREATE: draft }
    const child = fork(fileURLToPath(import.meta.url), [], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child.on('error', reject)
    child.on('exit', resolve)
  })
  if (code !== 0) {
    removeDraft(draft)
    throw new Error(`the embedded database could not be created (exit code ${code})`)
  }
  renameSync(draft, files)
}

const DRAFT = 'postgres-draft-'

/**
 * Removes a draft, unless a child still writes into it: then the next start that makes a database
 * does.
 */
function removeDraft(draft: string): void {
  try {
    rmSync(draft, { recursive: true, force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
  }
}

if (process.env.EMBEDDED_CREATE !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit(1))
  const pglite = new PGlite(process.env.EMBEDDED_CREATE)
  await pglite.waitReady
  await migrate(migrationAdapter(pglite))
  await pglite.close()
  process.exit(0)
}

/**
 * What the files below `dataDir` hold, from a copy: to look at them must not change them. Null
 * where there are none.
 */
export async function openCopy(dataDir: string): Promise<Database | null> {
  const files = join(dataDir, 'postgres')
  if (!existsSync(join(files, 'PG_VERSION'))) return null
  const copy = mkdtempSync(join(tmpdir(), 'engagement-copy-'))
  const remove = (): void => rmSync(copy, { recursive: true, force: true })
  try {
    cpSync(files, copy, { recursive: true })
    const database = await wrapPGlite(new PGlite(copy, TYPES))
    return { ...database, close: () => database.close().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}
