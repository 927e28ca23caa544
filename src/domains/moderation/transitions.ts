import { ServiceError } from '../../core/errors.ts'
import type { CommentStatus, DiscussionState } from '../../generated/prisma/enums.ts'

/** A moderator's action on a discussion. */
export type DiscussionVerb = 'lock' | 'unlock' | 'archive'

const DISCUSSION_STATES = { lock: 'locked', unlock: 'open', archive: 'archived' } as const

/**
 * The state after a verb; null if the discussion is in it already. Throws `invalid_transition`
 * (open → locked → open; open or locked → archived, which is final).
 */
export function nextDiscussionState(verb: DiscussionVerb, state: DiscussionState): DiscussionState | null {
  const next = DISCUSSION_STATES[verb]
  if (next === state) return null
  if (state === 'archived')
    throw new ServiceError('invalid_transition', { detail: 'An archived discussion cannot be changed.' })
  return next
}

interface Judged {
  status: CommentStatus
  isPinned: boolean
  /** Whether it has reports or a rule's objection that no moderator has answered. */
  awaitsAnswer: boolean
}

interface Judgement {
  status: 'approved' | 'rejected'
  isPinned: boolean
  answersReports: boolean
}

export const COMMENT_VERBS = ['approve', 'reject', 'pin', 'unpin'] as const

export type CommentVerb = (typeof COMMENT_VERBS)[number]

/**
 * The comment after a verb; null if nothing changes. Throws `invalid_transition` (pending →
 * approved | rejected; approved ↔ rejected; only approved comments are pinned). An approved comment
 * that was reported or flagged may be approved again, which answers the reports.
 */
export function nextComment(verb: CommentVerb, { status, isPinned, awaitsAnswer }: Judged): Judgement | null {
  const refusal = new ServiceError('invalid_transition', { detail: `The comment is ${status}.` })
  if (verb === 'pin' || verb === 'unpin') {
    if (status !== 'approved') throw refusal
    return (verb === 'pin') === isPinned ? null : { status, isPinned: !isPinned, answersReports: false }
  }
  if (verb === 'approve' && status === 'approved' && awaitsAnswer) return { status, isPinned, answersReports: true }
  const wanted = verb === 'approve' ? 'approved' : 'rejected'
  if (status === 'deleted' || status === wanted) throw refusal
  return { status: wanted, isPinned: false, answersReports: true }
}
