import type { App } from '../../core/app.ts'
import type { Sql } from '../../core/database/database.ts'
import { isLockFailure } from '../../core/database/locks.ts'
import { statement } from '../../core/database/statements.ts'
import { announce } from '../discussions/append-events.ts'
import { CLOSE_DAYS, closeDue, type DueDiscussion } from '../discussions/close.ts'

/**
 * Locks up to `limit` discussions that have no `closesAt` and have reached their tenant's
 * `autoCloseDays`, as `closeOnTime` does.
 */
export const closeOldDiscussions = async (app: App, limit: number, now = new Date()): Promise<number> =>
  closeAll(app, await selectDueDiscussions(app.db.query, now, limit), now)

/**
 * Locks up to `limit` discussions that have reached their `closesAt`, with an event of the system.
 * Each is closed once: a moderator may unlock it afterwards, and one that was locked at the time
 * counts as closed. Any number of workers may run it at once. Returns how many were due.
 */
export const closeOnTime = async (app: App, limit: number, now = new Date()): Promise<number> =>
  closeAll(app, await app.db.query<DueDiscussion>(REACHED, [now, limit]), now)

async function closeAll(app: App, due: readonly DueDiscussion[], now: Date): Promise<number> {
  for (const discussion of due) {
    await close(app, discussion, now).catch((error: unknown) => {
      // Locked by another transaction since the selection: it stays due.
      if (!isLockFailure(error)) throw error
    })
  }
  return due.length
}

async function close(app: App, discussion: DueDiscussion, now: Date): Promise<void> {
  const written = await app.db.transaction((sql) => closeDue(sql, discussion, { kind: 'system' }, now))
  if (written !== null) announce(app, written)
}

const DUE = statement(
  'discussions_to_close',
  `SELECT due.tenant_id AS "tenantId", due.id
   FROM tenants t
   CROSS JOIN LATERAL (
     SELECT d.tenant_id, d.id FROM discussions d
     WHERE d.tenant_id = t.id AND d.auto_closed_at IS NULL AND d.state <> 'archived' AND d.closes_at IS NULL
       AND d.created_at <= $1::timestamptz - ${CLOSE_DAYS} * interval '1 day'
     ORDER BY d.created_at LIMIT $2 FOR NO KEY UPDATE OF d SKIP LOCKED
   ) due
   WHERE ${CLOSE_DAYS} IS NOT NULL
   LIMIT $2`,
)

// Asked every second, of an index that has no other discussions than those with a time to come.
const REACHED = statement(
  'discussions_at_closing_time',
  `SELECT d.tenant_id AS "tenantId", d.id FROM discussions d
   WHERE d.closes_at <= $1 AND d.auto_closed_at IS NULL AND d.state <> 'archived'
   ORDER BY d.closes_at LIMIT $2 FOR NO KEY UPDATE OF d SKIP LOCKED`,
)

/**
 * Discussions that have reached their tenant's `autoCloseDays` and were not closed for it yet. Rows
 * that another transaction holds are skipped until later, so that they do not delay the others.
 */
export const selectDueDiscussions = (sql: Sql, now: Date, limit: number): Promise<DueDiscussion[]> =>
  sql<DueDiscussion>(DUE, [now, limit])
