import { type Ctx, requireCaller } from '../../core/context.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/input/cursor.ts'
import { type Id, LAST_ID } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { anyId, cutKeys, type Measured, type Sql, statement, upToBytes } from '../../core/sql.ts'
import { seesRecords } from '../readers/records.ts'
import { type Comment, toComment } from './comment.ts'
import { COMMENT_BYTES, COMMENT_COLUMNS, type CommentRow } from './comment.ts'

/** The most comments that are counted: a reader may have written for years. */
export const COUNTED_COMMENTS = 1000

/**
 * A reader's comments in any state, newest first; null for callers who do not see readers' records.
 * One statement serves all readers of a request.
 */
export async function listCommentsOfReader(ctx: Ctx, readerId: Id, args: PageArgs): Promise<Page<Comment> | null> {
  if (!seesRecords(ctx)) return null
  const size = pageSize(args)
  const level = { before: idInCursor('by-reader', args.after), limit: size + 1 }
  const { comments, isCut } = await loadComments(ctx, readerId, level)
  return pageOf(comments, size, args, ({ id }) => encodeCursor('by-reader', id), isCut)
}

type ReaderLevel = Parameters<typeof listByReaders>[3]

const loadComments = perRequest<Id, { comments: Comment[]; isCut: boolean }, [ReaderLevel]>(
  async (ctx, readerIds, level) => {
    const { tenant } = requireCaller(ctx)
    const asked = [...new Set(readerIds)]
    const rows = await listByReaders(ctx.app.db.query, tenant.id, asked, level)
    const cut = cutKeys<Id | null>(rows, asked, rows.at(-1)?.authorId)
    const byReader = new Map<Id | null, Comment[]>(readerIds.map((id) => [id, []]))
    // By the row's author: of a deleted comment the answer names none.
    for (const row of rows) byReader.get(row.authorId)?.push(toComment(row))
    return readerIds.map((id) => ({ comments: byReader.get(id) ?? [], isCut: cut.has(id) }))
  },
)

const NONE: ReaderCommentCounts = { total: 0, approved: 0, pending: 0, rejected: 0, deleted: 0, reportsReceived: 0 }

/**
 * A reader's newest comments counted by state; null for callers who do not see readers' records.
 * One statement serves all readers of a request.
 */
export const countCommentsOfReader = async (ctx: Ctx, readerId: Id): Promise<ReaderCommentCounts | null> =>
  seesRecords(ctx) ? loadCounts(ctx, readerId) : null

const loadCounts = perRequest<Id, ReaderCommentCounts>(async (ctx, readerIds) => {
  const { tenant } = requireCaller(ctx)
  const rows = await countByReaders(ctx.app.db.query, tenant.id, [...new Set(readerIds)], COUNTED_COMMENTS)
  const counts = new Map(rows.map((row) => [row.readerId, row]))
  return readerIds.map((id) => counts.get(id) ?? NONE)
})

const BY_READER = statement(
  'comments_by_reader',
  upToBytes(
    `SELECT l.* FROM unnest($2::uuid[]) WITH ORDINALITY AS p (id, n)
   JOIN readers r ON r.tenant_id = $1 AND r.id = p.id
   CROSS JOIN LATERAL (
     SELECT ${COMMENT_COLUMNS} FROM comments c
     WHERE c.tenant_id = $1 AND c.author_id = p.id AND c.id < $3 AND ${anyId('c.author_id')} ORDER BY c.id DESC LIMIT $4
   ) l
   ORDER BY p.n, l.id DESC`,
    COMMENT_BYTES,
  ),
)

/**
 * The comments of each of several readers in any state, newest first, those older than `before`.
 */
const listByReaders = (
  sql: Sql,
  tenantId: Id,
  readerIds: readonly Id[],
  { before, limit }: { before: Id | null; limit: number },
): Promise<(CommentRow & Measured)[]> => sql(BY_READER, [tenantId, readerIds, before ?? LAST_ID, limit])

/** A reader's comments, counted by state. */
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
       WHERE c.tenant_id = $1 AND c.author_id = p.id AND ${anyId('c.author_id')} ORDER BY c.id DESC LIMIT $3
     ) newest
   ) l`,
)

/** Counts the newest `limit` comments of each of several readers. */
const countByReaders = (
  sql: Sql,
  tenantId: Id,
  readerIds: readonly Id[],
  limit: number,
): Promise<(ReaderCommentCounts & { readerId: Id })[]> => sql(COUNTS, [tenantId, readerIds, limit])
