import { cpSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as absolute } from 'node:path'

import type { PGlite } from '@electric-sql/pglite'

import '../../core/process/v8-flags.ts'
import { SettingsError } from '../../core/settings/settings.ts'
import type { Database } from '../database.ts'
import { lockFiles } from './files.ts'
import { poolOn } from './session.ts'
import { migrationAdapter, overPool, sqlOn } from '../pool.ts'

/**
 * A PostgreSQL in this process (PGlite), with its files below `dataDir`. Throws a SettingsError if
 * another process has the folder.
 */
export async function openEmbedded(dataDir: string): Promise<Database> {
  // PGlite is loaded while the files are written.
  const [{ files, unlock }] = await Promise.all([lockFiles(dataDir), loadPGlite()])
  try {
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
 * Throws a SettingsError if `dataDir` has no database, unless it `mayBeNew`, or if it belongs to
 * another user, who could not open the files that this process writes.
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

/**
 * Opens `files`, or a copy of them. For damaged files PGlite reports little but that it was
 * aborted.
 */
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
 * PostgreSQL's default of 128 MB of buffers would be allocated at the start. The system's cache
 * does the rest.
 */
export const startParams = ({ defaultStartParams }: Pick<typeof PGlite, 'defaultStartParams'>): string[] => [
  ...defaultStartParams,
  '-c',
  'shared_buffers=32MB',
]

/** Loaded on demand: a process on a server never needs it. */
const loadPGlite = () => import('@electric-sql/pglite')

export async function newPGlite(folder: string): Promise<PGlite> {
  const { PGlite } = await loadPGlite()
  return new PGlite(folder, { startParams: startParams(PGlite) })
}

/** A PGlite as the service's database. `close` is how it is ended. */
export async function overPGlite(pglite: PGlite, close = (): Promise<void> => pglite.close()): Promise<Database> {
  await pglite.waitReady
  const pool = poolOn(pglite)
  // The next caller gets the error.
  pool.on('error', () => undefined)
  return overPool(pool, {
    isPreparing: true,
    // One process holds the files, so no other can run it.
    exclusively: (work) => work(migrationAdapter(pool)),
    // It has one session, so health checks wait like other statements.
    probe: { sql: sqlOn(pool, true), patienceMs: 10_000 },
    findHost: () => Promise.resolve(),
    renew: () => undefined,
    abandon: () => undefined,
    close,
  })
}

/**
 * Opens a copy of the files below `dataDir`, so that inspection changes nothing. Null if there are
 * none.
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
