import { isDeepStrictEqual } from 'node:util'

import { requireCaller, requireIdentity } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Identity, Tenant } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { roomOf } from '../../core/cache.ts'
import { type Id, newId } from '../../core/ids.ts'
import { announceChange, followCacheNews } from '../../core/read-cache.ts'
import { CLAIMED, type Reader } from './fields.ts'
import { isGuestId } from './guest-ids.ts'
import { isReaderGone, ReaderGone } from './gone.ts'
import { type ReaderRow, selectBoundReader, upsertReader } from './sql.ts'

interface Known {
  reader: Reader
  claimedBadges: readonly string[]
  /**
   * The time of the newest assertion with this profile that this process has seen: older ones
   * change nothing.
   */
  issuedAt: number
  /** Until when they are banned in shadow (ms since 1970); 0 if they are not. */
  shadowUntil: number
}

const FIVE_MINUTES_MS = 300_000

interface Writing {
  reader: Promise<ReaderRow>
  /** Set by a message during the read, whose result may be stale. */
  stale: boolean
}

const readers = perApp((app) => {
  const known = roomOf(app, 'readers')<string, Known>({ part: 1, maxAgeMs: FIVE_MINUTES_MS })
  const underWay = new Map<string, Writing>()
  /** Counts the entries that were dropped: a read during which it changes may be stale. */
  const drops = { count: 0 }
  const forget = (key: string): void => {
    known.delete(key)
    drops.count++
    const writing = underWay.get(key)
    if (writing !== undefined) writing.stale = true
  }
  followCacheNews(app, {
    kind: 'reader',
    forget: ({ tenantId, externalId }) => forget(keyOf(tenantId, externalId)),
    clear: () => {
      known.clear()
      drops.count++
    },
  })
  return { known, underWay, drops, forget }
})

const keyOf = (tenantId: Id, externalId: string): string => `${tenantId} ${externalId}`

/**
 * The reader on whose behalf the request is made, or the one into whom that reader was merged.
 * Throws `identity_required`.
 */
export async function requireReader(ctx: Ctx): Promise<Reader> {
  const identity = requireIdentity(ctx)
  return ensureReader(ctx.app, requireCaller(ctx).tenant, identity)
}

/**
 * Runs a write for the asserted reader. If the reader's record is erased meanwhile, or is only
 * cached, the cache entry is dropped and the write is tried once more with a fresh record. Throws
 * `identity_required`, `unavailable`.
 */
export async function asReader<T>(ctx: Ctx, write: (reader: Reader) => Promise<T>): Promise<T> {
  const reader = await requireReader(ctx)
  try {
    return await write(reader)
  } catch (error) {
    if (!isReaderGone(error)) throw error
    readers(ctx.app).forget(keyOf(requireCaller(ctx).tenant.id, requireIdentity(ctx).externalId))
    // A failed statement has aborted the transaction of the whole request, so only the caller can
    // retry.
    if (ctx.app.scope !== undefined && !(error instanceof ReaderGone)) throw new ReaderGone()
  }
  try {
    return await write(await requireReader(ctx))
  } catch (error) {
    throw isReaderGone(error) ? new ReaderGone() : error
  }
}

/**
 * The stored reader of an assertion: created by the first one, updated by a newer one with another
 * profile; or that of a client token. An assertion without profile claims changes no profile. No
 * query is made if this process knows that nothing has changed.
 */
export const ensureReader = async (app: App, tenant: Tenant, identity: Identity): Promise<Reader> =>
  (await ensureKnown(app, tenant, identity)).reader

/**
 * The asserted reader's id if they are banned in shadow, and are not to notice it; null for others
 * and without an identity.
 */
export async function viewerInShadow(ctx: Ctx): Promise<Id | null> {
  const { tenant, identity } = requireCaller(ctx)
  if (identity === null) return null
  const { reader, shadowUntil } = await ensureKnown(ctx.app, tenant, identity)
  return shadowUntil > Date.now() ? reader.id : null
}

