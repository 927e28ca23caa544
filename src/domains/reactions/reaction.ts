import type { Id } from '../../core/ids.ts'

/** The asserted reader's reaction on a comment after a write. */
export interface Reaction {
  commentId: Id
  type: string | null
  reactionCounts: Record<string, number>
}
