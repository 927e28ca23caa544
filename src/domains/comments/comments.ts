import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { hasCapability } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { sharedReads } from '../../core/queues/shared-reads.ts'
import {
  type Comment,
  type CommentRow,
  isHeld,
  isInView,
  selectComment,
  selectComments,
  toComment,
  toPublicComment,
} from './comment.ts'
import { requireReader } from '../readers/readers.ts'
import { authorsComment, seenByViewer, shadowIn } from './shadow.ts'

/** The number of reactions of each type. */
export const reactionCountsSchema = z.record(z.string(), z.int().min(1))

/** One comment. Throws `not_found`, also if the caller may not see it. */
export async function getComment(ctx: Ctx, id: Id): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const row = isId(id) ? await selectComment(ctx.app.db.query, tenant.id, id) : undefined
  const comment = row === undefined ? null : await commentFor(ctx, row)
  if (comment === null) throw noSuch('comment')
  return comment
}

/**
 * A comment as the caller may see it; null if that is not at all. One that is not approved is
 * visible to moderators, and until it is deleted to its author, who so learns its state; to others
 * as a tombstone while it has replies in view.
 */
async function commentFor(ctx: Ctx, row: CommentRow): Promise<Comment | null> {
  // First: a publisher's backend may have a key that may moderate, and asks for its reader.
  const own = await heldForAuthor(ctx, row)
  if (own !== null) return own
  if (hasCapability(requireCaller(ctx).actor, 'moderate_content')) return seenByViewer(ctx, toComment(row))
  const shadow = await shadowIn(ctx, row.discussionId)
  if (!isInView(row) && shadow?.shown.has(row.id) !== true) return null
  return seenByViewer(ctx, toPublicComment(row))
}

/** A pending or rejected comment as its author sees it; null for other comments and viewers. */
export const heldForAuthor = async (ctx: Ctx, row: CommentRow): Promise<Comment | null> =>
  isHeld(row) && (await isViewers(ctx, row)) ? authorsComment(ctx, row) : null

/** Whether one of these comments is a pending or rejected one of the asserted reader. */
export async function hasOwnHeld(ctx: Ctx, ids: readonly Id[]): Promise<boolean> {
  const rows = await Promise.all(ids.map((id) => loadRow(ctx, id)))
  const own = await Promise.all(rows.map(async (row) => row && heldForAuthor(ctx, row)))
  return own.some((comment) => comment != null)
}

/** Whether the asserted reader wrote it, or a reader who was merged into them. */
async function isViewers(ctx: Ctx, { authorId, authorExternalId }: CommentRow): Promise<boolean> {
  const { identity } = requireCaller(ctx)
  if (identity === null || authorId === null) return false
  return authorExternalId === identity.externalId || (await requireReader(ctx)).id === authorId
}

/**
 * A comment as the caller may read it now, and as a tombstone if they may not; null if there is
 * none. One statement serves all events of a replay that share a context, and all requests and
 * streams that ask at the same time.
 */
export async function readPresent(ctx: Ctx, id: Id): Promise<Comment | null> {
  const row = await loadRow(ctx, id)
  return row === undefined ? null : ((await commentFor(ctx, row)) ?? toPublicComment(row))
}

const loadRow = perRequest<Id, CommentRow | undefined>(async (ctx, ids) => {
  const rows = await readRows(ctx, '', ids)
  return ids.map((id) => rows.get(id))
})

const readRows = sharedReads<readonly Id[], ReadonlyMap<Id, CommentRow>>({
  most: 100,
  load: async (sql, tenantId, _group, keys) => {
    const rows = await selectComments(sql, tenantId, [...new Set(keys.flat())])
    const byId = new Map(rows.map((row) => [row.id, row]))
    return keys.map(() => byId)
  },
})

/**
 * The parent of a comment; null at the top level, and if the caller may not see it (`getComment`).
 * One statement serves all comments of a request.
 */
export const parentOf = async (ctx: Ctx, { parentId }: Comment): Promise<Comment | null> =>
  parentId === null ? null : findComment(ctx, parentId)

/**
 * A comment; null if it does not exist or the caller may not see it (`getComment`). One statement
 * serves all comments of a request.
 */
export const findComment = perRequest<Id, Comment | null>(async (ctx, ids) => {
  const { tenant } = requireCaller(ctx)
  const rows = await selectComments(ctx.app.db.query, tenant.id, [...new Set(ids)])
  const comments = new Map(await Promise.all(rows.map(async (row) => [row.id, await commentFor(ctx, row)] as const)))
  return ids.map((id) => comments.get(id) ?? null)
})
