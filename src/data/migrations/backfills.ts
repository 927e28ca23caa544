import { setTimeout } from 'node:timers/promises'

import { planByKey } from '../../core/plan-by-key.ts'
import type { Db, Sql } from '../../core/database/database.ts'
import { isLockFailure } from '../../core/database/locks.ts'
import { statement } from '../../core/database/statements.ts'
import type { Migration } from './files.ts'

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

/**
 * A backfill of a migration that takes more than one SQL statement. Like a backfill.sql it changes
 * the next rows after `position` (null at first), and returns the key of the last one (null: none
 * are left) and how many it has changed. It must pass over rows that need no change.
 */
export interface CodeBackfill {
  run(sql: Sql, position: unknown): Promise<{ last: object | null; changed: number }>
  /**
   * How long the previous release may still write rows in the old form. The second pass begins only
   * then, because no column tells these rows from others.
   */
  settleSeconds: number
}

/** By the names of their migrations. */
export type CodeBackfills = Readonly<Record<string, CodeBackfill>>

const REOPEN = statement(
  'backfill_reopen',
  `UPDATE backfills SET position = NULL, changed_in_pass = 0, completed_at = NULL
   WHERE name = $1 AND completed_at IS NOT NULL`,
)

const DUE = `(passes = 0 OR position IS NOT NULL OR created_at <= now() - make_interval(secs => $2))`

const TAKE = statement(
  'backfill_take',
  `SELECT position FROM backfills WHERE name = $1 AND completed_at IS NULL AND ${DUE}
   FOR UPDATE SKIP LOCKED`,
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
  `UPDATE backfills SET position = NULL, changed_in_pass = 0, passes = passes + 1, updated_at = now(),
     completed_at = CASE WHEN changed_in_pass = 0 AND created_at <= now() - make_interval(secs => $2) THEN now() END
   WHERE name = $1`,
)

/** Incomplete backfills, and how many rows each has changed. */
export const openBackfills = statement(
  'backfills_open',
  `SELECT name, changed FROM backfills WHERE completed_at IS NULL ORDER BY name`,
).rows<[], { name: string; changed: number }>()

/**
 * Runs one batch of the backfills of these migrations, then rests. Returns whether more may be
 * left. Any number of workers may call it: each backfill is run by one at a time.
 */
export async function continueBackfills(
  db: Db,
  migrations: readonly Migration[],
  code: CodeBackfills = {},
  signal?: AbortSignal,
): Promise<boolean> {
  const backfills = new Map(Object.entries(code))
  for (const { name, backfill } of migrations) if (backfill !== null) backfills.set(name, ofSql(backfill))
  if (backfills.size === 0) return false
  await db.query(BEGIN, [[...backfills.keys()]])
  let more = false
  for (const { name } of await openBackfills(db.query)) {
    const backfill = backfills.get(name)
    if (backfill !== undefined && (await runBatch(db, name, backfill, signal))) more = true
  }
  return more
}

/** Runs the backfill of a migration until a whole pass changes nothing. */
export async function completeBackfill(db: Db, { name, backfill }: Migration): Promise<void> {
  if (backfill === null) throw new Error(`migration ${name} has no backfill.sql`)
  await db.query(BEGIN, [[name]])
  await db.query(REOPEN, [name])
  const isOpen = async (): Promise<boolean> => (await openBackfills(db.query)).some((open) => open.name === name)
  while (await isOpen()) await runBatch(db, name, ofSql(backfill))
}

/** New rows of the previous release have a default, so that this needs no time to settle. */
const ofSql = (text: string): CodeBackfill => ({
  settleSeconds: 0,
  run: async (sql, position) => {
    // Unnamed, so that each batch is planned for its own values. Line breaks stay: the file may
    // contain comments.
    const batch = { name: '', text, locks: true }
    const after = position === null ? null : JSON.stringify(position)
    const [done] = await sql<{ last: object | null; changed: number }>(batch, [after, BATCH])
    return done ?? { last: null, changed: 0 }
  },
})

/**
 * Returns whether it did anything. It waits briefly for locked rows, and tries them again later.
 */
async function runBatch(
  db: Db,
  name: string,
  { run, settleSeconds }: CodeBackfill,
  signal?: AbortSignal,
): Promise<boolean> {
  const startedAt = performance.now()
  const isMine = await db
    .transaction(async (sql) => {
      await planByKey(sql)
      const [progress] = await sql<{ position: unknown }>(TAKE, [name, settleSeconds])
      if (progress === undefined) return false
      const { last, changed } = await run(sql, progress.position)
      if (last === null) await sql(END_PASS, [name, settleSeconds])
      else await sql(NOTE, [name, JSON.stringify(last), changed])
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
