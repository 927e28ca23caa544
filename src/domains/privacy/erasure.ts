import { setImmediate } from 'node:timers/promises'

import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import type { TenantSettings } from '../../core/tenant-settings.ts'
import { tellModerators } from '../comments/queued.ts'
import { announce, appendEvents, type NewEvent } from '../discussions/events.ts'
import { selectDiscussion } from '../discussions/sql.ts'
import { lockDiscussions, type Place, touchErasure } from './sql.ts'
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
  /** By discussion, up to which event the reader has been taken out. What is lost by a crash is only found again. */
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

/** How many rows go in one transaction: others wait no longer than that for their discussions. */
export const BATCH = 100
/** Events that are looked through at once. */
const STRETCH = 1000

/**
 * Takes rows of the reader away in one transaction: their discussions are locked, in the order of their ids. The events
 * of a discussion lose the reader before, or with, the rows that lead to it: a crash at any instant leaves a way to all
 * that is left. `work` gives the events that tell of it.
 */
export async function eraseAt(
  erasure: Erasure,
  places: readonly Place[],
  work: (sql: Sql) => Promise<NewEvent[]>,
): Promise<void> {
  const { app, tenantId, signal } = erasure
  signal?.throwIfAborted()
  const discussionIds = [...new Set(places.map(({ discussionId }) => discussionId))].toSorted()
  for (const discussionId of discussionIds) await scrubPast(erasure, discussionId)
  const { locked, written } = await untilNoDeadlock(() =>
    app.db.transaction(async (sql) => {
      const heads = await lockDiscussions(sql, tenantId, discussionIds)
      const rewritten: Id[] = []
      for (const { discussionId, seq } of heads) {
        const after = erasure.scrubbedUpTo.get(discussionId) ?? 0
        rewritten.push(...(await scrubStretch(sql, erasure, { tenantId, discussionId, after, upTo: seq })))
      }
      const events = await appendEvents(sql, await work(sql))
      // Last: endpoints, which new deliveries refer to, are locked before deliveries.
      await recallDeliveries(sql, tenantId, rewritten)
      return { locked: heads, written: events }
    }),
  )
  for (const { discussionId, seq } of locked) erasure.scrubbedUpTo.set(discussionId, seq)
  announce(app, written)
  tellModerators(app, tenantId)
  await touch(erasure)
  // The embedded database answers without leaving this turn: sockets and timers would wait for the whole erasure.
  await setImmediate()
}

/** Most of a long discussion's events lose the reader in transactions of their own, short ones. */
async function scrubPast(erasure: Erasure, discussionId: Id): Promise<void> {
  const { app, tenantId, readerId, signal, scrubbedUpTo } = erasure
  const head = await selectDiscussion(app.db.query, tenantId, discussionId)
  let after = scrubbedUpTo.get(discussionId) ?? 0
  while (head !== undefined && after + STRETCH <= head.seq) {
    signal?.throwIfAborted()
    const stretch = { tenantId, discussionId, after, upTo: after + STRETCH }
    if ((await selectNamingEvents(app.db.query, readerId, stretch)).length > 0) {
      await untilNoDeadlock(() =>
        app.db.transaction(async (sql) => {
          // Two erasures that rewrite one event must see each other's text.
          await lockDiscussions(sql, tenantId, [discussionId])
          await recallDeliveries(sql, tenantId, await scrubStretch(sql, erasure, stretch))
        }),
      )
    }
    after = stretch.upTo
    scrubbedUpTo.set(discussionId, after)
    await touch(erasure)
    await setImmediate()
  }
}

/** Takes the reader out of a stretch of events, whose discussion is locked. Gives the ids of those that have changed. */
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

const DEADLOCK = '40P01'

/** Workers record attempts in whatever order they end; where that meets a recall, PostgreSQL lets one of the two go. */
async function untilNoDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== DEADLOCK || attempt >= 5) throw error
    }
  }
}
