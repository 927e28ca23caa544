import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { ErrorCode } from '../../core/error-table.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { troubleOf } from '../../core/outage.ts'
import { validate } from '../../core/input/validate.ts'
import { removeComment } from '../comments/history/edit.ts'
import type { Comment } from '../comments/comment.ts'
import { type Explanation, explanationSchema } from '../comments/decision.ts'
import { approveComment, pinComment, rejectComment, reviewComment, revisionSchema, unpinComment } from './comments.ts'
import { lockDiscussionsOf } from '../discussions/locks.ts'

type Act = (ctx: Ctx, target: Explanation & { commentId: Id; revision: number | null }) => Promise<Comment>

const ACTIONS = {
  approve: approveComment,
  reject: (ctx, { revision: _revision, ...target }) => rejectComment(ctx, target),
  pin: pinComment,
  unpin: unpinComment,
  review: (ctx, { commentId, revision }) => reviewComment(ctx, { commentId, revision }),
  delete: (ctx, { commentId, reason, message }) =>
    removeComment(ctx, commentId, { reader: null, mayModerate: true }, { reason, message }),
} as const satisfies Record<string, Act>

export type BulkAction = keyof typeof ACTIONS

const BULK_ACTIONS = Object.keys(ACTIONS) as BulkAction[]

/** The outcome for one comment. */
export interface BulkOutcome {
  id: Id
  ok: boolean
  /** The comment's state afterwards; null if it was refused. */
  status: Comment['status'] | null
  /** The code of the refusal, and a sentence about it. */
  code: ErrorCode | null
  detail: string | null
}

export const bulkInput = explanationSchema.extend({
  ids: z.array(z.string()).min(1).max(100),
  revisions: z.array(revisionSchema).max(100).nullish(),
})

const wholeInput = bulkInput.extend({ action: z.enum(BULK_ACTIONS) }).superRefine((input, { addIssue }) => {
  const { ids, revisions, action } = input
  const refuse = (name: 'revisions' | 'reason' | 'message', message: string): void =>
    addIssue({ code: 'custom', path: [name], message, input: input[name] })
  if (action === 'pin' || action === 'unpin' || action === 'review') {
    for (const name of ['reason', 'message'] as const) {
      if (input[name] != null) refuse(name, 'is allowed only with the actions approve, reject and delete')
    }
  }
  if (revisions == null) return
  if (action !== 'approve' && action !== 'review') {
    refuse('revisions', 'are allowed only with the actions approve and review')
  }
  if (revisions.length !== ids.length) refuse('revisions', 'must have one entry for each id')
})

interface Bulk extends Explanation {
  ids: readonly Id[]
  action: BulkAction
  revisions?: readonly number[] | null | undefined
}

/**
 * How long a request that is one transaction goes on to further comments: it may hold its locks for
 * less than a second.
 */
const ONE_TRANSACTION_MS = 500

const NO_TIME = 'There was no time left for this comment: send it again under another Idempotency-Key.'

/**
 * Applies an action to up to 100 comments, each in its own transaction, in the given order, and
 * returns an outcome for each. If the whole request is one transaction, an error that is not a
 * refusal fails all, and comments that it has no time for are `unavailable`. `revisions`, in the
 * order of `ids`: the judged texts, as for `approveComment`. Throws `validation_failed`.
 */
export async function moderateComments(ctx: Ctx, input: Bulk): Promise<BulkOutcome[]> {
  const { ids, action, revisions, reason, message } = validate(wholeInput, input)
  const { db, scope } = ctx.app
  // In one transaction locks are held until its end: taken in the order of the given ids, those of
  // two requests could deadlock.
  if (scope !== undefined) await lockDiscussionsOf(db.query, requireCaller(ctx).tenant.id, ids.filter(isId))
  const began = performance.now()
  const outcomes: BulkOutcome[] = []
  for (const [n, id] of ids.entries()) {
    if (scope !== undefined && performance.now() - began > ONE_TRANSACTION_MS) {
      outcomes.push({ id, ok: false, status: null, code: 'unavailable', detail: NO_TIME })
      continue
    }
    outcomes.push(
      await actOn(ctx, { commentId: id, revision: revisions?.[n] ?? null, reason, message }, ACTIONS[action]),
    )
  }
  return outcomes
}

/**
 * The refusal for an error. A failure of the database is temporary: the action may succeed later.
 */
function refusalOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (troubleOf(error) === null) return new ServiceError('internal', { cause: error })
  return new ServiceError('unavailable', { retryAfterSeconds: 1, cause: error })
}

async function actOn(ctx: Ctx, target: Parameters<Act>[1], act: Act): Promise<BulkOutcome> {
  const { commentId: id } = target
  try {
    const { status } = await act(ctx, target)
    return { id, ok: true, status, code: null, detail: null }
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal.status >= 500 && ctx.app.scope !== undefined) throw error
    // The earlier comments have been changed, so the answer must report their outcomes.
    if (refusal.code === 'internal') ctx.app.log.error({ err: error, commentId: id }, 'a bulk action failed')
    return { id, ok: false, status: null, code: refusal.code, detail: refusal.message }
  }
}
