import { requireCaller } from '../../../core/access.ts'
import { perApp } from '../../../core/app.ts'
import type { Ctx } from '../../../core/context.ts'
import { invalid, noSuch, ServiceError } from '../../../core/errors.ts'
import { type Id, isId, newId } from '../../../core/ids.ts'
import { type Page, type PageArgs, pageById } from '../../../core/input/page.ts'
import { roomOf } from '../../../core/cache.ts'
import { announceChange, createReadCache, followCacheNews } from '../../../core/read-cache.ts'
import type { Prisma, TxSql } from '../../../core/database/database.ts'
import { statement } from '../../../core/database/statements.ts'
import type { ReaderMute } from '../../../generated/prisma/client.ts'
import type { Reader } from '../fields.ts'
import { ReaderGone } from '../gone.ts'
import { findReaderInView } from '../in-view.ts'
import { asReader, requireReader } from '../readers.ts'
import { lockReaderIn } from '../records.ts'

/** The most readers that one reader may mute: each of their requests may need all of them. */
const MAX_MUTES = 1000

/**
 * The readers whom each reader has muted, and which tenants have any mutes. Asked for every page
 * that a reader gets.
 */
const mutes = perApp((app) => {
  const tenants = createReadCache<boolean>({
    room: roomOf(app, 'other'),
    part: 0.25,
    read: async (tenantId) => (await app.prisma.readerMute.findFirst({ where: { tenantId } })) !== null,
  })
  const cache = createReadCache<ReadonlySet<Id>>({
    room: roomOf(app, 'mutes'),
    read: (key) => {
      const [tenantId = '', readerId = ''] = key.split(' ')
      return readMuted(app.prisma, tenantId, readerId)
    },
  })
  followCacheNews(app, {
    kind: 'mutes',
    forget: ({ tenantId, readerId }) => {
      tenants.forget(tenantId)
      cache.forget(keyOf(tenantId, readerId))
    },
    clear: () => {
      tenants.clear()
      cache.clear()
    },
  })
  return { tenants, cache }
})

async function readMuted({ readerMute }: Prisma, tenantId: Id, readerId: Id): Promise<ReadonlySet<Id>> {
  const rows = await readerMute.findMany({
    where: { tenantId, readerId },
    select: { mutedId: true },
    // After a merge there may be more.
    orderBy: { id: 'desc' },
    take: MAX_MUTES,
  })
  return new Set(rows.map(({ mutedId }) => mutedId))
}

const keyOf = (tenantId: Id, readerId: Id): string => `${tenantId} ${readerId}`

/** The readers whom the asserted reader has muted; none without an identity. At most 5 s old. */
export async function mutedByViewer(ctx: Ctx): Promise<ReadonlySet<Id>> {
  const { tenant, identity } = requireCaller(ctx)
  if (identity === null) return NOBODY
  const { id } = await requireReader(ctx)
  // A request that is one transaction must not wait for a read on another connection.
  if (ctx.app.scope !== undefined) return readMuted(ctx.app.prisma, tenant.id, id)
  const { tenants, cache } = mutes(ctx.app)
  return (await tenants.get(tenant.id)) ? cache.get(keyOf(tenant.id, id)) : NOBODY
}

/** True if the asserted reader has muted this one; null otherwise. */
export async function isMutedByViewer(ctx: Ctx, id: Id): Promise<true | null> {
  if (requireCaller(ctx).identity === null) return null
  // What readers write themselves needs no look-up.
  if ((await requireReader(ctx)).id === id) return null
  return (await mutedByViewer(ctx)).has(id) ? true : null
}

const NOBODY: ReadonlySet<Id> = new Set()

/**
 * Mutes a reader for the asserted reader, who is marked as the author of comments from then on.
 * Safe to repeat. Throws `not_found` for one who is not in view, `validation_failed`,
 * `identity_required`.
 */
