import type { DecisionReason } from '../../generated/console.ts'

/** What the author of a comment is told of a decision on it. */
export interface Decision {
  reason?: DecisionReason | null
  message?: string | null
}

export const DECISION_REASONS: Readonly<Record<DecisionReason, string>> = {
  spam: 'Spam',
  abuse: 'Abuse',
  off_topic: 'Off topic',
  illegal: 'Against the law',
  other: 'Other',
}

export const isDecisionReason = (text: unknown): text is DecisionReason =>
  typeof text === 'string' && Object.hasOwn(DECISION_REASONS, text)

/** The reason and the message in one line; empty where neither was given. */
export const wordsOfDecision = (decision: Decision | null | undefined): string =>
  [decision?.reason && DECISION_REASONS[decision.reason], decision?.message].filter(Boolean).join(': ')
