import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import { hasCapability } from '../../core/caller.ts'
import type { Capability } from '../../core/capabilities.ts'
import type { Ctx } from '../../core/context.ts'
import { encodeCursor, idInCursor } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { invalid, noSuch, ServiceError } from '../../core/errors.ts'
import { FIRST_ID, type Id, isId, LAST_ID } from '../../core/ids.ts'
import { rowPerRequest } from '../../core/per-request.ts'
import { announceChange } from '../../core/read-cache.ts'
import { searchSchema } from '../../core/database/search.ts'
import type { Prisma, TxSql } from '../../core/database/database.ts'
import { atMost, noNul, readerIdSchema } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { wrong } from '../../core/input/schemas.ts'
import type { Reader as ReaderRecord } from '../../generated/prisma/client.ts'
import { announceEnd, endTokensOfReader } from './ended-tokens.ts'
import { beginSweep, COMMENTS_OF_BANNED, type OfBanned } from './ban-sweeps.ts'
import { isBanned } from './bans.ts'
import { NO_BAN, type OF_RECORD, type Reader, type StoredBan } from './fields.ts'
import { requireReader } from './readers.ts'
import { findReaderCalled, lockReader, searchReaders, selectReaderIds } from './record-sql.ts'

/** Keeps a reader from writing; in shadow, from being seen. */
export interface Ban {
  bannedAt: Date
  /** Null: for good. */
  until: Date | null
  reason: string | null
  shadow: boolean
}

interface ListReaders extends PageArgs {
  externalId?: string | null | undefined
  search?: string | null | undefined
}

/** Later than any id, in a form that cursors allow: the start of a list with the newest first. */
const BEFORE_ALL: Id = 'ffffffff-ffff-7fff-bfff-ffffffffffff'

const listSchema = z.object({ externalId: readerIdSchema.nullish(), search: searchSchema.nullish() })

/**
 * The tenant's readers, newest first. With a search, those that match it; a reader whose external
 * id is the search itself, or the one into whom that reader was merged, comes first. With an
 * external id, the reader who has it, or the one into whom that reader was merged. Throws
 * `validation_failed`.
 */
export async function listReaders(ctx: Ctx, args: ListReaders): Promise<Page<ReaderRecord>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const { externalId = null, search = null } = validate(listSchema, {
    externalId: args.externalId,
    search: args.search,
  })
  const after = idInCursor('readers', args.after)
  const before = after ?? LAST_ID
  const name = externalId ?? search
  const called = name === null ? undefined : await findReaderCalled(ctx.app.db.query, tenant.id, name)
  if (externalId !== null && search === null) {
    const one = called !== undefined && called.id < before ? [called] : []
    return pageOf(one, size, args, ({ id }) => encodeCursor('readers', id))
  }
  const exact = externalId === null ? called : undefined
  const rows =
    search === null
      ? await ctx.app.prisma.reader.findMany({
          where: {
            tenantId: tenant.id,
            erasingAt: null,
            // The least id says nothing, but that the list is read in the order of its index.
            id: { gte: FIRST_ID, lt: before },
          },
          orderBy: { id: 'desc' },
          take: size + 1,
        })
      : await searchReaders(ctx.app.db.query, tenant.id, {
          search,
          externalId: externalId === null ? null : (called?.externalId ?? externalId),
          except: exact?.id ?? null,
          before,
          limit: size + 1,
        })
  const found = exact === undefined || after !== null ? rows : [exact, ...rows].slice(0, size + 1)
  // After the exact match, the list starts from its beginning.
  return pageOf(found, size, args, ({ id }) => encodeCursor('readers', id === exact?.id ? BEFORE_ALL : id))
}

/** One reader. One statement serves all of a request. Throws `not_found`. */
export async function getReader(ctx: Ctx, id: Id): Promise<ReaderRecord> {
  const reader = isId(id) ? await findReader(ctx, id) : null
  if (reader === null) throw await missingReader(ctx.app.prisma, ctx, id)
  return reader
}

/** The error for a reader who is not there. `mergedInto`: the reader who stayed after a merge. */
export const noSuchReader = (mergedInto?: Id): ServiceError =>
  mergedInto === undefined
    ? noSuch('reader')
    : new ServiceError('not_found', { detail: `The reader was merged into ${mergedInto} before.` })

