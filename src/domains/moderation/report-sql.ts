import { type Id, LAST_ID } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { profileIn, type Reader } from '../readers/fields.ts'

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

/**
 * Stores a report. Returns false if the reader has reported the comment before. The comment's row
 * must be locked.
 */
export const insertReport = async (sql: Sql, r: NewReport): Promise<boolean> =>
  (await sql(REPORT, [r.tenantId, r.commentId, r.readerId, r.reason, r.note, r.now, r.counts])).length > 0

export interface ReportRow extends Reader {
  commentId: Id
  reason: string
  note: string | null
  counted: boolean
  createdAt: Date
}

// Limited before profiles are read: a comment may have thousands of reports.
const LIST = statement(
  'reports_of_comments',
  `SELECT l.* FROM unnest($2::uuid[]) WITH ORDINALITY AS p (id, n)
   CROSS JOIN LATERAL (
     SELECT x.comment_id AS "commentId", x.reason, x.note, x.counted, x.created_at AS "createdAt",
       ${profileIn('r')}
     FROM (
       SELECT * FROM reports
       WHERE tenant_id = $1 AND comment_id = p.id AND (created_at, reader_id) < ($3::timestamptz, $4::uuid)
       ORDER BY comment_id DESC, created_at DESC, reader_id DESC LIMIT $5
     ) x JOIN readers r ON r.tenant_id = x.tenant_id AND r.id = x.reader_id
   ) l
   ORDER BY p.n, l."createdAt" DESC, l.id DESC`,
)

/** The reports of each of several comments, `limit` of each, newest first. */
export const listReports = (
  sql: Sql,
  tenantId: Id,
  commentIds: readonly Id[],
  { before, limit }: { before: { createdAt: string; readerId: Id } | null; limit: number },
): Promise<ReportRow[]> =>
  sql(LIST, [tenantId, commentIds, before?.createdAt ?? 'infinity', before?.readerId ?? LAST_ID, limit])
