import type { EventActor } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { appendEvent, type AppendedEvents } from './append-events.ts'
import { toDiscussion } from './fields.ts'
import { lockDiscussionRow } from './locks.ts'

const MARK = statement(
  'mark_auto_closed',
  // `auto_closed_at IS NULL` would let PostgreSQL take the index of discussions to close, and read
  // all of it.
  `UPDATE discussions SET auto_closed_at = $3
   WHERE tenant_id = $1 AND id = $2 AND coalesce(auto_closed_at, 'infinity') = 'infinity' AND state <> 'archived'
     AND closes_at IS NOT DISTINCT FROM $4
   RETURNING id`,
)

export interface DueDiscussion {
  tenantId: Id
  id: Id
  /** Its own closing time, which must still be the same; null where its age makes it due. */
  closesAt: Date | null
}

/**
 * Locks a discussion that is due, once. Returns its event; null where it was closed before, is not
 * open, or has another closing time meanwhile. Its row is locked from then on.
 */
export async function closeDue(
  sql: TxSql,
  { tenantId, id, closesAt }: DueDiscussion,
  actor: EventActor,
  now: Date,
): Promise<AppendedEvents | null> {
  const marked = await sql(MARK, [tenantId, id, now, closesAt])
  if (marked.length === 0) return null
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
    actor,
    occurredAt: now,
    data: JSON.stringify({ discussion }),
  })
}

export const setDiscussionState = async (
  { prisma }: TxSql,
  tenantId: Id,
  id: Id,
  state: DiscussionState,
): Promise<void> => void (await prisma.discussion.updateMany({ where: { tenantId, id }, data: { state } }))
