import { type Actor, hasCapability } from '../core/context.ts'
import type { News } from '../core/events.ts'
import type { Id } from '../core/ids.ts'
import type { Param } from '../core/sql.ts'

/**
 * Who looks on: a key or an admin with `moderate_content`, any other key, or a browser with a
 * ticket, which may name a reader. Moderators and keys see all events; only moderators see in
 * replays what was withdrawn since.
 */
export type StreamViewer = { kind: 'moderator' } | { kind: 'tenant' } | { kind: 'public'; readerId: Id | null }

/** What a caller with a key or an admin token may see. */
export const viewerOf = (actor: Actor): StreamViewer => ({
  kind: hasCapability(actor, 'moderate_content') ? 'moderator' : 'tenant',
})

/** Whether an event is for this viewer (docs/reference/choices.md). */
export function isVisible(event: Pick<News, 'audience' | 'recipientId'>, viewer: StreamViewer): boolean {
  if (event.audience === 'public' || viewer.kind !== 'public') return true
  return event.audience === 'recipient' && viewer.readerId !== null && event.recipientId === viewer.readerId
}

/**
 * SQL: the same of a row of `events`. Its two parameters, `$n` and the next, are those of
 * `visibleParams`.
 */
export const visibleFrom = (n: number): string =>
  `($${n}::boolean OR audience = 'public' OR (audience = 'recipient' AND recipient_id = $${n + 1}::uuid))`

/** Whether the viewer (for null: anybody) sees all events, and the reader whose own it sees. */
export const visibleParams = (viewer: StreamViewer | null): [Param, Param] =>
  viewer?.kind === 'public' ? [false, viewer.readerId] : [true, null]
