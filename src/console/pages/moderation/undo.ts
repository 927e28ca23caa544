import type { CommentStatus, ModerationAction } from '../../../generated/console.ts'

export type Verb = Exclude<ModerationAction, 'delete'>

export const DONE: Readonly<Record<Verb, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  pin: 'Pinned',
  unpin: 'Unpinned',
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
