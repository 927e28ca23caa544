import { type Actor, hasCapability, isBrowser, readerOfBrowser } from '../core/caller.ts'
import type { News } from '../core/events.ts'
import type { Id } from '../core/ids.ts'
import type { Param } from '../core/database/statements.ts'

/**
 * Who looks on: a key or an admin with `moderate_content`, any other key, or a browser with a
 * ticket or a client token, which may name a reader. Moderators and keys see all events; only
 * moderators see in replays what was withdrawn since.
 */
export type StreamViewer = { kind: 'moderator' } | { kind: 'tenant' } | { kind: 'public'; readerId: Id | null }

/** What a caller may see: a browser what it sees by a ticket. */
export function viewerOf(actor: Actor): StreamViewer {
  if (isBrowser(actor)) return { kind: 'public', readerId: readerOfBrowser(actor) }
  return { kind: hasCapability(actor, 'moderate_content') ? 'moderator' : 'tenant' }
}

/** Whether an event is for this viewer (docs/reference/choices/streams.md). */
export function isVisible({ audience, recipientId }: Pick<News, 'audience' | 'recipientId'>, viewer: StreamViewer) {
  if (viewer.kind !== 'public') return audience !== 'own'
  const isRecipient = recipientId !== null && recipientId === viewer.readerId
  return audience === 'public' ? !isRecipient : audience !== 'tenant' && isRecipient
}

/**
 * SQL: the same of a row of `events`. Its two parameters, `$n` and the next, are those of
 * `visibleParams`.
 */
export const visibleFrom = (n: number): string =>
  `CASE $${n}::text WHEN 'all' THEN true WHEN 'tenant' THEN audience <> 'own'
     ELSE audience <> 'tenant' AND (audience = 'public') = ((recipient_id = $${n + 1}::uuid) IS NOT TRUE) END`

/** The events that the viewer (for null: everyone) sees, and the reader whose own it sees. */
export const visibleParams = (viewer: StreamViewer | null): [Param, Param] => {
  if (viewer === null) return ['all', null]
  return viewer.kind === 'public' ? ['public', viewer.readerId] : ['tenant', null]
}
