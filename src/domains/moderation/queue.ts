import { type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { type Id, isId } from '../../core/ids.ts'
import { isCut } from '../../core/sql.ts'
import { type Comment, toComment } from '../comments/comment.ts'
import { getDiscussion } from '../discussions/discussions.ts'
import type { HoldReason } from '../comments/rules.ts'
import { countQueues, listQueue, type QueueCounts } from './queue-sql.ts'
import type { QueueStatus } from '../comments/queues.ts'

export type { QueueCounts }

/** A comment that a moderator is to look at. */
export interface QueueItem {
  comment: Comment
  /** How many readers have reported it. */
  reportCount: number
  /** Those of them that no moderator has answered yet. */
  openReportCount: number
  /**
   * Why it waits, or was put before moderators; null where one has judged it, or reports alone
   * brought it.
   */
  reason: HoldReason | null
}

interface ListQueue extends PageArgs {
  status?: QueueStatus | null | undefined
  discussionId?: Id | null | undefined
}

/**
 * Comments of the tenant, or of one discussion, that are to be judged, or, rejected, were: what has
 * waited longest first; rejected ones newest first. Throws `not_found` for a discussion that is not
 * there.
 */
export async function listModerationQueue(ctx: Ctx, args: ListQueue): Promise<Page<QueueItem>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const status = args.status ?? 'pending'
  const after = idInCursor(status, args.after)
  const discussionId = args.discussionId ?? null
  const place = { status, discussionId, after, limit: size + 1 }
  const isKnown = discussionId === null || isId(discussionId)
  const rows = isKnown ? await listQueue(ctx.app.db.query, tenant.id, place) : []
  if (discussionId !== null && rows.length === 0) await getDiscussion(ctx, { id: discussionId })
  const items = rows.map(({ reportCount, reportsAnswered, holdReason, ...row }) => ({
    comment: toComment(row),
    reportCount,
    openReportCount: reportCount - reportsAnswered,
    reason: holdReason,
  }))
  return pageOf(items, size, args, ({ comment }) => encodeCursor(status, comment.id), isCut(rows))
}

/** How many comments wait in the queues; null to a caller without `moderate_content`. */
export async function countQueued(ctx: Ctx): Promise<QueueCounts | null> {
  const { tenant, actor } = requireCaller(ctx)
  return hasCapability(actor, 'moderate_content') ? countQueues(ctx.app.db.query, tenant.id) : null
}
