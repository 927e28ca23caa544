import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

import { SettingsError } from '../../core/settings/settings.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

export const UNDEFINED_TABLE = '42P01'

/** A copy of an adapter that calls `onError` with the error of each failed script. */
export const watchScripts = (
  adapter: SqlMigrationAwareDriverAdapterFactory,
  onError: (error: unknown) => void,
): SqlMigrationAwareDriverAdapterFactory => ({
  provider: adapter.provider,
  adapterName: adapter.adapterName,
  connect: async () => {
    const connection = await adapter.connect()
    const run = connection.executeScript.bind(connection)
    const executeScript = (script: string): Promise<void> =>
      run(script).catch((error: unknown) => {
        onError(error)
        throw error
      })
    return Object.assign(connection, { executeScript })
  },
  connectToShadowDb: () => adapter.connectToShadowDb(),
})

/** The engine's text about a failure, without its own preamble and the place in its source. */
export function explainFailure(error: unknown, failure: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (error.message.startsWith('The database schema is not empty')) {
    return new SettingsError('the database has tables, but none of this service: use an empty database', {
      cause: error,
    })
  }
  const name = /migration_name="([^"]+)"/.exec(error.message)?.[1]
  if (name === undefined || !(failure instanceof Error)) return error
  return new SettingsError(`the migration ${name} failed: ${firstLine(failure.message)}. ${AFTER_FAILURE}`, {
    cause: failure,
  })
}

const AFTER_FAILURE = 'It has changed nothing: remove the cause, then start again'

const firstLine = (text: string): string => (text.split('\n')[0] ?? '').replace(/^ERROR:\s+/, '').trim()

const UNFINISHED = statement(
  'unfinished_migration',
  `SELECT migration_name AS name, logs FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL
   ORDER BY started_at DESC LIMIT 1`,
)

/**
 * One line that says what to do about an unfinished migration; null where all have finished.
 */
export async function explainUnfinished(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ name: string; logs: string | null }>(UNFINISHED).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return []
    throw error
  })
  if (row === undefined) return null
  if (row.logs === null) return `${row.name} is begun: a process applies it now, or died and the next start applies it`
  const reason = row.logs.split('\n').find((line) => line !== '' && line !== ENGINE_ERROR) ?? ''
  return `${row.name} failed: ${firstLine(reason.replace('Error querying the database: ', ''))}. ${AFTER_FAILURE}`
}

const ENGINE_ERROR = 'external connector error'
