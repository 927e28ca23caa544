import { setTimeout } from 'node:timers/promises'

import { type Db, isLockFailure, type Sql, statement } from '../core/sql.ts'
import type { Migration } from './migration-files.ts'

/** Rows read by one transaction. */
const BATCH = 500

/**
 * After each batch, the pause in multiples of the batch's duration: at least half of the time the
 * database is free for others.
 */
const REST = 1
const MIN_REST_MS = 10

const BEGIN = statement(
  'backfill_begin',
  'INSERT INTO backfills (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING',
)

const OPEN = statement('backfills_open', `SELECT name, changed FROM backfills WHERE completed_at IS NULL ORDER BY name`)

const REOPEN = statement(
  'backfill_reopen',
  `UPDATE backfills SET position = NULL, changed_in_pass = 0, completed_at = NULL
   WHERE name = $1 AND completed_at IS NOT NULL`,
)

const TAKE = statement(
  'backfill_take',
  `SELECT position::text AS position FROM backfills WHERE name = $1 AND completed_at IS NULL FOR UPDATE SKIP LOCKED`,
)

const NOTE = statement(
  'backfill_note',
  `UPDATE backfills SET position = $2::jsonb, changed = changed + $3, changed_in_pass = changed_in_pass + $3,
     updated_at = now()
   WHERE name = $1`,
)

// Writers of the previous release may have got past a pass that changed something. Only the next
// pass shows whether any row is left.
const END_PASS = statement(
  'backfill_end_pass',
  `UPDATE backfills SET position = NULL, changed_in_pass = 0, updated_at = now(),
     completed_at = CASE changed_in_pass WHEN 0 THEN now() END
   WHERE name = $1`,
)

// A batch reads a few hundred rows by key. Without statistics of the new column, the planner might
// read the whole table.
const PLAN_BY_KEY = statement(
  'backfill_plan',
  `SELECT set_config('enable_seqscan', 'off', true) AS seqscan,
     set_config('enable_hashjoin', 'off', true) AS hashjoin, set_config('enable_mergejoin', 'off', true) AS mergejoin`,
)

/** Incomplete backfills, and how many rows each has changed. */
export const openBackfills = (sql: Sql): Promise<{ name: string; changed: number }[]> => sql(OPEN)

/**
 * Runs one batch of these migrations' backfills, then rests. Returns whether more may be left. Any
 * number of workers may call it: each backfill is run by one at a time.
 */
export async function continueBackfills(
  db: Db,
  migrations: readonly Migration[],
  signal?: AbortSignal,
): Promise<boolean> {
  const texts = new Map(migrations.flatMap(({ name, backfill }) => (backfill === null ? [] : [[name, backfill]])))
  if (texts.size === 0) return false
  await db.query(BEGIN, [[...texts.keys()]])
  let more = false
  for (const { name } of await openBackfills(db.query)) {
    const text = texts.get(name)
    if (text !== undefined && (await runBatch(db, name, text, signal))) more = true
  }
  return more
}

/** Runs the backfill of a migration until a whole pass changes nothing. */
export async function completeBackfill(db: Db, { name, backfill }: Migration): Promise<void> {
  if (backfill === null) throw new Error(`migration ${name} has no backfill.sql`)
  await db.query(BEGIN, [[name]])
  await db.query(REOPEN, [name])
  const isOpen = async (): Promise<boolean> => (await openBackfills(db.query)).some((open) => open.name === name)
  while (await isOpen()) await runBatch(db, name, backfill)
}

/**
 * Returns whether it did anything. It waits briefly for locked rows, and tries them again later.
 */
async function runBatch(db: Db, name: string, text: string, signal?: AbortSignal): Promise<boolean> {
  const startedAt = performance.now()
  const isMine = await db
    .transaction(async (sql) => {
      await sql(PLAN_BY_KEY)
      const [progress] = await sql<{ position: string | null }>(TAKE, [name])
      if (progress === undefined) return false
      // Unnamed, so that each batch is planned for its own values. Line breaks stay: the file may
      // contain comments.
      const batch = { name: '', text, locks: true }
      const [done] = await sql<{ last: unknown; changed: number }>(batch, [progress.position, BATCH])
      if (done === undefined || done.last === null) await sql(END_PASS, [name])
      else await sql(NOTE, [name, JSON.stringify(done.last), done.changed])
      return true
    })
    .catch((error: unknown) => {
      if (isLockFailure(error)) return true
      throw error
    })
  const restMs = Math.max(MIN_REST_MS, REST * (performance.now() - startedAt))
  await setTimeout(restMs, undefined, { signal }).catch(() => undefined)
  return isMine
}
