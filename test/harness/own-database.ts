import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createServerDatabase, makeDataDir, onServer } from './database.ts'

/** Secrets of processes that share a database. */
export const newSecrets = () => ({
  ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
})

/** A new database, for programs that a test starts itself. */
export interface OwnDatabase {
  /** The settings that name it, with its secrets: in the embedded form DATA_DIR alone. */
  env: { DATABASE_URL?: string; DATA_DIR?: string }
  remove(): Promise<void>
}

export async function ownDatabase(): Promise<OwnDatabase> {
  if (onServer) {
    const { url, drop } = await createServerDatabase()
    return { env: { DATABASE_URL: url, ...newSecrets() }, remove: drop }
  }
  const folder = mkdtempSync(join(tmpdir(), 'engagement-data-'))
  makeDataDir(folder)
  const remove = () => Promise.resolve(rmSync(folder, { recursive: true, force: true }))
  return { env: { DATA_DIR: folder }, remove }
}
