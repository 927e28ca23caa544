import { type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { type Comment, isInView, toComment } from './comments.ts'
import { selectComments } from './context-sql.ts'

/**
 * The comment that one replies to; null at the top, and where the caller may not see it (`getComment`). One statement
 * serves all of a request.
 */
export const parentOf = async (ctx: Ctx, { parentId }: Comment): Promise<Comment | null> =>
  parentId === null ? null : loadParent(ctx, '', parentId)

const loadParent = perRequest<Id, Comment | null>(async (ctx, _group, ids) => {
  const { tenant, actor } = requireCaller(ctx)
  const moderates = hasCapability(actor, 'moderate_content')
  const rows = await selectComments(ctx.app.db.query, tenant.id, [...new Set(ids)])
  const visible = rows.filter((row) => moderates || isInView(row))
  const comments = new Map(visible.map((row) => [row.id, toComment(row)]))
  return ids.map((id) => comments.get(id) ?? null)
})
