import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { isLockFailure, type Sql, statement } from '../../core/sql.ts'
import { storedNumber } from '../../core/stored.ts'
import { tenantSettingsSchema } from '../../core/settings/tenant.ts'
import { toDiscussion } from '../discussions/discussions.ts'
import { announce, appendEvent } from '../discussions/append-events.ts'
import { lockDiscussionRow } from '../discussions/locks.ts'
import { setDiscussionState } from './discussions.ts'

/**
 * Locks up to `limit` discussions that have reached their tenant's `autoCloseDays`, with an event
 * of the system. Each is closed once: a moderator may unlock it afterwards, and one that was locked
 * at the time counts as closed. Any number of workers may run it at once. Returns how many were
 * due.
 */
export async function closeOldDiscussions(app: App, limit: number, now = new Date()): Promise<number> {
  const due = await selectDueDiscussions(app.db.query, now, limit)
  for (const discussion of due) {
    await close(app, discussion, now).catch((error: unknown) => {
      // Locked by another transaction since the selection: it stays due.
      if (!isLockFailure(error)) throw error
    })
  }
  return due.length
}

async function close(app: App, { tenantId, id }: DueDiscussion, now: Date): Promise<void> {
  const written = await app.db.transaction(async (sql) => {
    if (!(await markAutoClosed(sql, tenantId, id, now))) return null
    const row = await lockDiscussionRow(sql, tenantId, id)
    if (row === undefined || row.state !== 'open') return null
    await setDiscussionState(sql, tenantId, id, 'locked')
    // The state after its own event, whose number is the next one because the row is locked.
    const discussion = toDiscussion({ ...row, state: 'locked', seq: row.seq + 1, updatedAt: now })
    return appendEvent(sql, {
      tenantId,
      discussionId: id,
      type: 'discussion_locked',
      audience: 'public',
      actor: { kind: 'system' },
      occurredAt: now,
      data: JSON.stringify({ discussion }),
    })
  })
  if (written !== null) announce(app, written)
}

const DAYS = storedNumber('t.settings', 'autoCloseDays', tenantSettingsSchema.shape.autoCloseDays.unwrap().unwrap())

const DUE = statement(
  'discussions_to_close',
  `SELECT due.tenant_id AS "tenantId", due.id
   FROM tenants t
   CROSS JOIN LATERAL (
     SELECT d.tenant_id, d.id FROM discussions d
     WHERE d.tenant_id = t.id AND d.auto_closed_at IS NULL AND d.state <> 'archived'
       AND d.created_at <= $1::timestamptz - ${DAYS} * interval '1 day'
     ORDER BY d.created_at LIMIT $2 FOR NO KEY UPDATE OF d SKIP LOCKED
   ) due
   WHERE ${DAYS} IS NOT NULL
   LIMIT $2`,
)

interface DueDiscussion {
  tenantId: Id
  id: Id
}

/**
 * Discussions that have reached their tenant's `autoCloseDays` and were not closed for it yet. Rows
 * that another transaction holds are skipped until later, so that they do not delay the others.
 */
export const selectDueDiscussions = (sql: Sql, now: Date, limit: number): Promise<DueDiscussion[]> =>
  sql<DueDiscussion>(DUE, [now, limit])

const MARK = statement(
  'mark_auto_closed',
  // `auto_closed_at IS NULL` would let PostgreSQL take the index of discussions to close, and read
  // all of it.
  `UPDATE discussions SET auto_closed_at = $3
   WHERE tenant_id = $1 AND id = $2 AND coalesce(auto_closed_at, 'infinity') = 'infinity' AND state <> 'archived'
   RETURNING id`,
)

/**
 * Marks the discussion as closed once. Returns whether the caller must close it. Its row is locked
 * from then on.
 */
const markAutoClosed = async (sql: Sql, tenantId: Id, id: Id, now: Date): Promise<boolean> =>
  (await sql(MARK, [tenantId, id, now])).length > 0
