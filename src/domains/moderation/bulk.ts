import { z } from 'zod'

import { type Ctx, requireCaller } from '../../core/context.ts'
import { type ErrorCode, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { validate } from '../../core/validate.ts'
import { removeComment } from '../comments/changes.ts'
import type { Comment } from '../comments/comments.ts'
import { approveComment, pinComment, rejectComment, unpinComment } from './comments.ts'
import { lockDiscussionsOf } from './sql.ts'

type Act = (ctx: Ctx, target: { commentId: Id }) => Promise<Comment>

const ACTIONS = {
  approve: approveComment,
  reject: rejectComment,
  pin: pinComment,
  unpin: unpinComment,
  delete: (ctx, { commentId }) => removeComment(ctx, commentId, null),
} as const satisfies Record<string, Act>

export type BulkAction = keyof typeof ACTIONS

export const BULK_ACTIONS = Object.keys(ACTIONS) as BulkAction[]

/** What became of one comment. */
export interface BulkOutcome {
  id: Id
  ok: boolean
  /** The state in which the comment is now; null where it was refused. */
  status: Comment['status'] | null
  /** Why it was refused, and that in words. */
  code: ErrorCode | null
  detail: string | null
}

export const bulkInput = z.object({ ids: z.array(z.string()).min(1).max(100) })

/**
 * Does the same to up to 100 comments, each in a transaction of its own, in the order given; one outcome for each. Within
 * a transaction of the whole request, a failure of one that is no refusal fails all.
 */
export async function moderateComments(
  ctx: Ctx,
  { ids, action }: { ids: readonly Id[]; action: BulkAction },
): Promise<BulkOutcome[]> {
  validate(bulkInput, { ids })
  const { db, scope } = ctx.app
  // Locks are kept to the end then: in the order of the ids given, two requests could wait for each other.
  if (scope !== undefined) await lockDiscussionsOf(db.query, requireCaller(ctx).tenant.id, ids.filter(isId))
  const outcomes: BulkOutcome[] = []
  for (const id of ids) outcomes.push(await actOn(ctx, id, ACTIONS[action]))
  return outcomes
}

async function actOn(ctx: Ctx, id: Id, act: Act): Promise<BulkOutcome> {
  try {
    const { status } = await act(ctx, { commentId: id })
    return { id, ok: true, status, code: null, detail: null }
  } catch (error) {
    const refusal = error instanceof ServiceError ? error : new ServiceError('internal', { cause: error })
    if (refusal.status >= 500 && ctx.app.scope !== undefined) throw error
    // What has been done to those before stands, so that the answer has to tell of it.
    if (refusal.code === 'internal') ctx.app.log.error({ err: error, commentId: id }, 'a bulk action failed')
    return { id, ok: false, status: null, code: refusal.code, detail: refusal.message }
  }
}
