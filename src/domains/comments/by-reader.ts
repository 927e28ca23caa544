import { type Ctx, requireCaller } from '../../core/context.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { cutKeys } from '../../core/sql.ts'
import { countByReaders, listByReaders, type ReaderCommentCounts } from './by-reader-sql.ts'
import { type Comment, toComment } from './comments.ts'

/** Counts go no further back than that: a reader may have written for years. */
export const COUNTED_COMMENTS = 1000

/**
 * For moderators: a reader's comments in whatever state, newest first. One statement serves all
 * readers of a request.
 */
export async function listCommentsOfReader(ctx: Ctx, readerId: Id, args: PageArgs): Promise<Page<Comment>> {
  const size = pageSize(args)
  const level = { before: idInCursor('by-reader', args.after), limit: size + 1 }
  const { comments, isCut } = await loadComments(ctx, JSON.stringify(level), readerId)
  return pageOf(comments, size, args, ({ id }) => encodeCursor('by-reader', id), isCut)
}

const loadComments = perRequest<Id, { comments: Comment[]; isCut: boolean }>(async (ctx, group, readerIds) => {
  const level = JSON.parse(group) as Parameters<typeof listByReaders>[3]
  const { tenant } = requireCaller(ctx)
  const asked = [...new Set(readerIds)]
  const rows = await listByReaders(ctx.app.db.query, tenant.id, asked, level)
  const cut = cutKeys<Id | null>(rows, asked, rows.at(-1)?.authorId)
  const byReader = new Map<Id | null, Comment[]>(readerIds.map((id) => [id, []]))
  // By the row's author: of a deleted comment the answer names none.
  for (const row of rows) byReader.get(row.authorId)?.push(toComment(row))
  return readerIds.map((id) => ({ comments: byReader.get(id) ?? [], isCut: cut.has(id) }))
})

const NONE: ReaderCommentCounts = { total: 0, approved: 0, pending: 0, rejected: 0, deleted: 0, reportsReceived: 0 }

/**
 * For moderators: what has become of a reader's newest comments. One statement serves all readers
 * of a request.
 */
export const countCommentsOfReader = (ctx: Ctx, readerId: Id): Promise<ReaderCommentCounts> =>
  loadCounts(ctx, '', readerId)

const loadCounts = perRequest<Id, ReaderCommentCounts>(async (ctx, _group, readerIds) => {
  const { tenant } = requireCaller(ctx)
  const rows = await countByReaders(ctx.app.db.query, tenant.id, [...new Set(readerIds)], COUNTED_COMMENTS)
  const counts = new Map(rows.map((row) => [row.readerId, row]))
  return readerIds.map((id) => counts.get(id) ?? NONE)
})
