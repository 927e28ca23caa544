import { LRUCache } from 'lru-cache'

import { type App, perApp } from '../../core/app.ts'
import type { StoredEvent } from '../../core/events.ts'
import { growing } from '../../core/process/growing.ts'
import { type Id, newId } from '../../core/ids.ts'
import { type IfLocked, sharedWriter } from '../../core/queues/shared-writer.ts'
import type { Span } from '../../core/span.ts'
import { announce } from '../discussions/append-events.ts'
import { type ReactionResult, type ReactionRow, writeReactions } from './sql.ts'

/** A change of a reader's reaction, before its event has an id. */
export interface ReactionDraft extends Omit<ReactionRow, 'eventId' | 'trace'> {
  /** The request's span, if it is traced. */
  span?: Span | undefined
}

/** The discussions of comments to which this process has written reactions. They never change. */
const discussionsOf = perApp(() => new LRUCache<string, Id>(growing(10_000)))

const keyOf = ({ tenantId, commentId }: ReactionDraft): string => `${tenantId} ${commentId}`

const write = sharedWriter<ReactionDraft, ReactionResult>({
  name: 'reactions',
  write: writeAll,
  isBusy: ({ outcome }) => outcome === 'busy',
  tenantOf: ({ tenantId }) => tenantId,
  placeOf: (draft, app) => discussionsOf(app).get(keyOf(draft)) ?? draft.commentId,
  turnOf: (draft) => `${keyOf(draft)} ${draft.readerId}`,
  spanOf: ({ span }) => span,
})

/**
 * Writes a reaction, together with others that arrive at the same time; alone if the request is one
 * transaction (`Scope`).
 */
export const writeReaction = (app: App, draft: Omit<ReactionDraft, 'span'>): Promise<ReactionResult> =>
  write(app, { ...draft, span: app.span })

/**
 * Writes reactions in one statement and announces them. The results are in the order of `drafts`.
 */
async function writeAll(app: App, drafts: readonly ReactionDraft[], ifLocked: IfLocked): Promise<ReactionResult[]> {
  const now = new Date()
  const rows = drafts.map(({ span, ...draft }) => ({ ...draft, eventId: newId(), trace: span?.traceparent ?? null }))
  const results = await writeReactions(app.db.query, rows, now, ifLocked)
  const known = discussionsOf(app)
  const events = rows.flatMap((row, index): StoredEvent[] => {
    const { discussionId = null, seq = null, data = null } = results[index] ?? {}
    if (discussionId === null) return []
    known.set(keyOf(row), discussionId)
    if (seq === null || data === null) return []
    const { tenantId, eventId: id, actor } = row
    const common = { type: 'reaction_toggled', audience: 'public', recipientId: null } as const
    return [{ ...common, tenantId, discussionId, seq, id, occurredAt: now, actor, data }]
  })
  announce(app, { events, deliveries: results[0]?.deliveries ?? 0 })
  return results
}
