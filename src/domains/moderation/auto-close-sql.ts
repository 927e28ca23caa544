import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'

const DUE = statement(
  'discussions_to_close',
  `SELECT due.tenant_id AS "tenantId", due.id
   FROM tenants t
   CROSS JOIN LATERAL (
     SELECT d.tenant_id, d.id FROM discussions d
     WHERE d.tenant_id = t.id AND d.auto_closed_at IS NULL AND d.state <> 'archived'
       AND d.created_at <= $1::timestamptz - (t.settings->>'autoCloseDays')::int * interval '1 day'
     ORDER BY d.created_at LIMIT $2
   ) due
   WHERE t.settings->>'autoCloseDays' IS NOT NULL
   LIMIT $2`,
)

export interface DueDiscussion {
  tenantId: Id
  id: Id
}

/** Discussions that have reached their tenant's `autoCloseDays` and were not yet closed for it. */
export const selectDueDiscussions = (sql: Sql, now: Date, limit: number): Promise<DueDiscussion[]> =>
  sql<DueDiscussion>(DUE, [now, limit])

const MARK = statement(
  'mark_auto_closed',
  `UPDATE discussions SET auto_closed_at = $3
   WHERE tenant_id = $1 AND id = $2 AND auto_closed_at IS NULL AND state <> 'archived' RETURNING id`,
)

/** Whether the discussion is to be closed by whoever asks: true once. Its row is locked from then on. */
export const markAutoClosed = async (sql: Sql, tenantId: Id, id: Id, now: Date): Promise<boolean> =>
  (await sql(MARK, [tenantId, id, now])).length > 0
