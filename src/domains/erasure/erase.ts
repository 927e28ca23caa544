import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { ofTenant } from '../../core/queues/patience.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'
import { forgetInAnalytics } from '../analytics/fold.ts'
import { announceEnd, endTokensOfReader, forgetAddressOf } from '../readers/ended-tokens.ts'
import { withdrawExports } from '../exports/exports.ts'
import { forgetInAnswers } from '../idempotency/idempotency.ts'
import { forgetNotifications } from '../notifications/notifications.ts'
import { loadTenant } from '../tenants/tenants.ts'
import { endSweep } from '../readers/ban-sweeps.ts'
import { dissolveMerges, listFormerReaders } from '../readers/merged.ts'
import { deleteReader, missingReader } from '../readers/records.ts'
import { forgetInImports, refuseInImports } from '../imports/imports.ts'
import { beginWork, pause, type ReaderWork } from './erase-batches.ts'
import { eraseComments, type Erasure } from './erase-comments.ts'
import { eraseReactions, eraseReports, eraseShadowReactions } from './erase-reactions-and-reports.ts'
import { scrubEvent } from './scrub.ts'
import { recallDeliveries } from './scrub-sql.ts'
import * as sql from './sql.ts'

/**
 * Each step erases a batch of rows in its own transaction. It returns false when there are none.
 */
const STEPS: readonly ((erasure: Erasure) => Promise<boolean>)[] = [
  eraseComments,
  eraseReactions,
  eraseShadowReactions,
  eraseReports,
  eraseAuditEntries,
]

/**
 * Steps of the transaction that deletes the reader's row, when no one can write for the reader any
 * more.
 */
const LAST_STEPS: readonly ((sql: TxSql, tenantId: Id, readerId: Id) => Promise<void>)[] = [
  (tx, tenantId, readerId) => forgetInAnswers(tx, tenantId, [readerId]),
  // Again: an import under way may have found the reader just before the erasure began.
  forgetInImports,
  // Again: others may have replied while their comments were erased.
  forgetNotifications,
  withdrawExports,
  // Last of all: changes by the steps before it are counted under the reader's name until they are
  // folded.
  forgetInAnalytics,
]

/**
 * A further round erases rows of writes that began before the erasure and ended after the previous
 * round.
 */
const MAX_ROUNDS = 20

/**
 * Erases a reader, and those who were merged into them, for good: comments by the tenant's
 * `erasureMode`, reactions, reports, and their traces in events and the audit log. From the first
 * transaction on, the reader cannot be found, and no write finds them. The rest is erased in
 * batches, the row last. If that is interrupted, another call continues it, and so does a worker.
 * If the request is one transaction, only the first step is part of it, so that locks are short:
 * the batches follow its commit. Throws `not_found`.
 */
export async function eraseReader(ctx: Ctx, { readerId }: { readerId: Id }): Promise<Id> {
  const { tenant } = requireCaller(ctx)
  const { scope, log } = ctx.app
  if (scope === undefined && isId(readerId)) await forgetFormer(ctx.app, tenant.id, readerId)
  const readerIds = await begin(ctx, readerId)
  if (scope === undefined) {
    for (const id of readerIds) await continueErasure(ctx.app, tenant, id)
    return readerId
  }
  const app = ofTenant(ctx.app, tenant.id)
  for (const id of readerIds) {
    scope.erasedReaders.add(id)
    scope.effects.push(() =>
      continueErasure(app, tenant, id).catch((err: unknown) =>
        log.warn({ err, readerId: id }, 'a worker will finish this erasure'),
      ),
    )
  }
  return readerId
}

/** Without a heartbeat for this long, an erasure counts as abandoned. */
const ABANDONED_MS = 60_000

/**
 * Continues one interrupted erasure until it is done, or `signal` is aborted; then another process
 * continues. Several processes may run it at once. Returns whether there was one.
 */
export async function finishErasure(app: App, signal: AbortSignal, now = new Date()): Promise<boolean> {
  const left = await sql.takeUpErasure(app.db.query, now, new Date(now.getTime() - ABANDONED_MS))
  if (left === undefined) return false
  const tenant = await loadTenant(app, left.tenantId)
  await continueErasure(ofTenant(app, tenant.id), tenant, left.readerId, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return true
}

async function continueErasure(
  app: App,
  { id: tenantId, settings }: Tenant,
  readerId: Id,
  signal?: AbortSignal,
): Promise<void> {
  const erasure = beginErasing({ app, tenantId, readerId, mode: settings.erasureMode, signal })
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      for (const step of STEPS) while (await step(erasure)) continue
      if (await removeReader(erasure)) return
    }
  } finally {
    announceChange(app, { kind: 'erasure', tenantId })
  }
  throw new ServiceError('unavailable', { detail: 'The reader is still writing; try again.', retryAfterSeconds: 1 })
}

