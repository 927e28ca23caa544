import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { type Comment, maySee, toComment } from './comments.ts'
import { selectComments } from './row.ts'

/**
 * The comment that one replies to; null at the top, and where the caller may not see it
 * (`getComment`). One statement serves all of a request.
 */
export const parentOf = async (ctx: Ctx, { parentId }: Comment): Promise<Comment | null> =>
  parentId === null ? null : loadParent(ctx, '', parentId)

const loadParent = perRequest<Id, Comment | null>(async (ctx, _group, ids) => {
  const caller = requireCaller(ctx)
  const rows = await selectComments(ctx.app.db.query, caller.tenant.id, [...new Set(ids)])
  const visible = rows.filter((row) => maySee(caller, row))
  const comments = new Map(visible.map((row) => [row.id, toComment(row)]))
  return ids.map((id) => comments.get(id) ?? null)
})
