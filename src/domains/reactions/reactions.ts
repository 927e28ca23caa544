import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { ReaderGone } from '../readers/gone.ts'
import type { Reader } from '../readers/fields.ts'
import { asReader } from '../readers/readers.ts'
import { findComment } from '../comments/comments.ts'
import { isNewGuest } from '../comments/history/new-guest.ts'
import { reactionOfViewer } from '../comments/viewers-reaction.ts'
import { reactInShadow } from './shadow.ts'
import type { Reaction } from './reaction.ts'
import type { ReactionMode } from './sql.ts'
import { writeReaction } from './writer.ts'

interface React {
  commentId: Id
  type: string
}

/**
 * Adds a reaction, replaces one of another type, or removes one of the same type. Throws as `write`
 * below.
 */
export const toggleReaction = (ctx: Ctx, input: React): Promise<Reaction> => write(ctx, 'toggle', input)

/** Sets the reaction. Repeating it changes nothing. */
export const setReaction = (ctx: Ctx, input: React): Promise<Reaction> => write(ctx, 'set', input)

/** Removes the reaction. Repeating it changes nothing. */
export const removeReaction = (ctx: Ctx, input: { commentId: Id }): Promise<Reaction> => write(ctx, 'remove', input)

/**
 * Throws `validation_failed` for a type that the tenant does not have, unless it toggles such a
 * reaction of the reader off, `not_found`, `discussion_locked`, `discussion_archived`,
 * `reader_banned`, `guest_on_hold`.
 */
async function write(
  ctx: Ctx,
  mode: ReactionMode,
  { commentId, type }: Partial<React> & { commentId: Id },
): Promise<Reaction> {
  const { tenant } = requireCaller(ctx)
  const { reactionTypes } = tenant.settings
  const isOffered = type === undefined || reactionTypes.includes(type)
  // The tenant may have had the type when the reader chose it.
  if (!isOffered && (mode !== 'toggle' || !(await isHeld(ctx, commentId, type)))) {
    throw invalid('/type', 'not_allowed', `must be one of ${reactionTypes.join(', ')}`)
  }
  if (!isId(commentId)) throw noSuch('comment')
  // Another device may have chosen another type meanwhile, which stays.
  const asked = isOffered ? mode : 'remove'
  return asReader(ctx, async (reader) => {
    if (asked !== 'remove' && (await isNewGuest(ctx.app, tenant, reader))) throw new ServiceError('guest_on_hold')
    return writeAs(ctx, asked, { commentId, type: type ?? null }, reader)
  })
}

/** Whether the reader's reaction to a comment in view is of this type. */
async function isHeld(ctx: Ctx, commentId: string, type: string): Promise<boolean> {
  if (!isId(commentId) || requireCaller(ctx).identity === null) return false
  const comment = await findComment(ctx, commentId)
  return comment !== null && (await reactionOfViewer(ctx, comment)) === type
}

async function writeAs(
  ctx: Ctx,
  mode: ReactionMode,
  { commentId, type }: { commentId: Id; type: string | null },
  reader: Reader,
): Promise<Reaction> {
  const { outcome, ...held } = await writeReaction(ctx.app, {
    tenantId: requireCaller(ctx).tenant.id,
    commentId,
    readerId: reader.id,
    mode,
    type,
    actor: JSON.stringify({ kind: 'reader', readerId: reader.id, externalId: reader.externalId }),
    reader: JSON.stringify(reader),
  })
  switch (outcome) {
    case 'written':
      return { commentId, type: held.type, reactionCounts: held.reactionCounts ?? {} }
    case 'in_shadow':
      return reactInShadow(ctx, reader, { mode, discussionId: held.discussionId ?? '', commentId, type })
    case 'not_found':
      throw noSuch('comment')
    case 'unavailable':
      throw new ReaderGone()
    case 'busy':
      throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    default:
      throw new ServiceError(outcome)
  }
}