const BATCH = 100
/** A few: others wait for their discussion as long as it takes. */
const MAX_ROWS = 20

interface Begun extends Pick<ReaderWork, 'app' | 'tenantId' | 'readerId' | 'signal'>, Pick<Erasure, 'mode'> {}

function beginErasing({ app, tenantId, readerId, mode, signal }: Begun): Erasure {
  const work = beginWork({
    app,
    tenantId,
    readerId,
    signal,
    batch: BATCH,
    maxRows: MAX_ROWS,
    begin: () => Promise.resolve(),
    rewrite: (event) => scrubEvent(event, { ...event, readerId }),
    // Endpoints, which new deliveries refer to, are locked before deliveries.
    end: (tx, eventIds) => recallDeliveries(tx, tenantId, eventIds),
    touch: (now) => sql.touchErasure(app.prisma, tenantId, readerId, now),
  })
  return { ...work, mode }
}

async function eraseAuditEntries(erasure: Erasure): Promise<boolean> {
  const { app, tenantId, readerId, signal } = erasure
  signal?.throwIfAborted()
  const isMore = await sql.forgetInAuditLog(app.db.query, tenantId, readerId)
  await pause(erasure)
  return isMore
}

/**
 * Returns the readers whose rows must be deleted: this one, and those whose merge into it was under
 * way.
 */
async function begin(ctx: Ctx, readerId: Id): Promise<Id[]> {
  const { tenant } = requireCaller(ctx)
  const { externalId, readerIds, ended } = await ctx.app.db.transaction(async (tx) => {
    const reader = isId(readerId) ? await sql.lockReaderToErase(tx, tenant.id, readerId) : undefined
    if (reader === undefined) throw await missingReader(tx.prisma, ctx, readerId)
    const former = await listFormerReaders(tx.prisma, tenant.id, readerId)
    const merged = await dissolveMerges(tx, tenant.id, readerId)
    const rest = merged.filter(({ isUnderWay }) => isUnderWay).map((each) => each.readerId)
    const now = new Date()
    await forgetInImports(tx, tenant.id, readerId)
    for (const id of rest) await sql.beginErasure(tx, tenant.id, id, now)
    await endSweep(tx, tenant.id, readerId)
    await forgetNotifications(tx, tenant.id, readerId)
    if (reader.erasingAt === null) {
      await sql.beginErasure(tx, tenant.id, readerId, now)
      for (const named of [reader, ...former]) await refuseInImports(tx, tenant.id, named.externalId)
    }
    await recordAudit(tx, ctx, { action: 'reader.erase', targetId: readerId })
    for (const each of merged) if (!each.isUnderWay) await forgetMerged(tx, tenant.id, each.readerId)
    const tokens = await endTokensOfReader(tx, tenant.id, readerId)
    await forgetAddressOf(tx, tenant.id, readerId)
    return { externalId: reader.externalId, readerIds: [readerId, ...rest], ended: tokens }
  })
  announceEnd(ctx.app, ended)
  announceChange(ctx.app, { kind: 'reader', tenantId: tenant.id, externalId })
  return readerIds
}

/**
 * Empties most audit entries about readers who were merged into this one. It comes before the
 * erasure, which begins by forgetting who they were, so that its first transaction is short. If it
 * is interrupted, the next call goes on.
 */
async function forgetFormer(app: App, tenantId: Id, readerId: Id): Promise<void> {
  for (const { id } of await listFormerReaders(app.prisma, tenantId, readerId))
    while (await sql.forgetInAuditLog(app.db.query, tenantId, id)) continue
}

/** Removes the remaining traces of a reader who was merged into the erased one. */
async function forgetMerged(tx: TxSql, tenantId: Id, readerId: Id): Promise<void> {
  while (await sql.forgetInAuditLog(tx, tenantId, readerId)) continue
  await forgetInAnswers(tx, tenantId, [readerId])
  await forgetInAnalytics(tx, tenantId, readerId)
}

/** False if a write that began before the erasure has left rows. */
function removeReader({ app, tenantId, readerId }: Erasure): Promise<boolean> {
  return app.db.transaction(async (tx) => {
    const reader = await sql.lockReaderToErase(tx, tenantId, readerId)
    // Another call was faster.
    if (reader === undefined) return true
    if (await sql.hasTraces(tx, tenantId, readerId)) return false
    // Again: an import may have brought entries since.
    if (await sql.forgetInAuditLog(tx, tenantId, readerId)) return false
    for (const step of LAST_STEPS) await step(tx, tenantId, readerId)
    await deleteReader(tx, tenantId, readerId)
    return true
  })
}
