import type { Ctx } from '../../core/context.ts'
import { isMutedByViewer } from '../readers/mutes/mutes.ts'
import type { Comment } from './comment.ts'

/** True if the asserted reader has muted the author of a comment; null otherwise. */
export const isAuthorMuted = (ctx: Ctx, { author, authorMuted }: Comment): Promise<true | null> | true | null =>
  authorMuted === undefined && author !== null ? isMutedByViewer(ctx, author.id) : (authorMuted ?? null)
