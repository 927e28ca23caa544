import { z } from 'zod'

import type { EventActor } from '../../core/events.ts'
import { atMost, noNul } from '../../core/input/texts.ts'

export const DECISION_ACTIONS = ['approve', 'reject', 'delete'] as const

type DecisionAction = (typeof DECISION_ACTIONS)[number]

export const DECISION_REASONS = ['spam', 'abuse', 'off_topic', 'illegal', 'other'] as const

type DecisionReason = (typeof DECISION_REASONS)[number]

const MAX_MESSAGE_LENGTH = 500

/** What a moderator tells the author of a comment with a decision. */
export const explanationSchema = z.object({
  reason: z.enum(DECISION_REASONS).nullish(),
  message: noNul(atMost(MAX_MESSAGE_LENGTH, z.string().trim().min(1))).nullish(),
})

export type Explanation = z.output<typeof explanationSchema>

/** What is there of an explanation, for the audit log. */
export const givenIn = (explanation: Explanation): object =>
  Object.fromEntries(Object.entries(explanation).filter(([, given]) => given != null))

/** The last decision on the present text of a comment, as its author sees it. */
export interface Decision {
  action: DecisionAction
  reason: DecisionReason | null
  message: string | null
  /** By the tenant's classifier. */
  automated: boolean
  /** RFC 3339. */
  at: string
}

/** The decision of a moderator or the service. */
export const decisionBy = (
  { kind }: Pick<EventActor, 'kind'>,
  action: DecisionAction,
  { reason = null, message = null }: Explanation,
  now: Date,
): Decision => ({ action, reason, message, automated: kind === 'system', at: now.toISOString() })

/**
 * What is kept of a decision for the author. Nothing while they are banned in shadow: also after
 * the ban it would tell of a time when the comment was approved to them.
 */
export const keptFor = (decision: Decision, { authorBan }: { authorBan: 'open' | 'shadow' | null }): Decision | null =>
  authorBan === 'shadow' ? null : decision
