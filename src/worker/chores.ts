import { setTimeout as delay } from 'node:timers/promises'

import { type App, perApp } from '../core/app.ts'
import type { Sql } from '../core/database/database.ts'
import { renewStatistics } from '../core/statistics.ts'
import { type CodeBackfill, type CodeBackfills, continueBackfills } from '../data/migrations/backfills.ts'
import { readMigrations } from '../data/migrations/files.ts'
import { foldWaiting } from '../domains/analytics/fold.ts'
import { renderAgain } from '../domains/comments/history/render-again.ts'
import { makeNextExport } from '../transfer/export/make.ts'
import { deleteExpiredAliases } from '../domains/discussions/aliases.ts'
import { removeOfDeleted } from '../domains/discussions/remove.ts'
import { deleteExpiredExports } from '../transfer/export/make-sql.ts'
import { decodeLetters } from '../transfer/import/encoded-letters.ts'
import { removeEnded } from '../transfer/uploads/remove.ts'
import { workOnUploads } from '../transfer/uploads/work.ts'
import { forgetOldRequests } from '../domains/guests/requests.ts'
import { deleteExpiredGuestTokens } from '../domains/guests/tokens.ts'
import { deleteExpiredRecords } from '../domains/idempotency/idempotency.ts'
import { closeOldDiscussions, closeOnTime } from '../domains/moderation/auto-close.ts'
import { continueBanSweep } from '../domains/moderation/ban-sweep.ts'
import { finishMerge } from '../domains/merges/merge.ts'
import { refreshDueKeySets } from '../domains/readers/key-sets.ts'
import { finishErasure } from '../domains/erasure/erase.ts'
import { type Inbox, trimNextInbox } from '../domains/notifications/trim.ts'
import { removeOfDeletedTenant } from '../domains/tenant-removal/remove.ts'
import { deleteOldSignIns } from '../domains/staff/sign-ins.ts'
import { deleteExpiredSecrets } from '../domains/encryption-keys/sql.ts'
import { holdDeliveries, releaseHeld } from '../domains/webhooks/sending/holding-sql.ts'
import {
  deleteOldAnalytics,
  deleteOldAuditEntries,
  deleteOldClientTokens,
  deleteOldPostedTexts,
} from './statements/old-rows-sql.ts'
import {
  clearDeletedEndpoints,
  deleteOldDeliveries,
  deleteOldEvents,
  forgetDeletedEndpoints,
  type LookedAt,
} from './statements/retention-sql.ts'
import { type Loop, startLoop } from './loop.ts'
import { observeBackfills } from './metrics.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { tellChannels } from './notices.ts'

const AUTO_CLOSE_BATCH = 200

interface Chore {
  name: string
  pollMs: number
  /** Returns true if more may be done at once. Ends early if `signal` is aborted. */
  work(app: App, outbound: Outbound, signal: AbortSignal): Promise<unknown>
}

/** The most rows that one statement changes: long statements would hold locks, and delay a stop. */
const BATCH = 2000

/** The inboxes of one turn: some hundred small statements, seldom enough to cost nothing. */
const INBOXES = 100

/** A deleted endpoint may have millions of deliveries: short batches leave room for others. */
const CLEARING_BATCH = 200

/** A chore that runs in batches until one is not full. */
const batched = (name: string, pollMs: number, batch: (sql: Sql, limit: number) => Promise<number>): Chore => ({
  name,
  pollMs,
  work: async (app) => (await batch(app.db.query, BATCH)) === BATCH,
})

/** After this, kept events are looked at again: their deliveries may be gone. */
const ROUND_MS = 6 * 3_600_000

function deleteOldRows(): Chore['work'] {
  let lookedAt: LookedAt = new Map()
  let beganAt = performance.now()
  return async ({ db }) => {
    if (performance.now() - beganAt > ROUND_MS) [lookedAt, beganAt] = [new Map(), performance.now()]
    // All deliveries first, because an event stays as long as a delivery of it is stored.
    if ((await deleteOldDeliveries(db.query, BATCH)) === BATCH) return true
    return (await deleteOldEvents(db.query, BATCH, lookedAt)).hasMore
  }
}

/** Goes through the inboxes, some at each turn, and begins again after the last. */
function trimInboxes(): Chore['work'] {
  let after: Inbox | null = null
  return async ({ prisma }, _outbound, signal) => {
    for (let n = 0; n < INBOXES && !signal.aborted; n++) {
      after = await trimNextInbox(prisma, after)
      if (after === null) return
    }
  }
}

/** Their files are read at the first turn, which no start waits for. */
const migrationsOf = perApp(() => readMigrations())

/** For a migration of another renderer. An upgrade of a fleet takes minutes. */
export const RENDER_AGAIN: CodeBackfill = { run: renderAgain, settleSeconds: 3600 }

