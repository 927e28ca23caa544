import { setImmediate } from 'node:timers/promises'

import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { tellModerators } from '../comments/change.ts'
import { announce, appendEvents, type NewEvent } from '../discussions/append-events.ts'
import { lockDiscussionRow } from '../discussions/locks.ts'
import { selectDiscussion } from '../discussions/row.ts'
import type { EventTexts, ScrubbedEvent } from './scrub.ts'
import { rewriteEvents, selectNamingEvents, type Stretch } from './scrub-sql.ts'
import { type CommentLocation, hasTraces, type RowKind, selectRowsOf } from './sql.ts'

/**
 * Work under way in this process on all that hangs on a reader: an erasure, or a merge into another
 * reader.
 */
export interface ReaderWork {
  app: App
  tenantId: Id
  readerId: Id
  /** Ends it between two transactions, by an error. */
  signal: AbortSignal | undefined
  /** Rows that are looked for at once. */
  batch: number
  /** Of these, how many go in one transaction: others wait for their discussion. */
  maxRows: number
  /** First in each transaction, before anything is locked. */
  begin: (sql: Sql) => Promise<void>
  /** What an event that names the reader says from now on; null where that is the same. */
  rewrite: (event: EventTexts, isOnTheirComment: boolean) => ScrubbedEvent | null
  /** Last in each transaction: what goes with events that were rewritten, by their ids. */
  end: (sql: Sql, eventIds: readonly Id[]) => Promise<void>
  /** Tells other processes that somebody is at it. */
  touch: (now: Date) => Promise<void>
  /**
   * By discussion, up to which event the reader has been taken out. What is lost by a crash is only
   * found again.
   */
  scrubbedUpTo: Map<Id, number>
  /** When other processes were last told that somebody is at it. */
  touchedAt: number
}

export const beginWork = (work: Omit<ReaderWork, 'scrubbedUpTo' | 'touchedAt'>): ReaderWork => ({
  ...work,
  scrubbedUpTo: new Map(),
  touchedAt: Date.now(),
})

/** Whether rows still point at the reader. */
export const hasRows = hasTraces

/** So much more often than others take it for abandoned that a slow transaction does not matter. */
const TOUCH_MS = 10_000

/** Events that are looked through at once. */
const STRETCH = 250

/**
 * Does `handle` to a batch of the reader's rows, which it takes from the reader, in transactions of
 * a few rows of one discussion, whose lock is held. The events of a discussion lose the reader
 * before, or with, the rows that lead to it: a crash at any instant leaves a way to all that is
 * left. `handle` gets the comments and gives the events that tell of it. False where no row was
 * left.
 */
export async function workThrough(
  work: ReaderWork,
  kind: RowKind,
  handle: (sql: Sql, commentIds: readonly Id[]) => Promise<NewEvent[]>,
): Promise<boolean> {
  const places = await selectRowsOf(work.app.db.query, kind, work, work.batch)
  for (const [discussionId, commentIds] of byDiscussion(places)) {
    await scrubPast(work, discussionId)
    for (let n = 0; n < commentIds.length; n += work.maxRows) {
      const few = commentIds.slice(n, n + work.maxRows)
      await workIn(work, discussionId, (sql) => handle(sql, few))
    }
  }
  return places.length > 0
}

function byDiscussion(places: readonly CommentLocation[]): Map<Id, Id[]> {
  const found = new Map<Id, Id[]>()
  for (const { discussionId, commentId } of places) {
    const ids = found.get(discussionId)
    if (ids === undefined) found.set(discussionId, [commentId])
    else ids.push(commentId)
  }
  return found
}

async function workIn(work: ReaderWork, discussionId: Id, handle: (sql: Sql) => Promise<NewEvent[]>): Promise<void> {
  const { app, tenantId, signal } = work
  signal?.throwIfAborted()
  const { seq, written } = await app.db.transaction(async (sql) => {
    await work.begin(sql)
    const upTo = (await lockDiscussionRow(sql, tenantId, discussionId))?.seq ?? 0
    const after = work.scrubbedUpTo.get(discussionId) ?? 0
    const rewritten = await scrubStretch(sql, work, { tenantId, discussionId, after, upTo })
    const events = await appendEvents(sql, await handle(sql))
    await work.end(sql, rewritten)
    return { seq: upTo, written: events }
  })
  work.scrubbedUpTo.set(discussionId, seq)
  announce(app, written)
  tellModerators(app, tenantId)
  await touch(work)
  // The embedded database answers without leaving this turn: sockets and timers would wait for the
  // whole work.
  await setImmediate()
}

/** Most of a long discussion's events lose the reader in transactions of their own, short ones. */
async function scrubPast(work: ReaderWork, discussionId: Id): Promise<void> {
  const { app, tenantId, readerId, signal, scrubbedUpTo } = work
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
        await work.begin(sql)
        // Two that rewrite one event must see each other's text.
        await lockDiscussionRow(sql, tenantId, discussionId)
        await work.end(sql, await scrubStretch(sql, work, stretch))
      })
    }
    after = stretch.upTo
    scrubbedUpTo.set(discussionId, after)
    await touch(work)
    await setImmediate()
  }
}

/**
 * Takes the reader out of a stretch of events, whose discussion is locked. Gives the ids of those
 * that have changed.
 */
async function scrubStretch(sql: Sql, { readerId, rewrite }: ReaderWork, stretch: Stretch): Promise<Id[]> {
  if (stretch.after >= stretch.upTo) return []
  const naming = await selectNamingEvents(sql, readerId, stretch)
  const scrubbed = naming.flatMap(({ seq, isOnTheirComment, ...texts }) => {
    const after = rewrite(texts, isOnTheirComment)
    return after === null ? [] : [{ ...after, seq }]
  })
  return scrubbed.length === 0 ? [] : rewriteEvents(sql, stretch, scrubbed)
}

async function touch(work: ReaderWork): Promise<void> {
  const now = Date.now()
  if (now - work.touchedAt < TOUCH_MS) return
  work.touchedAt = now
  await work.touch(new Date(now))
}
