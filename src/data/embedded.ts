import { fork } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve as absolute } from 'node:path'

import type { PGlite } from '@electric-sql/pglite'

import '../core/v8-flags.ts'
import { ROOT } from '../core/root.ts'
import { SettingsError } from '../core/settings.ts'
import type { Database } from './database.ts'
import { poolOn } from './embedded-session.ts'
import { removeOldDrafts } from './embedded-secrets.ts'
import { lockFolder } from './folder-lock.ts'
import { migrationAdapter, overPool, sqlOn } from './pool.ts'
import { unpackTemplate } from './template.ts'

/**
 * A PostgreSQL in this process (PGlite), its files below `dataDir`. PGlite has no lock of its own,
 * and two processes on the same files would ruin them: throws a SettingsError where another process
 * has the folder.
 */
export async function openEmbedded(dataDir: string): Promise<Database> {
  const unlock = await lockFolder(dataDir)
  try {
    removeOldDrafts(dataDir)
    const files = join(dataDir, 'postgres')
    if (!existsSync(join(files, 'PG_VERSION'))) await makeFiles(files)
    const database = await openFiles(files, files)
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

/**
 * Throws a SettingsError where `dataDir` holds no database, unless it `mayBeNew`, and where it is
 * another user's: that user could not open files that this one writes into it.
 */
export function expectOwnDatabase(dataDir: string, mayBeNew: boolean): void {
  const folder = absolute(dataDir)
  let owner: number
  try {
    owner = statSync(join(dataDir, 'postgres', 'PG_VERSION')).uid
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      throw new SettingsError(`DATA_DIR: ${folder} cannot be read (${code}): run this as the user of the service`)
    }
    if (mayBeNew) return
    throw new SettingsError(
      `DATA_DIR: there is no database in ${folder}: give the command the DATA_DIR or DATABASE_URL of the service, or make a new database there with the command \`migrate\``,
    )
  }
  const user = process.getuid?.() ?? owner
  if (owner !== user) {
    throw new SettingsError(
      `DATA_DIR: ${folder} belongs to user ${owner}, and this is user ${user}: run this as that user`,
    )
  }
}

/** `files`, or a copy of them. PGlite says of damaged files little but that it was aborted. */
async function openFiles(folder: string, files: string): Promise<Database> {
  const pglite = await newPGlite(folder)
  await pglite.waitReady.catch((cause: unknown) => {
    const { message, name, errno } = Object(cause) as { message?: string; name?: string; errno?: number }
    const [reason] = (message ?? `${name} ${errno}`).split('\n')
    throw new SettingsError(
      `DATA_DIR: the files of the database in ${absolute(files)} are damaged, or cannot be read and written (${reason}): restore DATA_DIR from a backup, or move it away to begin with a new database`,
      { cause },
    )
  })
  return overPGlite(pglite)
}

/**
 * PostgreSQL's own 128 MB of buffers would be in memory from the start on. What it has no place for
 * is in the system's cache.
 */
export const startParams = ({ defaultStartParams }: Pick<typeof PGlite, 'defaultStartParams'>): string[] => [
  ...defaultStartParams,
  '-c',
  'shared_buffers=32MB',
]

/** Loaded by those that use it alone: a process on a server does not. */
export async function newPGlite(folder: string): Promise<PGlite> {
  const { PGlite } = await import('@electric-sql/pglite')
  return new PGlite(folder, { startParams: startParams(PGlite) })
}

/** A PGlite as the service's database. `close` ends it, unless it is told what else to do. */
export async function overPGlite(pglite: PGlite, close = (): Promise<void> => pglite.close()): Promise<Database> {
  await pglite.waitReady
  const pool = poolOn(pglite)
  // Whoever asks next is told.
  pool.on('error', () => undefined)
  return overPool(pool, {
    isPreparing: true,
    // One process holds the files: there is nobody to lock out.
    exclusively: (work) => work(migrationAdapter(pool)),
    // It has one session: its own questions wait like those of others.
    probe: { sql: sqlOn(pool, true), patienceMs: 10_000 },
    findHost: () => Promise.resolve(),
    renew: () => undefined,
    abandon: () => undefined,
    close,
  })
}

/**
 * Makes a migrated database, from the template of this release where the build has made one. The
 * folder gets its name when it is whole, so that a kill at any instant leaves one or none.
 */
async function makeFiles(files: string): Promise<void> {
  const folder = dirname(files)
  const drafts = readdirSync(folder).filter((name) => name.startsWith(DRAFT))
  for (const name of drafts) removeDraft(join(folder, name))
  // The child of a killed process may run on for a moment, without the lock: it knows its own draft
  // only, and never gives it the name under which databases are opened.
  const draft = mkdtempSync(join(folder, DRAFT))
  try {
    if (!unpackTemplate(draft)) await migrateInChild(draft)
  } catch (error) {
    removeDraft(draft)
    throw error
  }
  renameSync(draft, files)
}

/** To migrate takes some 0.8 GB for good in the process that does it: a child does, and goes. */
async function migrateInChild(folder: string): Promise<void> {
  const code = await new Promise<number | null>((resolve, reject) => {
    const program = join(ROOT, 'dist/data/embedded-child.js')
    const child = fork(program, [folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child.on('error', reject)
    child.on('exit', resolve)
  })
  if (code !== 0) throw new Error(`the embedded database could not be created (exit code ${code})`)
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
    const database = await openFiles(copy, files)
    return { ...database, close: () => database.close().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}