/** `noSuchReader`, which tells callers who see readers' records who stayed after a merge. */
export async function missingReader({ readerMerge }: Prisma, ctx: Ctx, readerId: Id): Promise<ServiceError> {
  if (!isId(readerId) || !seesRecords(ctx)) return noSuchReader()
  const where = { tenantId_readerId: { tenantId: requireCaller(ctx).tenant.id, readerId } }
  return noSuchReader((await readerMerge.findUnique({ where, select: { intoId: true } }))?.intoId)
}

/** A reader by their id, or null. */
export const findReader = rowPerRequest<ReaderRecord>((ctx, where) =>
  ctx.app.prisma.reader.findMany({ where: { ...where, ...FOUND } }),
)

/** The ids of the readers with these external ids, those that there are, merged ones followed. */
export async function findReaderIds(ctx: Ctx, externalIds: readonly string[]): Promise<ReadonlyMap<string, Id>> {
  const rows = await selectReaderIds(ctx.app.db.query, requireCaller(ctx).tenant.id, externalIds)
  return new Map(rows.map(({ id, externalId }) => [externalId, id]))
}

// Excludes readers whose erasure has begun.
const FOUND = { erasingAt: null }

/** A reader by their id, read within a transaction. Throws `not_found`. */
export async function getReaderIn({ prisma }: TxSql, ctx: Ctx, id: Id): Promise<ReaderRecord> {
  const { tenant } = requireCaller(ctx)
  const where = { tenantId_id: { tenantId: tenant.id, id }, ...FOUND }
  const reader = isId(id) ? await prisma.reader.findUnique({ where }) : null
  if (reader === null) throw await missingReader(prisma, ctx, id)
  return reader
}

/** A reader, locked until the transaction ends, so that an erasure waits. Throws `not_found`. */
export async function lockReaderIn(sql: TxSql, ctx: Ctx, id: Id): Promise<ReaderRecord> {
  if (isId(id)) await lockReader(sql, requireCaller(ctx).tenant.id, id)
  return getReaderIn(sql, ctx, id)
}

/** Deletes a reader's row, to which no other refers. It is locked. */
export const deleteReader = async ({ prisma }: TxSql, tenantId: Id, id: Id): Promise<void> =>
  void (await prisma.reader.deleteMany({ where: { tenantId, id } }))

export { lockReader }

/** A reader's ban in force; null without one. */
export const banOf = (row: ReaderRecord): Ban | null =>
  row.bannedAt !== null && isBanned(row, new Date())
    ? { bannedAt: row.bannedAt, until: row.bannedUntil, reason: row.banReason, shadow: row.shadowBanned }
    : null

/** The asserted reader, for whom the answer is: they see their record as its reader does. */
interface Viewer extends ReaderRecord {
  isViewer: true
}

/** The asserted reader. Throws `identity_required`. */
export async function getViewer(ctx: Ctx): Promise<Viewer> {
  const reader = await requireReader(ctx)
  return { ...(await getReader(ctx, reader.id)), ...reader, isViewer: true }
}

/** Callers with one of these capabilities see all that is stored of readers. */
export const RECORD_CAPABILITIES = ['moderate_content', 'manage_settings'] as const satisfies readonly Capability[]

export const seesRecords = (ctx: Ctx): boolean =>
  RECORD_CAPABILITIES.some((capability) => hasCapability(requireCaller(ctx).actor, capability))

/** Whether the caller sees the reader's record: `all` of it, the reader's `own` part, or `none`. */
export async function sightOf(ctx: Ctx, reader: Reader): Promise<'all' | 'own' | 'none'> {
  // First: a publisher's backend may have a key that may moderate, and asks for its reader.
  if ('isViewer' in reader) return 'own'
  if (seesRecords(ctx)) return 'all'
  if (requireCaller(ctx).identity === null) return 'none'
  return (await requireReader(ctx)).id === reader.id ? 'own' : 'none'
}

/** A field of a reader's record. Null for callers who do not see these. */
export const fieldOfRecord = async <Name extends (typeof OF_RECORD)[number]>(
  ctx: Ctx,
  reader: Reader,
  name: Name,
): Promise<ReaderRecord[Name] | null> => (seesRecords(ctx) ? ((await recordOf(ctx, reader))?.[name] ?? null) : null)

