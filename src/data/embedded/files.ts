import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'

import { ROOT } from '../../core/process/root.ts'
import { removeOldDrafts } from './secrets.ts'
import { lockFolder } from './folder-lock.ts'
import { NO_TEMPLATE } from './template.ts'

/** The files of an embedded database, which no other process has. */
interface LockedFiles {
  files: string
  unlock: () => void
}

const begun = new Map<string, Promise<LockedFiles>>()

/**
 * Begins `lockFiles`, which a later call with the same folder then waits for: the files of a first
 * start are written while the program is loaded.
 */
export function beginFiles(dataDir: string): void {
  const locked = makeLocked(dataDir)
  locked.catch(() => 'lockFiles throws it')
  begun.set(dataDir, locked)
}

/**
 * Locks `dataDir` for this process, and makes the files of its database if there are none. PGlite
 * has no lock, and two processes on the same files would corrupt them: throws a SettingsError if
 * another process has the folder.
 */
export function lockFiles(dataDir: string): Promise<LockedFiles> {
  const locked = begun.get(dataDir) ?? makeLocked(dataDir)
  begun.delete(dataDir)
  return locked
}

async function makeLocked(dataDir: string): Promise<LockedFiles> {
  const unlock = await lockFolder(dataDir)
  try {
    removeOldDrafts(dataDir)
    const files = join(dataDir, 'postgres')
    if (!existsSync(join(files, 'PG_VERSION'))) await makeFiles(files)
    return { files, unlock }
  } catch (error) {
    unlock()
    throw error
  }
}

/**
 * Creates a migrated database, from the template of this release if the build has made one. The
 * folder gets its final name when it is complete, so that a kill at any instant leaves a whole
 * database or none.
 */
async function makeFiles(files: string): Promise<void> {
  const folder = dirname(files)
  const drafts = readdirSync(folder).filter((name) => name.startsWith(DRAFT))
  for (const name of drafts) removeDraft(join(folder, name))
  // The child of a killed process may run on for a moment, without the lock. It knows only its own
  // draft, and never gives it the name under which databases are opened.
  const draft = mkdtempSync(join(folder, DRAFT))
  try {
    if (!(await unpackInThread(draft))) await migrateInChild(draft)
  } catch (error) {
    removeDraft(draft)
    throw error
  }
  renameSync(draft, files)
}

/** False if there is no intact template. Files take long to create on some file systems. */
async function unpackInThread(folder: string): Promise<boolean> {
  const thread = new Worker(join(ROOT, 'dist/data/unpack.js'), { workerData: folder, execArgv: [] })
  // Throws the thread's error.
  const [code] = (await once(thread, 'exit')) as [number]
  if (code !== 0 && code !== NO_TEMPLATE) throw new Error(`the database could not be unpacked (exit code ${code})`)
  return code === 0
}

/** Migrating keeps some 0.8 GB in its process for good, so a short-lived child does it. */
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
 * Removes a draft, unless a child still writes into it: then the next start that creates a database
 * removes it.
 */
function removeDraft(draft: string): void {
  try {
    rmSync(draft, { recursive: true, force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
  }
}
