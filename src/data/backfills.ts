import { setTimeout } from 'node:timers/promises'

import { type Db, isLockFailure, type Sql, statement } from '../core/sql.ts'
import type { Migration } from './migration-files.ts'

/** Rows that one transaction looks at. */
const BATCH = 500

/**
 * A batch is followed by a pause of this many times its own length: the database is for others half
 * of the time at least.
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

// A pass that has changed something may have been passed by writers of the version before: the next
// one shows.
const END_PASS = statement(
  'backfill_end_pass',
  `UPDATE backfills SET position = NULL, changed_in_pass = 0, updated_at = now(),
     completed_at = CASE changed_in_pass WHEN 0 THEN now() END
   WHERE name = $1`,
)

// A batch is a few hundred rows by key. The planner, which has no figures of a new column, must not
// read the table for it.
const PLAN_BY_KEY = statement(
  'backfill_plan',
  `SELECT set_config('enable_seqscan', 'off', true) AS seqscan,
     set_config('enable_hashjoin', 'off', true) AS hashjoin, set_config('enable_mergejoin', 'off', true) AS mergejoin`,
)

/** Backfills that are not complete, and how many rows each has changed. */
export const openBackfills = (sql: Sql): Promise<{ name: string; changed: number }[]> => sql(OPEN)

/**
 * Runs one batch of the backfills of these migrations, and rests. Returns whether there may be more
 * to do. Any number of workers may call it: each backfill is done by one at a time.
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

/** Runs the backfill of a migration until a whole pass finds nothing to change. */
export async function completeBackfill(db: Db, { name, backfill }: Migration): Promise<void> {
  if (backfill === null) throw new Error(`migration ${name} has no backfill.sql`)
  await db.query(BEGIN, [[name]])
  await db.query(REOPEN, [name])
  const isOpen = async (): Promise<boolean> => (await openBackfills(db.query)).some((open) => open.name === name)
  while (await isOpen()) await runBatch(db, name, backfill)
}

/**
 * Returns whether it did something. A row that somebody else keeps locked is waited for briefly,
 * and tried again later.
 */
async function runBatch(db: Db, name: string, text: string, signal?: AbortSignal): Promise<boolean> {
  const startedAt = performance.now()
  const isMine = await db
    .transaction(async (sql) => {
      await sql(PLAN_BY_KEY)
      const [progress] = await sql<{ position: string | null }>(TAKE, [name])
      if (progress === undefined) return false
      // Without a name: a plan for these very values, each time. Lines stay: the file may have
      // comments.
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
