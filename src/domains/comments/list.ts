import { anonymous, type Ctx, requireCaller } from '../../core/context.ts'
import {
  countOf,
  decodeCursor,
  encodeCursor,
  idOf,
  instantOf,
  type Page,
  type PageArgs,
  pageOf,
  pageSize,
} from '../../core/cursor.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { type Comment, getComment, toComment } from './comments.ts'
import { type CommentSort, type LevelPlace, listLevel, listReplies } from './list-sql.ts'

interface LevelArgs extends PageArgs {
  sort?: CommentSort | null | undefined
}

interface ListComments extends LevelArgs {
  discussionId: Id
  parentId?: Id | null | undefined
}

/**
 * A page of one level of a discussion of the tenant: the roots, or the replies of `parentId`; pinned ones first.
 * Throws `not_found`.
 */
export async function listComments(ctx: Ctx, args: ListComments): Promise<Page<Comment>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const sort = args.sort ?? 'newest'
  const parentId = args.parentId ?? null
  if (parentId !== null && !isId(parentId)) throw new ServiceError('not_found', { detail: 'There is no such comment.' })
  const { discussionId } = args
  const level = { discussionId, parentId, sort, after: placeOf(sort, args.after), limit: size + 1 }
  const rows = await listLevel(ctx.app.db.query, tenant.id, level)
  if (parentId !== null && rows.length === 0) await requireParent(ctx, discussionId, parentId)
  return pageOf(rows.map(toComment), size, args, cursorOf(sort))
}

/**
 * A page of the replies in view of a comment, pinned ones first. One statement serves all comments of a request that ask
 * for the same; none those without replies.
 */
export async function listRepliesOf(ctx: Ctx, comment: Comment, args: LevelArgs): Promise<Page<Comment>> {
  const size = pageSize(args)
  const sort = args.sort ?? 'newest'
  const after = placeOf(sort, args.after)
  const level = { sort, after, limit: size + 1 }
  const replies = comment.replyCount === 0 ? [] : await loadReplies(ctx, JSON.stringify(level), comment)
  return pageOf(replies, size, args, cursorOf(sort))
}

type NestedLevel = Parameters<typeof listReplies>[3]

const loadReplies = perRequest<Comment, Comment[]>(async (ctx, group, parents) => {
  const level = JSON.parse(group) as NestedLevel
  const rows = await listReplies(ctx.app.db.query, requireCaller(ctx).tenant.id, unique(parents), level)
  const byParent = new Map<Id | null, Comment[]>(parents.map(({ id }) => [id, []]))
  for (const reply of rows.map(toComment)) byParent.get(reply.parentId)?.push(reply)
  return parents.map(({ id }) => byParent.get(id) ?? [])
})

const unique = (comments: readonly Comment[]): Comment[] => [
  ...new Map(comments.map((each) => [each.id, each])).values(),
]

const cursorOf =
  (sort: CommentSort) =>
  ({ id, pinnedAt, reactionCounts, replyCount }: Comment): string => {
    const place = [pinnedAt ?? '', id]
    return sort === 'top'
      ? encodeCursor(sort, ...place, reactionCountOf(reactionCounts), replyCount)
      : encodeCursor(sort, ...place)
  }

const reactionCountOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** The place that a cursor names. A comment that moves meanwhile, by a pin or in `top`, moves as its event says. */
function placeOf(sort: CommentSort, cursor: string | null | undefined): LevelPlace | null {
  const key = decodeCursor(sort, sort === 'top' ? 4 : 2, cursor)
  if (key === null) return null
  const [pinnedAt = '', id, reactionCount = '0', replyCount = '0'] = key
  return {
    pinnedAt: pinnedAt === '' ? null : instantOf(pinnedAt),
    id: idOf(id),
    reactionCount: countOf(reactionCount),
    replyCount: countOf(replyCount),
  }
}

/** Below a comment that its author alone is shown there is no page: lists are the same for every reader. */
async function requireParent(ctx: Ctx, discussionId: Id, parentId: Id): Promise<void> {
  const parent = await getComment(anonymous(ctx), parentId)
  if (parent.discussionId !== discussionId) throw new ServiceError('not_found', { detail: 'There is no such comment.' })
}
