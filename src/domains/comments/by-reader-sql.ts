import { type Id, LAST_ID } from '../../core/ids.ts'
import { type Measured, type Sql, statement, upToBytes } from '../../core/sql.ts'
import { COMMENT_BYTES, COMMENT_COLUMNS, type CommentRow } from './row.ts'

const BY_READER = statement(
  'comments_by_reader',
  upToBytes(
    `SELECT l.* FROM unnest($2::uuid[]) WITH ORDINALITY AS p (id, n)
   JOIN readers r ON r.tenant_id = $1 AND r.id = p.id
   CROSS JOIN LATERAL (
     SELECT ${COMMENT_COLUMNS} FROM comments c
     WHERE c.tenant_id = $1 AND c.author_id = p.id AND c.id < $3 ORDER BY c.id DESC LIMIT $4
   ) l
   ORDER BY p.n, l.id DESC`,
    COMMENT_BYTES,
  ),
)

/**
 * The comments of each of several readers in whatever state, newest first, those older than
 * `before`.
 */
export const listByReaders = (
  sql: Sql,
  tenantId: Id,
  readerIds: readonly Id[],
  { before, limit }: { before: Id | null; limit: number },
): Promise<(CommentRow & Measured)[]> => sql(BY_READER, [tenantId, readerIds, before ?? LAST_ID, limit])

/** What a reader's comments have come to. */
export interface ReaderCommentCounts {
  total: number
  approved: number
  pending: number
  rejected: number
  deleted: number
  reportsReceived: number
}

const COUNTS = statement(
  'comment_counts_of_readers',
  `SELECT p.id AS "readerId", l.* FROM unnest($2::uuid[]) AS p (id)
   CROSS JOIN LATERAL (
     SELECT count(*) AS total, count(*) FILTER (WHERE status = 'approved') AS approved,
       count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'rejected') AS rejected,
       count(*) FILTER (WHERE status = 'deleted') AS deleted, coalesce(sum(report_count), 0)::int AS "reportsReceived"
     FROM (
       SELECT status, report_count FROM comments c
       WHERE c.tenant_id = $1 AND c.author_id = p.id ORDER BY c.id DESC LIMIT $3
     ) newest
   ) l`,
)

/** Counts over the newest `limit` comments of each of several readers. */
export const countByReaders = (
  sql: Sql,
  tenantId: Id,
  readerIds: readonly Id[],
  limit: number,
): Promise<(ReaderCommentCounts & { readerId: Id })[]> => sql(COUNTS, [tenantId, readerIds, limit])
