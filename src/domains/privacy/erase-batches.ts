import { setImmediate } from 'node:timers/promises'

import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import type { TenantSettings } from '../../core/tenant-settings.ts'
import { tellModerators } from '../comments/change.ts'
import { announce, appendEvents, type NewEvent } from '../discussions/append-events.ts'
import { lockDiscussion } from '../discussions/locks.ts'
import { selectDiscussion } from '../discussions/row.ts'
import { type CommentLocation, touchErasure } from './sql.ts'
import { scrubEvent } from './scrub.ts'
import { recallDeliveries, rewriteEvents, selectNamingEvents, type Stretch } from './scrub-sql.ts'

/** An erasure under way in this process. */
export interface Erasure {
  app: App
  tenantId: Id
  readerId: Id
  mode: TenantSettings['erasureMode']
  /** Ends it between two transactions, by an error. */
  signal: AbortSignal | undefined
  /**
   * By discussion, up to which event the reader has been taken out. What is lost by a crash is only
   * found again.
   */
  scrubbedUpTo: Map<Id, number>
  /** When other processes were last told that somebody is at it. */
  touchedAt: number
}

export const beginWork = (erasure: Omit<Erasure, 'scrubbedUpTo' | 'touchedAt'>): Erasure => ({
  ...erasure,
  scrubbedUpTo: new Map(),
  touchedAt: Date.now(),
})

/** So much more often than others take it for abandoned that a slow transaction does not matter. */
const TOUCH_MS = 10_000

/** Rows that are looked for at once. */
export const BATCH = 100
/**
 * Of these, how many go in one transaction: others wait for their discussion as long as it takes.
 */
const MAX_ROWS = 20
/** Events that are looked through at once. */
const STRETCH = 250

/**
 * Takes rows of the reader away, in transactions of a few rows of one discussion, whose lock is
 * held. The events of a discussion lose the reader before, or with, the rows that lead to it: a
 * crash at any instant leaves a way to all that is left. `work` does it to these comments and gives
 * the events that tell of it.
 */
export async function eraseAt(
  erasure: Erasure,
  places: readonly CommentLocation[],
  work: (sql: Sql, commentIds: readonly Id[]) => Promise<NewEvent[]>,
): Promise<void> {
  const byDiscussion = new Map<Id, Id[]>()
  for (const { discussionId, commentId } of places) {
    byDiscussion.set(discussionId, [...(byDiscussion.get(discussionId) ?? []), commentId])
  }
  for (const [discussionId, commentIds] of byDiscussion) {
    await scrubPast(erasure, discussionId)
    for (let n = 0; n < commentIds.length; n += MAX_ROWS) {
      const few = commentIds.slice(n, n + MAX_ROWS)
      await eraseIn(erasure, discussionId, (sql) => work(sql, few))
    }
  }
}

async function eraseIn(erasure: Erasure, discussionId: Id, work: (sql: Sql) => Promise<NewEvent[]>): Promise<void> {
  const { app, tenantId, signal } = erasure
  signal?.throwIfAborted()
  const { seq, written } = await app.db.transaction(async (sql) => {
    const upTo = (await lockDiscussion(sql, tenantId, discussionId))?.seq ?? 0
    const after = erasure.scrubbedUpTo.get(discussionId) ?? 0
    const rewritten = await scrubStretch(sql, erasure, { tenantId, discussionId, after, upTo })
    const events = await appendEvents(sql, await work(sql))
    // Last: endpoints, which new deliveries refer to, are locked before deliveries.
    await recallDeliveries(sql, tenantId, rewritten)
    return { seq: upTo, written: events }
  })
  erasure.scrubbedUpTo.set(discussionId, seq)
  announce(app, written)
  tellModerators(app, tenantId)
  await touch(erasure)
  // The embedded database answers without leaving this turn: sockets and timers would wait for the
  // whole erasure.
  await setImmediate()
}

/** Most of a long discussion's events lose the reader in transactions of their own, short ones. */
async function scrubPast(erasure: Erasure, discussionId: Id): Promise<void> {
  const { app, tenantId, readerId, signal, scrubbedUpTo } = erasure
  let after = scrubbedUpTo.get(discussionId) ?? 0
  // Others go on writing: the head moves, and what is left for the locked transaction must stay
  // short.
  const hasStretch = async (): Promise<boolean> =>
    after + STRETCH <= ((await selectDiscussion(app.db.query, tenantId, discussionId))?.seq ?? 0)
  while (await hasStretch()) {
    signal?.throwIfAborted()
    const stretch = { tenantId, discussionId, after, upTo: after + STRETCH }
    if ((await selectNamingEvents(app.db.query, readerId, stretch)).length > 0) {
      await app.db.transaction(async (sql) => {
        // Two erasures that rewrite one event must see each other's text.
        await lockDiscussion(sql, tenantId, discussionId)
        await recallDeliveries(sql, tenantId, await scrubStretch(sql, erasure, stretch))
      })
    }
    after = stretch.upTo
    scrubbedUpTo.set(discussionId, after)
    await touch(erasure)
    await setImmediate()
  }
}

/**
 * Takes the reader out of a stretch of events, whose discussion is locked. Gives the ids of those
 * that have changed.
 */
async function scrubStretch(sql: Sql, { readerId }: Erasure, stretch: Stretch): Promise<Id[]> {
  if (stretch.after >= stretch.upTo) return []
  const naming = await selectNamingEvents(sql, readerId, stretch)
  const scrubbed = naming.flatMap(({ seq, isOnTheirComment, ...texts }) => {
    const after = scrubEvent(texts, { readerId, isOnTheirComment })
    return after === null ? [] : [{ ...after, seq }]
  })
  return scrubbed.length === 0 ? [] : rewriteEvents(sql, stretch, scrubbed)
}

async function touch(erasure: Erasure): Promise<void> {
  const now = Date.now()
  if (now - erasure.touchedAt < TOUCH_MS) return
  erasure.touchedAt = now
  await touchErasure(erasure.app.db.query, erasure.tenantId, erasure.readerId, new Date(now))
}