/** A ban in an answer. */
export interface ShownBan extends Ban {
  /** Null where the caller does not see what becomes of the comments. */
  readerId: Id | null
}

/**
 * A reader's ban as the caller may see it: the reader learns no reason, and must not notice a ban
 * in shadow.
 */
export async function banFor(ctx: Ctx, reader: Reader): Promise<ShownBan | null> {
  const sight = await sightOf(ctx, reader)
  const record = sight === 'none' ? null : await recordOf(ctx, reader)
  const ban = record === null ? null : banOf(record)
  if (ban === null) return null
  if (sight === 'all') return { ...ban, readerId: reader.id }
  return ban.shadow ? null : { ...ban, reason: null, readerId: null }
}

/** All that is stored of a reader; null for one who is gone. */
export const recordOf = async (ctx: Ctx, reader: Reader): Promise<ReaderRecord | null> =>
  isRecord(reader) ? reader : findReader(ctx, reader.id)

/** An author or a reporter has only the profile. */
const isRecord = (reader: Reader): reader is ReaderRecord => 'bannedAt' in reader

export const banSchema = z.object({
  until: z
    .date()
    .refine((until) => until.getTime() > Date.now(), wrong('in_the_past', 'must be in the future'))
    .nullish(),
  reason: noNul(atMost(500, z.string().trim().min(1))).nullish(),
  comments: z.enum(COMMENTS_OF_BANNED).nullish(),
})

interface BanReader {
  readerId: Id
  until?: Date | null | undefined
  reason?: string | null | undefined
  shadow?: boolean | null | undefined
  comments?: OfBanned | null | undefined
}

const IN_SHADOW = 'must be keep with a ban in shadow: the reader would notice the change'

/**
 * Bans a reader until a time, or for good. From then on their writes are `reader_banned`; with a
 * shadow ban they wait for a moderator. Workers do to the reader's comments what `comments` says:
 * keep them, withhold those in view, or reject these and the pending ones. An earlier ban is
 * replaced, and what its work has not done yet stays as it is. Throws `not_found`,
 * `validation_failed`.
 */
export async function banReader(ctx: Ctx, { readerId, shadow, ...input }: BanReader): Promise<ReaderRecord> {
  const { until, reason, comments } = validate(banSchema, input)
  if (shadow === true && (comments ?? 'keep') !== 'keep') throw invalid('/comments', 'not_allowed', IN_SHADOW)
  const ban = {
    bannedAt: new Date(),
    bannedUntil: until ?? null,
    banReason: reason ?? null,
    shadowBanned: shadow ?? false,
  }
  return changeBan(ctx, readerId, ban, comments ?? 'keep')
}

/**
 * Ends a reader's ban, if there is one. Comments that it has withheld or rejected stay so. Throws
 * `not_found`.
 */
export const unbanReader = (ctx: Ctx, { readerId }: { readerId: Id }): Promise<ReaderRecord> =>
  changeBan(ctx, readerId, NO_BAN)

async function changeBan(ctx: Ctx, id: Id, ban: StoredBan, comments: OfBanned = 'keep'): Promise<ReaderRecord> {
  const { tenant } = requireCaller(ctx)
  const { changed, ended } = await ctx.app.db.transaction(async (sql) => {
    const before = await lockReaderIn(sql, ctx, id)
    if (ban.bannedAt === null && before.bannedAt === null) return { changed: before, ended: [] }
    // A reader must not notice a ban in shadow.
    const ends = ban.bannedAt !== null && !ban.shadowBanned
    const after = await sql.prisma.reader.update({ where: { tenantId_id: { tenantId: tenant.id, id } }, data: ban })
    await beginSweep(sql, ctx, id, comments)
    await recordAudit(sql, ctx, {
      action: ban.bannedAt === null ? 'reader.unban' : 'reader.ban',
      targetId: id,
      before: { ban: banOf(before) },
      after: { ban: banOf(after), ...(comments !== 'keep' && { comments }) },
    })
    return { changed: after, ended: ends ? await endTokensOfReader(sql, tenant.id, id) : [] }
  })
  announceEnd(ctx.app, ended)
  announceChange(ctx.app, { kind: 'reader', tenantId: tenant.id, externalId: changed.externalId })
  return changed
}
