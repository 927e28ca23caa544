import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { storedNumber } from '../../core/stored.ts'
import { tenantSettingsSchema } from '../../core/tenant-settings.ts'

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

export interface DueDiscussion {
  tenantId: Id
  id: Id
}

/**
 * Discussions that have reached their tenant's `autoCloseDays` and were not yet closed for it.
 * Those whose row another transaction holds come at another time, so that they keep none of the
 * others waiting.
 */
export const selectDueDiscussions = (sql: Sql, now: Date, limit: number): Promise<DueDiscussion[]> =>
  sql<DueDiscussion>(DUE, [now, limit])

const MARK = statement(
  'mark_auto_closed',
  `UPDATE discussions SET auto_closed_at = $3
   WHERE tenant_id = $1 AND id = $2 AND auto_closed_at IS NULL AND state <> 'archived' RETURNING id`,
)

/** Whether the caller is to close the discussion: true once. Its row is locked from then on. */
export const markAutoClosed = async (sql: Sql, tenantId: Id, id: Id, now: Date): Promise<boolean> =>
  (await sql(MARK, [tenantId, id, now])).length > 0
