import { setTimeout } from 'node:timers/promises'

import type { SqlQueryable } from '@prisma/driver-adapter-utils'

import { isLockFailure } from '../../core/database/locks.ts'

/**
 * Runs a statement that PostgreSQL allows only outside of transactions: CREATE INDEX CONCURRENTLY
 * IF NOT EXISTS, or DROP INDEX CONCURRENTLY IF EXISTS. An interrupted or failed build leaves an
 * invalid index, which is dropped first.
 */
export async function runConcurrently(
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
