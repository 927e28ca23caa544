import type { TimelineActorFieldsFragment } from '../../generated/console.ts'
import { isDecisionReason, wordsOfDecision } from './decision.ts'

/** Who wrote an entry of the timeline. A deleted key or admin has no name. */
export const actorName = (actor: TimelineActorFieldsFragment | null | undefined): string =>
  actor?.email ?? actor?.label ?? (actor?.kind === 'system' ? 'The service' : 'Somebody')

/** What a moderator gave as the reason and the message of a decision, or as the reason of a ban. */
export function givenIn(after: unknown): string {
  const ban = partOf(after, 'ban')
  const [reason, message] = [partOf(ban ?? after, 'reason'), partOf(after, 'message')]
  if (ban !== undefined) return typeof reason === 'string' ? reason : ''
  return wordsOfDecision({
    reason: isDecisionReason(reason) ? reason : null,
    message: typeof message === 'string' ? message : null,
  })
}

const partOf = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? (of as Record<string, unknown>)[name] : undefined
