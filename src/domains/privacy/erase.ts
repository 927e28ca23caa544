import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { Sql } from '../../core/sql.ts'
import { forgetReader as forgetInAnalytics } from '../analytics/fold.ts'
import { forgetReader as forgetInAnswers } from '../idempotency/idempotency.ts'
import { eraseComments } from './comments.ts'
import { eraseReactions, eraseReports } from './marks.ts'
import type { Erasure } from './erasure.ts'
import * as sql from './sql.ts'

/** Each takes a batch of rows away in a transaction of its own, until it finds none and says false. */
const STEPS: readonly ((erasure: Erasure) => Promise<boolean>)[] = [eraseComments, eraseReactions, eraseReports]

/** In the transaction in which the reader's row goes, when nobody can write for the reader any more. */
const LAST_STEPS: readonly ((sql: Sql, tenantId: Id, readerId: Id) => Promise<void>)[] = [
  sql.forgetInAuditLog,
  (tx, tenantId, readerId) => forgetInAnswers(tx, tenantId, [readerId]),
  // The last of all: what goes before it is counted under the reader's name.
  forgetInAnalytics,
]

/** Each further round is for writes that began before the erasure and ended after the round before. */
const MAX_ROUNDS = 20

/**
 * Erases a reader, for good: comments by the tenant's `erasureMode`, reactions, reports, and what events and the audit
 * log say of them. From its first transaction on the reader cannot be found, and no write finds them. The rest goes in
 * batches, the row last: where this is interrupted, calling it again goes on. Throws `not_found`.
 */
export async function eraseReader(ctx: Ctx, { readerId }: { readerId: Id }): Promise<Id> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  await begin(ctx, readerId)
  const mode = tenant.settings.erasureMode
  const erasure: Erasure = { app, tenantId: tenant.id, readerId, mode, scrubbedUpTo: new Map() }
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      for (const step of STEPS) while (await step(erasure)) continue
      if (await removeReader(erasure)) return readerId
    }
  } finally {
    announceChange(app, { kind: 'erasure', tenantId: tenant.id })
  }
  throw new ServiceError('unavailable', { detail: 'The reader is still writing; try again.', retryAfterSeconds: 1 })
}

async function begin(ctx: Ctx, readerId: Id): Promise<void> {
  const { tenant } = requireCaller(ctx)
  const externalId = await ctx.app.db.transaction(async (tx) => {
    const reader = isId(readerId) ? await sql.lockReaderToErase(tx, tenant.id, readerId) : undefined
    if (reader === undefined) throw new ServiceError('not_found', { detail: 'There is no such reader.' })
    if (reader.erasingAt === null) await sql.beginErasure(tx, tenant.id, readerId, new Date())
    await recordAudit(tx, ctx, { action: 'reader.erase', targetType: 'reader', targetId: readerId })
    return reader.externalId
  })
  announceChange(ctx.app, { kind: 'reader', tenantId: tenant.id, externalId })
}

/** False where a write that began before the erasure has left something. */
function removeReader({ app, tenantId, readerId }: Erasure): Promise<boolean> {
  return app.db.transaction(async (tx) => {
    const reader = await sql.lockReaderToErase(tx, tenantId, readerId)
    // Another call has come first.
    if (reader === undefined) return true
    if (await sql.hasTraces(tx, tenantId, readerId)) return false
    for (const step of LAST_STEPS) await step(tx, tenantId, readerId)
    await sql.deleteReader(tx, tenantId, readerId)
    return true
  })
}
