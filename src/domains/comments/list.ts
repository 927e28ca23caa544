import { type Ctx, requireCaller } from '../../core/context.ts'
import {
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
import { type Comment, getComment, toComment } from './comments.ts'
import { type CommentSort, type LevelPlace, listLevel } from './list-sql.ts'

interface ListComments extends PageArgs {
  discussionId: Id
  parentId?: Id | null | undefined
  sort?: CommentSort | null | undefined
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
  const rows = await listLevel(ctx.app.db.query, tenant.id, args.discussionId, {
    parentId,
    sort,
    after: placeOf(sort, args.after),
    limit: size + 1,
  })
  if (parentId !== null && rows.length === 0) await requireParent(ctx, args.discussionId, parentId)
  return pageOf(rows.map(toComment), size, args, ({ id, pinnedAt }) => encodeCursor(sort, pinnedAt ?? '', id))
}

/** The place that a cursor names. A comment that is pinned or unpinned meanwhile moves, as its event says. */
function placeOf(sort: CommentSort, cursor: string | null | undefined): LevelPlace | null {
  const key = decodeCursor(sort, 2, cursor)
  if (key === null) return null
  const [pinnedAt = '', id] = key
  return { pinnedAt: pinnedAt === '' ? null : instantOf(pinnedAt), id: idOf(id) }
}

async function requireParent(ctx: Ctx, discussionId: Id, parentId: Id): Promise<void> {
  const parent = await getComment(ctx, parentId)
  if (parent.discussionId !== discussionId) throw new ServiceError('not_found', { detail: 'There is no such comment.' })
}
