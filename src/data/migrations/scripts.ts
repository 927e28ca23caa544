import { setTimeout } from 'node:timers/promises'

import {
  DriverAdapterError,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQueryable,
} from '@prisma/driver-adapter-utils'

import { LOCK_WAIT_MS } from '../../core/database/database.ts'
import { isLockFailure } from '../../core/database/locks.ts'

type Factory = SqlMigrationAwareDriverAdapterFactory

// The engine records a migration before its script, and marks it as finished afterwards. If the
// process died in between, nobody would know whether it was applied; so the script itself marks
// it, in its own transaction.
const MARK_FINISHED = `DO $$ BEGIN
  IF to_regclass('_prisma_migrations') IS NOT NULL THEN
    UPDATE _prisma_migrations SET finished_at = now() WHERE finished_at IS NULL AND rolled_back_at IS NULL;
  END IF;
END $$;`

const FORGET_UNFINISHED = `DO $$ BEGIN
  IF to_regclass('_prisma_migrations') IS NOT NULL THEN
    DELETE FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL;
  END IF;
END $$;`

type Run = (script: string) => Promise<unknown>

/**
 * A copy of an adapter, on which each script is one transaction: a migration is applied and marked,
 * or neither. Prisma's adapter for pg splits a script at each semicolon, even in a comment or a
 * function; the one for PGlite does not wait for its end. A script whose first line is `--
 * concurrently` is one statement that runs outside of transactions. `run` sends a text of several
 * statements unchanged.
 */
export const wholeScripts = (factory: Factory, run: Run): Factory => ({
  provider: factory.provider,
  adapterName: factory.adapterName,
  connect: async () => {
    const connection = await factory.connect()
    const executeScript = (script: string): Promise<void> =>
      (script.startsWith('-- concurrently\n') ? runConcurrently(connection, run, script) : runWhole(run, script)).catch(
        explain,
      )
    return Object.assign(connection, { executeScript })
  },
  connectToShadowDb: () => factory.connectToShadowDb(),
})

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 5000

/**
 * Gives up waiting for a lock before the writers that queue behind it have waited for long, lets
 * them go first, and tries again.
 */
async function runWhole(run: Run, script: string): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return void (await run(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS};\n${script}\n;${MARK_FINISHED}`))
    } catch (error) {
      if (!isLockFailure(error)) throw error
    }
    await setTimeout(pauseMs)
  }
}

/** Throws in the only form in which the engine shows the cause. */
function explain(error: unknown): never {
  const { message, code = 'XX000' } = error as Error & { code?: string }
  const nothing = { detail: undefined, column: undefined, hint: undefined }
  throw new DriverAdapterError({ kind: 'postgres', code, severity: 'ERROR', message, ...nothing })
}

/**
 * Deletes the record of a migration whose process died: its script was rolled back. The caller
 * keeps other processes out.
 */
export async function forgetUnfinished(factory: Factory): Promise<void> {
  const connection = await factory.connect()
  try {
    await connection.executeScript(FORGET_UNFINISHED)
  } finally {
    await connection.dispose()
  }
}

/**
 * Runs a statement that PostgreSQL allows only outside of transactions: CREATE INDEX CONCURRENTLY
 * IF NOT EXISTS, or DROP INDEX CONCURRENTLY IF EXISTS. An interrupted or failed build leaves an
 * invalid index, which is dropped first.
 */
async function runConcurrently(
  connection: SqlQueryable,
  run: (script: string) => Promise<unknown>,
  script: string,
): Promise<void> {
  const name = /\bNOT\s+EXISTS\s+"?(\w+)/i.exec(script)?.[1]
  if (name === undefined) return void (await run(script))
  for (;;) {
    const state = await stateOf(connection, name)
    if (state === 'valid') return
    // The server continues a build whose client has died.
    if (state === 'building') await setTimeout(POLL_MS)
    else if (state === 'invalid') await run(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`)
    else await run(script).catch(unlessLockedOut)
  }
}

const POLL_MS = 200

// After a deadlock with another statement on the table, the index is invalid and is built again.
function unlessLockedOut(error: unknown): void {
  if (!isLockFailure(error)) throw error
}

type State = 'none' | 'building' | 'valid' | 'invalid'

async function stateOf(connection: SqlQueryable, name: string): Promise<State> {
  const sql = `
    SELECT CASE
      WHEN indisvalid THEN 'valid'
      WHEN EXISTS (
        SELECT FROM pg_stat_progress_create_index WHERE datname = current_database() AND index_relid = indexrelid
      ) THEN 'building'
      ELSE 'invalid' END AS state
    FROM pg_index WHERE indexrelid = to_regclass('"${name}"')`
  const { rows } = await connection.queryRaw({ sql, args: [], argTypes: [] })
  return (rows[0]?.[0] as State | undefined) ?? 'none'
}
