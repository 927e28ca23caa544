import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'

const REPORT = statement(
  'insert_report',
  `WITH inserted AS (
     INSERT INTO reports (tenant_id, comment_id, reader_id, reason, note, created_at, counted)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT DO NOTHING RETURNING tenant_id, comment_id, counted
   ),
   counted AS (
     UPDATE comments c SET report_count = report_count + 1 FROM inserted i
     WHERE i.counted AND c.tenant_id = i.tenant_id AND c.id = i.comment_id
   )
   SELECT 1 FROM inserted`,
)

interface NewReport {
  tenantId: Id
  commentId: Id
  readerId: Id
  reason: string
  note: string | null
  now: Date
  /** Whether it counts in the comment's number of reports. */
  counts: boolean
}

/** Whether it was written: false where the reader has reported the comment before. The comment's row is locked already. */
export const insertReport = async (sql: Sql, r: NewReport): Promise<boolean> =>
  (await sql(REPORT, [r.tenantId, r.commentId, r.readerId, r.reason, r.note, r.now, r.counts])).length > 0
