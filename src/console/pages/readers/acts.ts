import type { TimelineActorFieldsFragment } from '../../../generated/console.ts'

/** Who wrote an entry of the timeline. A deleted key or admin has no name. */
export const actorName = (actor: TimelineActorFieldsFragment | null | undefined): string =>
  actor?.email ?? actor?.label ?? (actor?.kind === 'system' ? 'The service' : 'Somebody')

/** What a moderator gave as the reason and the message, of a decision or a ban. */
export function givenIn(after: unknown): string {
  const given = partOf(after, 'ban') ?? after
  const [reason, message] = [partOf(given, 'reason'), partOf(given, 'message')]
  return [reason === 'off_topic' ? 'off topic' : reason, message].filter((text) => typeof text === 'string').join(': ')
}

const partOf = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? (of as Record<string, unknown>)[name] : undefined
