import { z } from 'zod'

import { type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
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
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { reactionType } from '../../core/tenant-settings.ts'
import { validate } from '../../core/validate.ts'
import type { Comment } from '../comments/comments.ts'
import { type Reader, requireReader } from '../readers/readers.ts'
import { listHeld, selectViewerReactions } from './read-sql.ts'

/** What one reader holds on a comment. */
export interface HeldReaction {
  type: string
  reader: Reader
  createdAt: string
}

/**
 * What the asserted reader holds on a comment; null without an identity. One statement serves all
 * of a request.
 */
export const viewerReaction = async (ctx: Ctx, commentId: Id): Promise<string | null> =>
  requireCaller(ctx).identity === null ? null : loadViewer(ctx, '', commentId)

const loadViewer = perRequest<Id, string | null>(async (ctx, _group, commentIds) => {
  const held = await viewerReactions(ctx, commentIds)
  return commentIds.map((id) => held.get(id) ?? null)
})

/**
 * What the asserted reader holds on some comments, by the comment's id. Throws `identity_required`.
 */
export async function viewerReactions(ctx: Ctx, commentIds: readonly Id[]): Promise<Map<Id, string>> {
  const reader = await requireReader(ctx)
  const rows = await selectViewerReactions(ctx.app.db.query, requireCaller(ctx).tenant.id, reader.id, commentIds)
  return new Map(rows.map(({ commentId, type }) => [commentId, type]))
}

interface ListReactions extends PageArgs {
  type?: string | null | undefined
}

/**
 * Who reacted to a comment, newest first; of one type where it is given, also one that the tenant
 * no longer has. One statement serves all comments of a request that ask for the same. Of a comment
 * that is not in view, moderators alone learn it: its author, who gets it as the answer to a write,
 * finds nobody, nor does who has it from an event of when it was in view.
 */
export async function listReactions(ctx: Ctx, comment: Comment, args: ListReactions): Promise<Page<HeldReaction>> {
  const size = pageSize(args)
  const { type } = validate(z.object({ type: reactionType.nullable() }), { type: args.type ?? null })
  const key = decodeCursor('reactions', 2, args.after)
  const before = key === null ? null : { createdAt: instantOf(key[0]), readerId: idOf(key[1]) }
  const moderates = hasCapability(requireCaller(ctx).actor, 'moderate_content')
  const held = await loadHeld(ctx, JSON.stringify({ type, before, limit: size + 1, moderates }), comment.id)
  return pageOf(held, size, args, ({ createdAt, reader }) => encodeCursor('reactions', createdAt, reader.id))
}

const loadHeld = perRequest<Id, HeldReaction[]>(async (ctx, group, commentIds) => {
  const at = JSON.parse(group) as Parameters<typeof listHeld>[3]
  const rows = await listHeld(ctx.app.db.query, requireCaller(ctx).tenant.id, [...new Set(commentIds)], at)
  const byComment = new Map<Id, HeldReaction[]>(commentIds.map((id) => [id, []]))
  for (const { commentId, type, readerId, externalId, name, avatarUrl, profileUrl, createdAt } of rows) {
    const reader = { id: readerId, externalId, name, avatarUrl, profileUrl }
    byComment.get(commentId)?.push({ type, reader, createdAt: createdAt.toISOString() })
  }
  return commentIds.map((id) => byComment.get(id) ?? [])
})
