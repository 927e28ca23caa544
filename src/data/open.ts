import type { Logger } from 'pino'

import { type Settings, SettingsError } from '../core/settings/settings.ts'
import { statement } from '../core/database/statements.ts'
import type { Database } from './database.ts'
import { openEmbedded } from './embedded/embedded.ts'
import { upgrade } from './migrations/migrate.ts'
import type { UrlSetting } from './server/pooler.ts'
import { openServer, type ServerOptions } from './server/server.ts'

/** Options for a server; null for the embedded form. */
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

/** PostgreSQL's code for a database that does not exist. */
const NO_DATABASE = '3D000'

/**
 * Why a database cannot be opened, in one line that begins with the name of its setting. A failed
 * connection to several addresses is an AggregateError without a message.
 */
export function cannotOpen(name: UrlSetting | 'DATA_DIR', error: unknown): SettingsError {
  if (error instanceof SettingsError) return error
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error
  const message = inner instanceof Error ? inner.message : String(inner)
  // Addresses contain passwords.
  const reason = (message.split('\n')[0] ?? '').replaceAll(/\b\w+:\/\/\S+/g, '…')
  const isMissing = (inner as { code?: unknown } | null)?.code === NO_DATABASE
  const text = isMissing ? `${reason}: create it, or name another one` : `the database cannot be opened: ${reason}`
  return new SettingsError(`${name}: ${text}`, { cause: error })
}

const HAS_SERVICE = statement('has_service', `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS "hasService"`)

/**
 * Throws a SettingsError if the server's database has no tables of the service: a command with a
 * wrong DATABASE_URL would otherwise create them there. For the embedded form see
 * `expectOwnDatabase`.
 */
export async function expectService(settings: Settings): Promise<void> {
  const options = serverOptions(settings)
  if (options === null) return
  const database = await openServer({ ...options, size: 1, onError: () => undefined })
  try {
    const [found] = await database.db.query<{ hasService: boolean }>(HAS_SERVICE)
    if (found?.hasService === true) return
    throw new SettingsError(
      'DATABASE_URL: there is no service in this database: start the service on it first, or make its tables with the command `migrate`',
    )
  } finally {
    await database.close()
  }
}

/**
 * Opens the database and brings its schema up to date. `name` is the application name of its
 * sessions.
 */
export async function openDatabase(
  settings: Settings,
  log: Logger,
  onError: (error: Error) => void,
  name?: string,
): Promise<Database> {
  const options = serverOptions(settings)
  const database =
    options === null ? await openEmbedded(settings.DATA_DIR) : await openServer({ ...options, onError, name })
  try {
    await upgrade(database, log)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}
