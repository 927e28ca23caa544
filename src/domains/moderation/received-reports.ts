import { requireCaller } from '../../core/access.ts'
import { hasCapability } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { decodeCursor, encodeCursor, idOf, instantOf } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { getComment } from '../comments/comments.ts'
import type { Reader } from '../readers/fields.ts'
import { listReports } from './report-sql.ts'
import type { ReportReason } from './reports.ts'

/** A report as moderators see it. */
export interface ReceivedReport {
  reason: ReportReason
  note: string | null
  reader: Reader
  /**
   * Whether it counts in the comment's number of reports. Those of readers banned in shadow do
   * not, nor those of guests whose comments all wait.
   */
  counted: boolean
  createdAt: string
}

/**
 * The reports of a comment, newest first; null for callers who are no moderators. One statement
 * serves all comments of a request.
 */
export async function listReportsOf(ctx: Ctx, commentId: Id, args: PageArgs): Promise<Page<ReceivedReport> | null> {
  if (!hasCapability(requireCaller(ctx).actor, 'moderate_content')) return null
  const size = pageSize(args)
  const key = decodeCursor('reports', 2, args.after)
  const before = key === null ? null : { createdAt: instantOf(key[0]), readerId: idOf(key[1]) }
  const reports = await loadReports(ctx, commentId, { before, limit: size + 1 })
  return pageOf(reports, size, args, ({ createdAt, reader }) => encodeCursor('reports', createdAt, reader.id))
}

/** The reports of a comment by its id. Throws `not_found`. */
export async function listReportsById(ctx: Ctx, id: Id, args: PageArgs): Promise<Page<ReceivedReport> | null> {
  const comment = await getComment(ctx, id)
  return listReportsOf(ctx, comment.id, args)
}

type ReportPage = Parameters<typeof listReports>[3]

const loadReports = perRequest<Id, ReceivedReport[], [ReportPage]>(async (ctx, commentIds, at) => {
  const rows = await listReports(ctx.app.db.query, requireCaller(ctx).tenant.id, [...new Set(commentIds)], at)
  const byComment = new Map<Id, ReceivedReport[]>(commentIds.map((id) => [id, []]))
  for (const { commentId, reason, note, counted, createdAt, ...reader } of rows) {
    // Only values of the enum were ever stored.
    const report = { reason: reason as ReportReason, note, reader, counted, createdAt: createdAt.toISOString() }
    byComment.get(commentId)?.push(report)
  }
  return commentIds.map((id) => byComment.get(id) ?? [])
})
