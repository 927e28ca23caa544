import type { CommentStatus, ModerationAction } from '../../../generated/console.ts'

export type Verb = ModerationAction

export const DONE: Readonly<Record<Verb, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  pin: 'Pinned',
  unpin: 'Unpinned',
  review: 'Reviewed',
  delete: 'Deleted',
}

/** The state of a comment after an action. Only an approved one is pinned or reviewed. */
export const DONE_STATES: Readonly<Record<Verb, CommentStatus>> = {
  approve: 'approved',
  reject: 'rejected',
  pin: 'approved',
  unpin: 'approved',
  review: 'approved',
  delete: 'deleted',
}

/** A comment before an action. */
export interface Before {
  id: string
  /** The revision of the text in view. */
  revision: number
  status: CommentStatus
  isPinned: boolean
}

/** An action on comments, as far as the service applied it. */
export interface Step {
  verb: Verb
  comments: readonly Before[]
}

/**
 * The actions that undo a step, in order; for some comments it may be nothing, and `because` says
 * why.
 */
export interface Inverse {
  steps: readonly Step[]
  because: string | null
}

/**
 * A judgement can be reversed (approved ↔ rejected), but not to pending; answered reports stay
 * answered. A rejection removes the pin, which is then set again.
 */
export function inverseOf({ verb, comments }: Step): Inverse {
  if (verb === 'pin' || verb === 'unpin') {
    const steps: Step[] = comments.length === 0 ? [] : [{ verb: verb === 'pin' ? 'unpin' : 'pin', comments }]
    return { steps, because: null }
  }
  if (verb === 'delete') return { steps: [], because: 'What was deleted is gone for good.' }
  if (verb === 'review') return { steps: [], because: 'What was reviewed stays reviewed.' }
  const back = comments.filter(({ status }) => status === (verb === 'approve' ? 'rejected' : 'approved'))
  const steps: Step[] = [
    { verb: verb === 'approve' ? 'reject' : 'approve', comments: back },
    { verb: 'pin', comments: verb === 'reject' ? back.filter(({ isPinned }) => isPinned) : [] },
  ]
  const wasPending = comments.some(({ status }) => status === 'pending')
  return {
    steps: steps.filter((step) => step.comments.length > 0),
    because: back.length === comments.length ? null : becauseOf(verb, wasPending),
  }
}

function becauseOf(verb: 'approve' | 'reject', wasPending: boolean): string {
  if (!wasPending) return 'Its reports stay answered.'
  return verb === 'approve'
    ? 'An approved comment cannot wait again. Its button “Reject instead” rejects it.'
    : 'A rejected comment cannot wait again. Its button “Approve instead” approves it.'
}
