import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Comment } from '../comments/comment.ts'
import { reactionOfViewer } from '../comments/viewers-reaction.ts'

/** The reactions of one type to a comment. */
export interface ReactionGroup {
  type: string
  count: number
  /** The type of the viewer's reaction to the comment: one look-up for all of its groups. */
  viewerReaction: () => Promise<string | null> | string | null
}

/**
 * The reactions to a comment by type: all types that the tenant offers, in its order, then those
 * that it no longer offers and the comment still has.
 */
export function reactionGroupsOf(ctx: Ctx, comment: Comment): ReactionGroup[] {
  const { reactionCounts } = comment
  const { reactionTypes } = requireCaller(ctx).tenant.settings
  let held: ReturnType<ReactionGroup['viewerReaction']> | undefined
  const viewerReaction = () => (held === undefined ? (held = reactionOfViewer(ctx, comment)) : held)
  return [...new Set([...reactionTypes, ...Object.keys(reactionCounts).sort()])].map((type) => ({
    type,
    count: Object.hasOwn(reactionCounts, type) ? (reactionCounts[type] ?? 0) : 0,
    viewerReaction,
  }))
}
