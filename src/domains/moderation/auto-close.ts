import type { App } from '../../core/context.ts'
import { isLockFailure } from '../../core/sql.ts'
import { toDiscussion } from '../discussions/discussions.ts'
import { announce, appendEvent } from '../discussions/events.ts'
import { type DueDiscussion, markAutoClosed, selectDueDiscussions } from './auto-close-sql.ts'
import { lockDiscussion } from '../discussions/locks.ts'
import { setDiscussionState } from './sql.ts'

/**
 * Locks up to `limit` discussions that are as old as their tenant's `autoCloseDays`, and says so as
 * the system. Each is closed once, by a worker or a moderator: a moderator who unlocks it
 * afterwards, or had locked it before, has the last word. Any number of workers may do it at once.
 * Returns how many were due.
 */
export async function closeOldDiscussions(app: App, limit: number, now = new Date()): Promise<number> {
  const due = await selectDueDiscussions(app.db.query, now, limit)
  for (const discussion of due) {
    await close(app, discussion, now).catch((error: unknown) => {
      // Locked since it was selected: it stays due.
      if (!isLockFailure(error)) throw error
    })
  }
  return due.length
}

async function close(app: App, { tenantId, id }: DueDiscussion, now: Date): Promise<void> {
  const written = await app.db.transaction(async (sql) => {
    if (!(await markAutoClosed(sql, tenantId, id, now))) return null
    const row = await lockDiscussion(sql, tenantId, id)
    if (row === undefined || row.state !== 'open') return null
    await setDiscussionState(sql, tenantId, id, 'locked')
    // As it is after its own event, whose number is the next one: the row is locked.
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