export async function muteReader(ctx: Ctx, { readerId: mutedId }: { readerId: Id }): Promise<ReaderMute> {
  const { tenant } = requireCaller(ctx)
  await requireInView(ctx, mutedId)
  return asReader(ctx, async ({ id: readerId }) => {
    if (readerId === mutedId) throw invalid('/readerId', 'same_reader', 'must be another reader')
    const mute = await ctx.app.db.transaction(async (sql) => {
      // In one order, so that two who mute each other do not wait for each other.
      for (const id of [readerId, mutedId].toSorted()) await lockIn(sql, ctx, id, id === readerId)
      const { readerMute } = sql.prisma
      const where = { tenantId: tenant.id, readerId }
      const known = await readerMute.findUnique({ where: { tenantId_readerId_mutedId: { ...where, mutedId } } })
      if (known !== null) return known
      if ((await readerMute.count({ where })) >= MAX_MUTES) {
        throw invalid('/readerId', 'too_many', `must leave you with at most ${MAX_MUTES} muted readers`)
      }
      return readerMute.create({ data: { ...where, mutedId, id: newId() } })
    })
    announceChange(ctx.app, { kind: 'mutes', tenantId: tenant.id, readerId })
    return mute
  })
}

async function requireInView(ctx: Ctx, id: Id): Promise<void> {
  const reader = isId(id) ? await findReaderInView(ctx, id) : null
  if (reader === null) throw noSuch('reader')
}

/** Locks one of both, so that an erasure or a merge waits. */
async function lockIn(sql: TxSql, ctx: Ctx, id: Id, isViewer: boolean): Promise<void> {
  await lockReaderIn(sql, ctx, id).catch((error: unknown) => {
    throw isViewer && error instanceof ServiceError && error.code === 'not_found' ? new ReaderGone() : error
  })
}

/**
 * Ends a mute of the asserted reader. Safe to repeat. Throws `not_found` for one who is neither
 * muted nor in view, `identity_required`.
 */
export async function unmuteReader(ctx: Ctx, { readerId: mutedId }: { readerId: Id }): Promise<Id> {
  const { tenant } = requireCaller(ctx)
  const { id: readerId } = await requireReader(ctx)
  const where = { tenantId: tenant.id, readerId, mutedId }
  const { count } = isId(mutedId) ? await ctx.app.prisma.readerMute.deleteMany({ where }) : { count: 0 }
  if (count === 0) await requireInView(ctx, mutedId)
  announceChange(ctx.app, { kind: 'mutes', tenantId: tenant.id, readerId })
  return mutedId
}

/** The mutes of the asserted reader, newest first; null of anyone else. */
export async function listMutes(ctx: Ctx, reader: Reader, args: PageArgs): Promise<Page<ReaderMute> | null> {
  if (!('isViewer' in reader)) return null
  const { tenant } = requireCaller(ctx)
  return pageById('mutes', args, ({ where, ...query }) =>
    ctx.app.prisma.readerMute.findMany({ ...query, where: { ...where, tenantId: tenant.id, readerId: reader.id } }),
  )
}

// One statement: a reader may be muted by as many as the tenant has.
/** A merge: all mutes of one reader, and all mutes by them, are the other reader's from now on. */
export const moveMutes = statement(
  'move_mutes',
  `WITH moved AS (
     DELETE FROM reader_mutes WHERE tenant_id = $1 AND (reader_id = $2 OR muted_id = $2) RETURNING *
   ), renamed AS (
     SELECT id, created_at, CASE reader_id WHEN $2 THEN $3 ELSE reader_id END AS reader_id,
       CASE muted_id WHEN $2 THEN $3 ELSE muted_id END AS muted_id
     FROM moved
   )
   INSERT INTO reader_mutes (tenant_id, id, reader_id, muted_id, created_at)
   SELECT $1, id, reader_id, muted_id, created_at FROM renamed WHERE reader_id <> muted_id
   ON CONFLICT DO NOTHING`,
).run<[tenantId: Id, readerId: Id, intoId: Id]>()

/** Whom a reader has muted, for the export of their data, oldest first. */
export const exportMutes = ({ readerMute }: Prisma, tenantId: Id, readerId: Id): Promise<ReaderMute[]> =>
  readerMute.findMany({ where: { tenantId, readerId }, orderBy: { id: 'asc' } })
