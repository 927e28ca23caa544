import { requireCaller } from '../../core/access.ts'
import { hasCapability } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { encodeCursor, idInCursor } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { type Id, isId } from '../../core/ids.ts'
import { invalid } from '../../core/errors.ts'
import { isCut } from '../../core/database/lists.ts'
import { type Comment, toComment } from '../comments/comment.ts'
import { getDiscussion } from '../discussions/discussions.ts'
import type { HoldDetail } from '../comments/hold-details.ts'
import type { HoldReason } from '../comments/rules.ts'
import { countQueues, listQueue, type QueueCounts, type QueueRow } from './queue-sql.ts'
import type { QueueStatus } from '../comments/queues.ts'
import { listRanked } from './queue-ranked.ts'
import type { QueueSort } from './queue-ranked-sql.ts'
import { searchPage } from './search/search.ts'

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
  /** What the rule of this reason has found in the text. */
  holdDetails: HoldDetail[]
  /** When a moderator last looked at the present text; null if none has. */
  reviewedAt: string | null
}

interface ListQueue extends PageArgs {
  status?: QueueStatus | 'unreviewed' | null | undefined
  discussionId?: Id | null | undefined
  authorId?: Id | null | undefined
  reason?: HoldReason | null | undefined
  sort?: QueueSort | null | undefined
}

/** The order of the index of a queue, and of its list unless another is asked for. */
const OWN_SORTS = { pending: 'oldest', reported: 'oldest', rejected: 'newest', unreviewed: 'newest' } as const

/**
 * A queue: comments to judge, the longest waiting first, or rejected or unreviewed ones, newest
 * first. With a filter, another sort, or for unreviewed ones a request looks at 10 000 comments at
 * most: see `searchComments` and `listRanked`. Throws `validation_failed`, `not_found` for an
 * unknown discussion or reader.
 */
export async function listModerationQueue(ctx: Ctx, { status: of, ...args }: ListQueue): Promise<Page<QueueItem>> {
  const status = of ?? 'pending'
  const sort = args.sort ?? OWN_SORTS[status]
  if (status === 'unreviewed') {
    if (sort === 'most_reported' || sort === 'busiest') {
      throw invalid('/sort', 'not_supported', 'is not supported for unreviewed comments')
    }
    const list = { list: status, isUnreviewed: true, shown: toQueueItem, idOf }
    return searchPage(ctx, { ...args, sort, status: 'approved' }, list)
  }
  if (args.authorId == null && args.reason == null && sort === OWN_SORTS[status]) return listOf(ctx, status, args)
  return listRanked(ctx, { ...args, status, sort }, { shown: toQueueItem, idOfItem: idOf })
}

async function listOf(ctx: Ctx, status: QueueStatus, args: ListQueue): Promise<Page<QueueItem>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const after = idInCursor(status, args.after)
  const discussionId = args.discussionId ?? null
  const place = { status, discussionId, after, limit: size + 1 }
  const isKnown = discussionId === null || isId(discussionId)
  const rows = isKnown ? await listQueue(ctx.app.db.query, tenant.id, place) : []
  if (discussionId !== null && rows.length === 0) await getDiscussion(ctx, { id: discussionId })
  const page = pageOf(rows.map(toQueueItem), size, args, (item) => encodeCursor(status, idOf(item)), isCut(rows))
  return { ...page, partial: false }
}

const idOf = ({ comment }: QueueItem): Id => comment.id

const toQueueItem = ({
  reportCount,
  reportsAnswered,
  holdReason,
  holdDetails,
  reviewedAt,
  ...row
}: QueueRow): QueueItem => ({
  comment: toComment(row),
  reportCount,
  openReportCount: reportCount - reportsAnswered,
  reason: holdReason,
  holdDetails: holdDetails ?? [],
  reviewedAt: reviewedAt?.toISOString() ?? null,
})

/** The number of comments in the queues; null for callers without `moderate_content`. */
export async function countQueued(ctx: Ctx): Promise<QueueCounts | null> {
  const { tenant, actor } = requireCaller(ctx)
  return hasCapability(actor, 'moderate_content') ? countQueues(ctx.app.db.query, tenant.id) : null
}
