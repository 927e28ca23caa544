import { z } from 'zod'

import { type Caller, type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { atMost, noNul } from '../../core/texts.ts'
import { type Comment, type CommentRow, isInView, selectComment, selectComments, toComment } from './comment.ts'

/** How often each type is held. */
export const reactionCountsSchema = z.record(z.string(), z.int().min(1))

export const MAX_BODY_LENGTH = 10_000

export const bodySchema = noNul(atMost(MAX_BODY_LENGTH, z.string().trim().min(1)))

/** What a reader says of a new comment, beside its place. */
export const newCommentSchema = z.object({
  body: bodySchema.describe('Markdown, 1 to 10 000 characters after trimming.'),
})

/** One comment. Throws `not_found`, also for one that the caller may not see. */
export async function getComment(ctx: Ctx, id: Id): Promise<Comment> {
  const caller = requireCaller(ctx)
  const row = isId(id) ? await selectComment(ctx.app.db.query, caller.tenant.id, id) : undefined
  if (row === undefined || !maySee(caller, row)) {
    throw new ServiceError('not_found', { detail: 'There is no such comment.' })
  }
  return toComment(row)
}

/**
 * What is not public is seen by moderators; and by its author, who so learns what became of it,
 * until it is deleted.
 */
export function maySee({ actor, identity }: Caller, row: CommentRow): boolean {
  const isOwn = identity !== null && row.authorExternalId === identity.externalId
  return isInView(row) || hasCapability(actor, 'moderate_content') || (isOwn && row.status !== 'deleted')
}

/**
 * The comment that one replies to; null at the top, and where the caller may not see it
 * (`getComment`). One statement serves all of a request.
 */
export const parentOf = async (ctx: Ctx, { parentId }: Comment): Promise<Comment | null> =>
  parentId === null ? null : loadParent(ctx, parentId)

const loadParent = perRequest<Id, Comment | null>(async (ctx, ids) => {
  const caller = requireCaller(ctx)
  const rows = await selectComments(ctx.app.db.query, caller.tenant.id, [...new Set(ids)])
  const visible = rows.filter((row) => maySee(caller, row))
  const comments = new Map(visible.map((row) => [row.id, toComment(row)]))
  return ids.map((id) => comments.get(id) ?? null)
})