async function ensureKnown(app: App, tenant: Tenant, identity: Identity): Promise<Known> {
  const { known, underWay } = readers(app)
  const key = keyOf(tenant.id, identity.externalId)
  const entry = known.get(key)
  if (identity.readerId !== undefined) {
    return entry?.reader.id === identity.readerId
      ? entry
      : boundReader(app, tenant, identity.readerId, isGuestId(identity.externalId))
  }
  const issuedAt = identity.issuedAt.getTime()
  if (entry !== undefined && (issuedAt <= entry.issuedAt || !changes(entry, identity))) {
    if (carriesProfile(identity)) entry.issuedAt = Math.max(entry.issuedAt, issuedAt)
    return entry
  }
  if (app.scope !== undefined) {
    // Not shared with other requests: the row may never be committed, and a request that waits
    // while it holds a connection could wait forever. Not cached either: by the commit it may be
    // stale.
    return knownOf(await upsertUntilSeen(app, tenant.id, identity))
  }
  // Concurrent requests of one reader wait for one statement, not for the row's lock.
  const first = underWay.get(key)
  if (first !== undefined) return first.reader.then(() => ensureKnown(app, tenant, identity))
  const row = upsertUntilSeen(app, tenant.id, identity)
  const writing: Writing = { reader: row, stale: false }
  underWay.set(key, writing)
  try {
    const found = knownOf(await row)
    if (carriesProfile(identity)) found.issuedAt = Math.max(found.issuedAt, issuedAt)
    // A merged reader is not cached: messages about the other reader do not name this key.
    const isMerged = found.reader.externalId !== identity.externalId
    if (!writing.stale && !isMerged) known.set(key, found)
    return found
  } finally {
    underWay.delete(key)
  }
}

/**
 * The reader of a client token, or a guest. It is not looked up by its external id, which after an
 * erasure or a merge may be another person's.
 */
async function boundReader(app: App, tenant: Tenant, readerId: Id, isGuest: boolean): Promise<Known> {
  const { known, drops } = readers(app)
  const before = drops.count
  const row = await selectBoundReader(app.db.query, tenant.id, readerId)
  if (row === undefined) throw new ServiceError(isGuest ? 'invalid_identity' : 'invalid_client_token')
  const found = knownOf(row)
  if (drops.count === before && app.scope === undefined) known.set(keyOf(tenant.id, row.externalId), found)
  return found
}

const knownOf = ({ profileIssuedAt, shadowBanned, bannedUntil, claimedBadges, ...reader }: ReaderRow): Known => ({
  reader,
  claimedBadges,
  issuedAt: profileIssuedAt.getTime(),
  shadowUntil: shadowBanned ? (bannedUntil?.getTime() ?? Infinity) : 0,
})

async function upsertUntilSeen(app: App, tenantId: Id, identity: Identity): Promise<ReaderRow> {
  const id = newId()
  const hasProfile = carriesProfile(identity)
  // Any profile is newer than none.
  const issuedAt = hasProfile ? identity.issuedAt : new Date(0)
  for (let attempt = 0; attempt < 5; attempt++) {
    const found = await upsertReader(app.db.query, tenantId, { ...identity, id, issuedAt, hasProfile })
    if (found === undefined) continue
    const { written, ...row } = found
    // A new reader is in no cache yet.
    if (written && row.id !== id) announceChange(app, { kind: 'reader', tenantId, externalId: row.externalId })
    return row
  }
  throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
}

const carriesProfile = (identity: Identity): boolean =>
  identity.badges !== null || CLAIMED.some((name) => identity[name] !== null)

const changes = ({ reader, claimedBadges }: Known, identity: Identity): boolean =>
  carriesProfile(identity) &&
  (CLAIMED.some((name) => reader[name] !== identity[name]) || !isDeepStrictEqual(claimedBadges, identity.badges ?? []))
