import { LRUCache } from 'lru-cache'

import {
  type App,
  type Ctx,
  type Identity,
  perApp,
  requireCaller,
  requireIdentity,
  type Tenant,
} from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { growing } from '../../core/growing.ts'
import { type Id, newId } from '../../core/ids.ts'
import { announceChange, followCacheNews } from '../../core/read-cache.ts'
import { isReaderGone, ReaderGone } from './gone.ts'
import { type ReaderRow, upsertReader } from './sql.ts'

/** A reader's profile in answers. */
export interface Reader {
  id: Id
  externalId: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
}

interface Known {
  reader: Reader
  /**
   * The time of the newest assertion with this profile that this process has seen: older ones
   * change nothing.
   */
  issuedAt: number
}

const FIVE_MINUTES_MS = 300_000

interface Writing {
  reader: Promise<Reader>
  /** Set by a message during the read, whose result may be stale. */
  stale: boolean
}

const readers = perApp((app) => {
  const known = new LRUCache<string, Known>({ ...growing(50_000), ttl: FIVE_MINUTES_MS })
  const underWay = new Map<string, Writing>()
  const forget = (key: string): void => {
    known.delete(key)
    const writing = underWay.get(key)
    if (writing !== undefined) writing.stale = true
  }
  followCacheNews(app, {
    kind: 'reader',
    forget: ({ tenantId, externalId }) => forget(keyOf(tenantId, externalId)),
    clear: () => known.clear(),
  })
  return { known, underWay, forget }
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
 * profile. An assertion without profile claims changes no profile. No query is made if this process
 * knows that nothing has changed.
 */
export async function ensureReader(app: App, tenant: Tenant, identity: Identity): Promise<Reader> {
  const { known, underWay } = readers(app)
  const key = keyOf(tenant.id, identity.externalId)
  const entry = known.get(key)
  const issuedAt = identity.issuedAt.getTime()
  if (entry !== undefined && (issuedAt <= entry.issuedAt || !changes(entry.reader, identity))) {
    if (carriesProfile(identity)) entry.issuedAt = Math.max(entry.issuedAt, issuedAt)
    return entry.reader
  }
  if (app.scope !== undefined) {
    // Not shared with other requests: the row may never be committed, and a request that waits
    // while it holds a connection could wait forever. Not cached either: by the commit it may be
    // stale.
    const { profileIssuedAt: _, ...reader } = await upsertUntilSeen(app, tenant.id, identity)
    return reader
  }
  // Concurrent requests of one reader wait for one statement, not for the row's lock.
  const first = underWay.get(key)
  if (first !== undefined) return first.reader.then(() => ensureReader(app, tenant, identity))
  const row = upsertUntilSeen(app, tenant.id, identity)
  const writing: Writing = { reader: row, stale: false }
  underWay.set(key, writing)
  try {
    const { profileIssuedAt, ...reader } = await row
    const newest = carriesProfile(identity) ? Math.max(profileIssuedAt.getTime(), issuedAt) : profileIssuedAt.getTime()
    // A merged reader is not cached: messages about the other reader do not name this key.
    const isMerged = reader.externalId !== identity.externalId
    if (!writing.stale && !isMerged) known.set(key, { reader, issuedAt: newest })
    return reader
  } finally {
    underWay.delete(key)
  }
}

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

const carriesProfile = ({ name, avatarUrl, profileUrl }: Identity): boolean =>
  name !== null || avatarUrl !== null || profileUrl !== null

const changes = (reader: Reader, identity: Identity): boolean =>
  carriesProfile(identity) &&
  (reader.name !== identity.name ||
    reader.avatarUrl !== identity.avatarUrl ||
    reader.profileUrl !== identity.profileUrl)
