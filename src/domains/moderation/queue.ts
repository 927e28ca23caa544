import { type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/input/cursor.ts'
import { type Id, isId } from '../../core/ids.ts'
import { isCut } from '../../core/sql.ts'
import { type Comment, toComment } from '../comments/comment.ts'
import { getDiscussion } from '../discussions/discussions.ts'
import type { HoldReason } from '../comments/rules.ts'
import { countQueues, listQueue, type QueueCounts } from './queue-sql.ts'
import type { QueueStatus } from '../comments/queues.ts'

export type { QueueCounts }

/** A comment in a moderation queue. */
export interface QueueItem {
  comment: Comment
  /** The number of readers who reported it. */
  reportCount: number
  /** The number of these reports that no moderator has answered. */
  openReportCount: number
  /** Why it is held or flagged; null after a judgement, or if only reports queued it. */
  reason: HoldReason | null
}

interface ListQueue extends PageArgs {
  status?: QueueStatus | null | undefined
  discussionId?: Id | null | undefined
}

/**
 * A queue of the tenant or of one discussion: comments to judge, the longest waiting first, or
 * rejected ones, newest first. Throws `not_found` for an unknown discussion.
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

/** The number of comments in the queues; null for callers without `moderate_content`. */
export async function countQueued(ctx: Ctx): Promise<QueueCounts | null> {
  const { tenant, actor } = requireCaller(ctx)
  return hasCapability(actor, 'moderate_content') ? countQueues(ctx.app.db.query, tenant.id) : null
}
