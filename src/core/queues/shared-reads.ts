import { type BatchEntry, inBatches } from './batches.ts'
import { requireCaller } from '../access.ts'
import { perApp } from '../app.ts'
import type { Ctx } from '../context.ts'
import type { Id } from '../ids.ts'
import { tooBusy } from './patience.ts'
import type { Sql } from '../database/database.ts'
import type { Span } from '../span.ts'
import { tracedFor } from '../telemetry/trace.ts'

/**
 * The most concurrent statements of one tenant and group. With one, PostgreSQL is idle while its
 * answer is read; with more, fewer requests share each statement.
 */
const AT_ONCE = 2

/** A slower statement, as on a dead connection, no longer holds up the next one. */
const PATIENCE_MS = 100

interface SharedRead<Key, Value> {
  /** The most keys in one statement. */
  most: number
  /**
   * Reads all keys of one tenant and one `group` (their common arguments). The answers are in the
   * order of the keys.
   */
  load: (sql: Sql, tenantId: Id, group: string, keys: readonly Key[]) => Promise<readonly Value[]>
}

/**
 * A queued key: it is dropped after `until`. It stays when its client has left, because others may
 * wait for the page made of it.
 */
interface Queued<Key> {
  key: Key
  span: Span | undefined
  until: number
}

/**
 * Batches what several requests of a tenant read at the same time: keys that arrive while
 * statements are under way go together into the next one; a lone key goes at once. So each answer
 * is at least as new as its request. Tenants do not wait for one another, nor for slow statements.
 * A request in one transaction (`Scope`) reads there instead.
 */
export function sharedReads<Key, Value>({
  most,
  load,
}: SharedRead<Key, Value>): (ctx: Ctx, group: string, key: Key) => Promise<Value> {
  const batchesOf = perApp((app) => {
    type Read = (queued: Queued<Key>) => Promise<Value>
    /** Reads under way, and how many requests wait for each. */
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
