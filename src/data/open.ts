import type { Logger } from 'pino'

import type { Settings } from '../core/settings.ts'
import type { Deadlines } from './connection.ts'
import type { Database } from './database.ts'
import { openEmbedded } from './embedded.ts'
import { upgrade } from './migrate.ts'
import { openServer } from './server.ts'

export const deadlinesOf = (settings: Settings): Deadlines => ({
  connectMs: settings.DATABASE_CONNECT_TIMEOUT_SECONDS * 1000,
  poolMs: settings.DATABASE_POOL_TIMEOUT_SECONDS * 1000,
  statementMs: settings.DATABASE_STATEMENT_TIMEOUT_SECONDS * 1000,
})

/** Opens the database and brings its schema up to date. */
export async function openDatabase(
  settings: Settings,
  log: Logger,
  onError: (error: Error) => void,
): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: size, DATA_DIR } = settings
  const deadlines = deadlinesOf(settings)
  const database =
    url === undefined ? await openEmbedded(DATA_DIR) : await openServer({ url, size, onError, deadlines })
  try {
    await upgrade(database, log)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}