/** Backfills that take more than SQL, by the names of their migrations. */
export const CODE_BACKFILLS: CodeBackfills = {
  // The release before may still import.
  '20261129120400_encoded_letters': { run: decodeLetters, settleSeconds: 3600 },
}

/** What every worker looks after by itself, any number of them side by side. */
const chores = (): readonly Chore[] => [
  { name: 'key sets', pollMs: 1000, work: (app, outbound) => refreshDueKeySets(app, outbound.fetchJson) },
  { name: 'expired idempotency keys', pollMs: 60_000, work: (app) => deleteExpiredRecords(app) },
  {
    name: 'automatic closing',
    pollMs: 60_000,
    work: async (app) => (await closeOldDiscussions(app, AUTO_CLOSE_BATCH)) === AUTO_CLOSE_BATCH,
  },
  {
    name: 'closing on time',
    pollMs: 1000,
    work: async (app) => (await closeOnTime(app, AUTO_CLOSE_BATCH)) === AUTO_CLOSE_BATCH,
  },
  { name: 'interrupted erasures', pollMs: 10_000, work: (app, _outbound, signal) => finishErasure(app, signal) },
  { name: 'interrupted merges', pollMs: 10_000, work: (app, _outbound, signal) => finishMerge(app, signal) },
  { name: 'comments of banned readers', pollMs: 1000, work: (app, _outbound, signal) => continueBanSweep(app, signal) },
  batched('deliveries to hold', 1000, holdDeliveries),
  batched('deliveries held no more', 1000, releaseHeld),
  { name: 'old deliveries and events', pollMs: 60_000, work: deleteOldRows() },
  batched('old audit entries', 60_000, deleteOldAuditEntries),
  batched('old client tokens', 60_000, deleteOldClientTokens),
  { name: 'old sign-ins', pollMs: 60_000, work: (app) => deleteOldSignIns(app) },
  { name: 'old requests of guests', pollMs: 10_000, work: (app) => forgetOldRequests(app) },
  { name: 'expired tokens of guests', pollMs: 60_000, work: (app) => deleteExpiredGuestTokens(app) },
  batched('old counts of texts', 60_000, deleteOldPostedTexts),
  batched('old analytics', 60_000, deleteOldAnalytics),
  { name: 'old notifications', pollMs: 10_000, work: trimInboxes() },
  {
    name: 'deliveries of deleted endpoints',
    pollMs: 1000,
    work: async ({ db }, _outbound, signal) => {
      const began = performance.now()
      const hasMore = (await clearDeletedEndpoints(db.query, CLEARING_BATCH)) === CLEARING_BATCH
      // Rests for half of the time: the embedded database has only one connection.
      if (hasMore) await delay(performance.now() - began, undefined, { signal }).catch(() => undefined)
      else await forgetDeletedEndpoints(db.query)
      return hasMore
    },
  },
  { name: 'notices to staff', pollMs: 1000, work: tellChannels },
  { name: 'exports', pollMs: 1000, work: (app, _outbound, signal) => makeNextExport(app, signal) },
  { name: 'expired exports', pollMs: 60_000, work: (app) => deleteExpiredExports(app) },
  { name: 'uploaded imports', pollMs: 1000, work: (app, _outbound, signal) => workOnUploads(app, signal) },
  { name: 'parts of ended uploads', pollMs: 1000, work: (app) => removeEnded(app) },
  { name: 'deleted discussions', pollMs: 1000, work: removeOfDeleted },
  { name: 'deleted tenants', pollMs: 1000, work: removeOfDeletedTenant },
  batched('expired former ids', 60_000, deleteExpiredAliases),
  batched('expired secrets', 60_000, deleteExpiredSecrets),
  // Every read adds the waiting deltas: seldom enough to fold many at once, often enough to keep
  // reads cheap.
  { name: 'analytics', pollMs: 2000, work: (app, _outbound, signal) => foldWaiting(app, signal) },
  { name: 'statistics of the database', pollMs: 5000, work: ({ db }) => renewStatistics(db) },
  {
    name: 'backfills',
    pollMs: 60_000,
    work: (app, _outbound, signal) => continueBackfills(app.db, migrationsOf(app), CODE_BACKFILLS, signal),
  },
]

/** Starts a loop for each chore. */
export function startChores(app: App, outbound: Outbound): { stop(): Promise<void> } {
  observeBackfills(app)
  const stopping = new AbortController()
  const loops = chores().map(({ name, pollMs, work }): Loop => {
    const run = async (): Promise<void> => {
      let hasMore: unknown = true
      while (hasMore === true && !stopping.signal.aborted) hasMore = await work(app, outbound, stopping.signal)
    }
    return startLoop({ name, pollMs, log: app.log, work: run })
  })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}
