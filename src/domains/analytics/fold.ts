import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { foldDeltas, forgetActivity, lockRollups, selectWaitingTenants, tryLockRollups } from './fold-sql.ts'

/** A transaction of some tens of milliseconds. */
const BATCH = 2000

/**
 * Folds what is waiting into the rollups, a batch of each tenant, until `signal` aborts. Any number
 * of workers may: each delta is taken once, in the transaction that counts it, and a tenant that
 * another worker is at is left to it. Returns whether more is waiting. Nobody depends on its pace:
 * reading adds what is not folded yet.
 */
export async function foldWaiting({ db }: Pick<App, 'db'>, signal?: AbortSignal): Promise<boolean> {
  let more = false
  for (const tenantId of await selectWaitingTenants(db.query)) {
    if (signal?.aborted === true) return more
    const folded = await db.transaction(async (sql) =>
      (await tryLockRollups(sql, tenantId)) ? foldDeltas(sql, tenantId, BATCH) : 0,
    )
    more ||= folded === BATCH
  }
  return more
}

/**
 * Takes a reader out of all that analytics hold by reader: the tops and the numbers of active
 * readers. What was counted without a name, comments, reactions and reports, stays as it is. To be
 * called last in the transaction that erases the reader, as the changes of that transaction name
 * the reader to analytics.
 */
export async function forgetReader(sql: Sql, tenantId: Id, readerId: Id): Promise<void> {
  await lockRollups(sql, tenantId)
  await forgetActivity(sql, tenantId, readerId)
}
