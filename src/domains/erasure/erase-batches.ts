import { setImmediate } from 'node:timers/promises'

import type { App } from '../../core/app.ts'
import { grouped } from '../../core/grouped.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { tellModerators } from '../comments/change.ts'
import { announce, appendEvents, type NewEvent } from '../discussions/append-events.ts'
import { lockDiscussionRow } from '../discussions/locks.ts'
import { selectDiscussion } from '../discussions/row.ts'
import type { ScrubbedEvent } from './scrub.ts'
import { type NamingEvent, rewriteEvents, selectNamingEvents, type Stretch } from './scrub-sql.ts'
import { hasTraces, type RowKind, selectRowsOf } from './sql.ts'

/** Work in this process on all rows of a reader: an erasure, or a merge into another reader. */
export interface ReaderWork {
  app: App
  tenantId: Id
  readerId: Id
  /** Ends the work between two transactions, by an error. */
  signal: AbortSignal | undefined
  /** How many rows are searched at once. */
  batch: number
  /** How many of these one transaction handles: others wait for their discussion meanwhile. */
  maxRows: number
  /** Called first in each transaction, before any lock. */
  begin: (sql: Sql) => Promise<void>
  /** The new texts of an event that names the reader or is to them; null if nothing changes. */
  rewrite: (event: NamingEvent) => ScrubbedEvent | null
  /** Called last in each transaction, with the ids of the rewritten events. */
  end: (sql: TxSql, eventIds: readonly Id[]) => Promise<void>
  /** Renews the heartbeat, so that no other process takes the work over. */
  touch: (now: Date) => Promise<void>
  /**
   * For each discussion, the event up to which the reader was removed. If it is lost in a crash,
   * those events are only searched again.
   */
  scrubbedUpTo: Map<Id, number>
  /** The time of the last heartbeat. */
  touchedAt: number
}

export const beginWork = (work: Omit<ReaderWork, 'scrubbedUpTo' | 'touchedAt'>): ReaderWork => ({
  ...work,
  scrubbedUpTo: new Map(),
  touchedAt: Date.now(),
})

/** Whether rows still refer to the reader. */
export const hasRows = hasTraces

/**
 * Much shorter than the time after which it counts as abandoned, so that slow transactions do no
 * harm.
 */
const TOUCH_MS = 10_000

/** How many events are searched at once. */
const STRETCH = 250

/**
 * Calls `handle` with batches of the reader's rows, to remove them from the reader, in transactions
 * of a few rows of one discussion, whose lock is held. The discussion's events lose the reader
 * before the rows that lead to them, or in the same transaction, so that after a crash at any
 * instant everything left can still be found. `handle` gets the comments, and returns events that
 * report the changes. Returns false if no row was left.
 */
export async function workThrough(
  work: ReaderWork,
  kind: RowKind,
  handle: (sql: TxSql, commentIds: readonly Id[]) => Promise<NewEvent[]>,
): Promise<boolean> {
  const places = await selectRowsOf(work.app.db.query, kind, work, work.batch)
  for (const [discussionId, ofDiscussion] of grouped(places, (place) => place.discussionId)) {
    await scrubPast(work, discussionId)
    const commentIds = ofDiscussion.map(({ commentId }) => commentId)
    for (let n = 0; n < commentIds.length; n += work.maxRows) {
      const few = commentIds.slice(n, n + work.maxRows)
      await workIn(work, discussionId, (sql) => handle(sql, few))
    }
  }
  return places.length > 0
}

async function workIn(work: ReaderWork, discussionId: Id, handle: (sql: TxSql) => Promise<NewEvent[]>): Promise<void> {
  const { app, tenantId, signal } = work
  signal?.throwIfAborted()
  const { seq, written } = await app.db.transaction(async (sql) => {
    await work.begin(sql)
    const upTo = (await lockDiscussionRow(sql, tenantId, discussionId, true))?.seq ?? 0
    const after = work.scrubbedUpTo.get(discussionId) ?? 0
    const rewritten = await scrubStretch(sql, work, { tenantId, discussionId, after, upTo })
    const events = await appendEvents(sql, await handle(sql))
    await work.end(sql, rewritten)
    return { seq: upTo, written: events }
  })
  work.scrubbedUpTo.set(discussionId, seq)
  announce(app, written)
  tellModerators(app, tenantId)
  await pause(work)
}

/** Between two transactions: renews the heartbeat, and lets others have a turn. */
export async function pause(work: ReaderWork): Promise<void> {
  await touch(work)
  // The embedded database answers within this turn of the event loop, so without this sockets and
  // timers would wait for all of the work.
  await setImmediate()
}

/** Rewrites most events of a long discussion in short transactions of their own. */
async function scrubPast(work: ReaderWork, discussionId: Id): Promise<void> {
  const { app, tenantId, readerId, signal, scrubbedUpTo } = work
  let after = scrubbedUpTo.get(discussionId) ?? 0
  // Writers continue, so the head moves; the rest for the locked transaction must stay short.
  const hasStretch = async (): Promise<boolean> =>
    after + STRETCH <= ((await selectDiscussion(app.db.query, tenantId, discussionId, true))?.seq ?? 0)
  while (await hasStretch()) {
    signal?.throwIfAborted()
    const stretch = { tenantId, discussionId, after, upTo: after + STRETCH }
    if ((await selectNamingEvents(app.db.query, readerId, stretch)).length > 0) {
      await app.db.transaction(async (sql) => {
        await work.begin(sql)
        // Two rewrites of one event must see each other's text.
        await lockDiscussionRow(sql, tenantId, discussionId, true)
        await work.end(sql, await scrubStretch(sql, work, stretch))
      })
    }
    after = stretch.upTo
    scrubbedUpTo.set(discussionId, after)
    await pause(work)
  }
}

/** Rewrites a stretch of events whose discussion is locked. Returns the ids of the changed ones. */
async function scrubStretch(sql: Sql, { readerId, rewrite }: ReaderWork, stretch: Stretch): Promise<Id[]> {
  if (stretch.after >= stretch.upTo) return []
  const naming = await selectNamingEvents(sql, readerId, stretch)
  const scrubbed = naming.flatMap((event) => {
    const after = rewrite(event)
    return after === null ? [] : [{ ...after, seq: event.seq }]
  })
  return scrubbed.length === 0 ? [] : rewriteEvents(sql, stretch, scrubbed)
}

async function touch(work: ReaderWork): Promise<void> {
  const now = Date.now()
  if (now - work.touchedAt < TOUCH_MS) return
  work.touchedAt = now
  await work.touch(new Date(now))
}
