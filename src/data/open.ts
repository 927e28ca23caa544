import type { Logger } from 'pino'

import type { Settings } from '../core/settings.ts'
import type { Database } from './database.ts'
import { openEmbedded } from './embedded.ts'
import { upgrade } from './migrate.ts'
import { openServer, type ServerOptions } from './server.ts'

/** How a server is reached; null for the embedded form. */
export function serverOptions(settings: Settings): ServerOptions | null {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl, DATABASE_POOL_SIZE: size, DATABASE_POOLER } = settings
  if (url === undefined) return null
  const isPooled = DATABASE_POOLER === 'transaction'
  return {
    url,
    directUrl,
    size,
    isPooled,
    isPreparing: settings.DATABASE_PREPARED_STATEMENTS ?? !isPooled,
    deadlines: {
      connectMs: settings.DATABASE_CONNECT_TIMEOUT_SECONDS * 1000,
      poolMs: settings.DATABASE_POOL_TIMEOUT_SECONDS * 1000,
      statementMs: settings.DATABASE_STATEMENT_TIMEOUT_SECONDS * 1000,
    },
  }
}

/** The standby of DATABASE_REPLICA_URL; null without that setting. It need not answer yet. */
export async function openReplica(settings: Settings): Promise<Database | null> {
  const { DATABASE_REPLICA_URL: url } = settings
  const options = serverOptions(settings)
  if (url === undefined || options === null) return null
  return openServer({ ...options, url, directUrl: undefined, isReplica: true, onError: () => undefined })
}

/** Opens the database and brings its schema up to date. */
export async function openDatabase(
  settings: Settings,
  log: Logger,
  onError: (error: Error) => void,
): Promise<Database> {
  const options = serverOptions(settings)
  const database = options === null ? await openEmbedded(settings.DATA_DIR) : await openServer({ ...options, onError })
  try {
    await upgrade(database, log)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}
