import { LRUCache } from 'lru-cache'

import { CHANNELS } from '../../core/bus.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import { growing } from '../../core/process/growing.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'
import { KEPT_MS } from './key-set.ts'
import { type DueKeySet, failKeySet, leaseKeySets, putKeySet, storeKeySet } from './key-set-sql.ts'
import { filterKeySet } from './jwks.ts'

const LEASE_MS = 60_000
const REFRESH_MS = 300_000
const RETRY_MS = 30_000
const HASTE_MS = 10_000
const AT_ONCE = 8

/** Fetches a JSON document. Rejects with a short message of our own. */
type FetchJson = (url: string) => Promise<unknown>

/**
 * Notes the new address of the tenant's keys, or none. A worker fetches them: API processes
 * make no outbound requests but those of a sign-on and of `backendCheck`.
 */
export const followKeySet = (sql: TxSql, tenantId: Id, url: string | null): Promise<unknown> =>
  url === null
    ? sql.prisma.identityKeySet.deleteMany({ where: { tenantId } })
    : putKeySet(sql, tenantId, url, new Date())

/**
 * Fetches due key sets with the worker's own client. Several workers share the rows. Returns how
 * many were due. A failed set is tried again after 30 s, and its old keys stay valid for 24 h.
 */
export async function refreshDueKeySets(app: App, fetchJson: FetchJson): Promise<number> {
  const now = Date.now()
  const due = await leaseKeySets(app.db.query, new Date(now), new Date(now + LEASE_MS), AT_ONCE)
  await Promise.all(due.map((keySet) => refreshKeySet(app, keySet, fetchJson)))
  return due.length
}

async function refreshKeySet(app: App, keySet: DueKeySet, fetchJson: FetchJson): Promise<void> {
  const { jwks, error } = await fetchKeys(keySet, fetchJson)
  const now = Date.now()
  if (error === null) {
    await storeKeySet(app.db.query, keySet, jwks, { now: new Date(now), dueAt: new Date(now + REFRESH_MS) })
  } else {
    app.log.warn({ error, tenantId: keySet.tenantId }, 'a key set could not be fetched')
    const [dueAt, keptSince] = [new Date(now + RETRY_MS), new Date(now - KEPT_MS)]
    await failKeySet(app.db.query, keySet, { error, now: new Date(now), dueAt, keptSince })
  }
  announceChange(app, { kind: 'tenant', tenantId: keySet.tenantId })
}

async function fetchKeys({ url }: DueKeySet, fetchJson: FetchJson) {
  try {
    return { jwks: filterKeySet(await fetchJson(url)), error: null }
  } catch (error) {
    return { jwks: null, error: error instanceof Error ? error.message.slice(0, 500) : 'unknown' }
  }
}

const hastened = perApp(() => new LRUCache<Id, true>({ ...growing(10_000), ttl: HASTE_MS }))

/**
 * Has workers fetch the tenant's key set at once, at most every 10 s, because a token names a key
 * that is not stored.
 */
export async function hastenKeys(app: App, tenant: Tenant): Promise<void> {
  if (tenant.settings.identity.jwksUrl === null || hastened(app).has(tenant.id)) return
  hastened(app).set(tenant.id, true)
  const now = Date.now()
  const isUntried = [{ triedAt: null }, { triedAt: { lt: new Date(now - HASTE_MS) } }]
  const { count } = await app.prisma.identityKeySet.updateMany({
    where: { tenantId: tenant.id, dueAt: { gt: new Date(now) }, OR: isUntried },
    data: { dueAt: new Date(now) },
  })
  if (count > 0) app.bus.publish(CHANNELS.work, tenant.id)
}
