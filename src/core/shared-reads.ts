import { type BatchEntry, inBatches } from './batches.ts'
import { type Ctx, perApp, requireCaller } from './context.ts'
import type { Id } from './ids.ts'
import { tooBusy } from './patience.ts'
import type { Sql } from './sql.ts'
import type { Span } from './span.ts'
import { tracedFor } from './trace.ts'

/**
 * Statements of one tenant and group that are under way at once. One leaves PostgreSQL idle while
 * its answer is read; with more, fewer requests share each.
 */
const AT_ONCE = 2

/** A statement that takes longer holds no other request up, as one on a dead connection would. */
const PATIENCE_MS = 100

interface SharedRead<Key, Value> {
  /** The most keys of one statement. */
  most: number
  /**
   * Reads for all keys of one tenant and one `group` (the arguments that they have in common). The
   * answers are in the order of the keys.
   */
  load: (sql: Sql, tenantId: Id, group: string, keys: readonly Key[]) => Promise<readonly Value[]>
}

/**
 * After `until` it is not read any more. One whose client has gone is: others may wait for the page
 * that is made of it.
 */
interface Queued<Key> {
  key: Key
  span: Span | undefined
  until: number
}

/**
 * Joins what several requests of a tenant ask for at the same time: while statements are under way,
 * the keys that arrive go together in the next one; a lone one goes at once. So each answer is at
 * least as new as its request. Tenants do not wait for one another, and nobody waits for a
 * statement that takes long. A request with a transaction of its own reads in that.
 */
export function sharedReads<Key, Value>({
  most,
  load,
}: SharedRead<Key, Value>): (ctx: Ctx, group: string, key: Key) => Promise<Value> {
  const batchesOf = perApp((app) => {
    type Read = (queued: Queued<Key>) => Promise<Value>
    /** Those under way, and how many requests wait for each. */
    const open = new Map<string, { read: Read; requests: number }>()
    const flush = async (tenantId: Id, group: string, all: readonly BatchEntry<Queued<Key>, Value>[]) => {
      const now = performance.now()
      const batch = all.filter(({ input: { until }, reject }) => {
        if (now >= until) reject(tooBusy())
        return now < until
      })
      if (batch.length === 0) return
      const spans = batch.flatMap(({ input: { span } }) => span ?? [])
      const keys = batch.map(({ input: { key } }) => key)
      const values = await load(tracedFor(app, spans).db.query, tenantId, group, keys)
      for (const [index, { resolve }] of batch.entries()) resolve(values[index] as Value)
    }
    return async (tenantId: Id, group: string, queued: Queued<Key>): Promise<Value> => {
      const name = `${tenantId} ${group}`
      let batches = open.get(name)
      if (batches === undefined) {
        const limits = { atOnce: AT_ONCE, patienceMs: PATIENCE_MS }
        batches = { read: inBatches(most, (batch) => flush(tenantId, group, batch), limits), requests: 0 }
        open.set(name, batches)
      }
      batches.requests++
      try {
        return await batches.read(queued)
      } finally {
        if (--batches.requests === 0) open.delete(name)
      }
    }
  })
  return async (ctx, group, key) => {
    const { app } = ctx
    const { id } = requireCaller(ctx).tenant
    if (app.scope === undefined) {
      const until = performance.now() + app.db.maxWaitMs
      return batchesOf(app)(id, group, { key, span: app.span, until })
    }
    return (await load(app.db.query, id, group, [key]))[0] as Value
  }
}
