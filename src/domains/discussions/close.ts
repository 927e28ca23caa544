import type { EventActor } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { tenantSettingsSchema } from '../../core/settings/tenant.ts'
import { storedNumber } from '../../core/stored.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { appendEvent, type AppendedEvents } from './append-events.ts'
import { toDiscussion } from './fields.ts'
import { lockDiscussionRow } from './locks.ts'

/** SQL: after how many days the tenant `t` closes its discussions; null for never. */
export const CLOSE_DAYS = storedNumber(
  't.settings',
  'autoCloseDays',
  tenantSettingsSchema.shape.autoCloseDays.unwrap().unwrap(),
)

const MARK = statement(
  'mark_auto_closed',
  // `auto_closed_at IS NULL` would let PostgreSQL take the index of discussions to close, and read
  // all of it.
  `UPDATE discussions d SET auto_closed_at = $3 FROM tenants t
   WHERE t.id = $1 AND d.tenant_id = $1 AND d.id = $2 AND coalesce(d.auto_closed_at, 'infinity') = 'infinity'
     AND d.state <> 'archived'
     AND coalesce(d.closes_at <= $3, d.created_at <= $3::timestamptz - ${CLOSE_DAYS} * interval '1 day')
   RETURNING d.id`,
)

export interface DueDiscussion {
  tenantId: Id
  id: Id
}

/**
 * Locks a discussion that has reached its `closesAt` or, without one, its tenant's `autoCloseDays`;
 * once. The row as it is then decides. Returns its event; null where it is not due, was closed
 * before or is not open. Its row is locked from then on.
 */
export async function closeDue(
  sql: TxSql,
  { tenantId, id }: DueDiscussion,
  actor: EventActor,
  now: Date,
): Promise<AppendedEvents | null> {
  const marked = await sql(MARK, [tenantId, id, now])
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
