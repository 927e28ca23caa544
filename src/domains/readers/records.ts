import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import { decodeCursor, encodeCursor, idOf, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import { searchSchema } from '../../core/search.ts'
import type { Sql } from '../../core/sql.ts'
import { externalIdSchema, noNul } from '../../core/texts.ts'
import { validate } from '../../core/validate.ts'
import type { Reader } from './readers.ts'
import * as sql from './record-sql.ts'

/** Keeps a reader from writing; in shadow, from being seen. */
export interface Ban {
  bannedAt: string
  /** Null: for good. */
  until: string | null
  reason: string | null
  shadow: boolean
}

/** A reader as moderators see them. */
export interface ReaderRecord extends Reader {
  /** Null where none is in force. */
  ban: Ban | null
  createdAt: string
}

interface ListReaders extends PageArgs {
  externalId?: string | null | undefined
  search?: string | null | undefined
}

const listSchema = z.object({ externalId: externalIdSchema.nullish(), search: searchSchema.nullish() })

/** The tenant's readers, newest first; with a search those that it finds, with an external id that one. Throws `validation_failed`. */
export async function listReaders(ctx: Ctx, args: ListReaders): Promise<Page<ReaderRecord>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const { externalId = null, search = null } = validate(listSchema, {
    externalId: args.externalId,
    search: args.search,
  })
  const after = decodeCursor('readers', 1, args.after)
  const before = after === null ? null : idOf(after[0])
  const rows = await sql.listReaders(ctx.app.db.query, tenant.id, { externalId, search }, before, size + 1)
  return pageOf(rows.map(toRecord), size, args, ({ id }) => encodeCursor('readers', id))
}

/** One reader, in a transaction where one is given. Throws `not_found`. */
export async function getReader(ctx: Ctx, id: Id, query: Sql = ctx.app.db.query): Promise<ReaderRecord> {
  const row = isId(id) ? await sql.selectReader(query, requireCaller(ctx).tenant.id, id) : undefined
  if (row === undefined) throw notFound()
  return toRecord(row)
}

export const banSchema = z.object({
  until: z
    .date()
    .refine((until) => until.getTime() > Date.now(), {
      message: 'must be in the future',
      params: { code: 'in_the_past' },
    })
    .nullish(),
  reason: noNul(z.string().trim().min(1).max(500)).nullish(),
})

interface BanReader {
  readerId: Id
  until?: Date | null | undefined
  reason?: string | null | undefined
  shadow?: boolean | null | undefined
}

/**
 * Bans a reader until a time, or for good. Their writes are `reader_banned` from then on; those of one who is banned in
 * shadow wait for a moderator. A ban that is in force is replaced. Throws `not_found`, `validation_failed`.
 */
export async function banReader(ctx: Ctx, { readerId, shadow, ...input }: BanReader): Promise<ReaderRecord> {
  const { until, reason } = validate(banSchema, input)
  const ban = { bannedAt: new Date(), until: until ?? null, reason: reason ?? null, shadow: shadow ?? false }
  return changeBan(ctx, readerId, ban)
}

/** Ends a reader's ban. One who is not banned stays as they are. Throws `not_found`. */
export const unbanReader = (ctx: Ctx, { readerId }: { readerId: Id }): Promise<ReaderRecord> =>
  changeBan(ctx, readerId, null)

async function changeBan(ctx: Ctx, id: Id, ban: sql.BanRow | null): Promise<ReaderRecord> {
  const { tenant } = requireCaller(ctx)
  const changed = await ctx.app.db.transaction(async (tx) => {
    const row = isId(id) ? await sql.lockReader(tx, tenant.id, id) : undefined
    if (row === undefined) throw notFound()
    if (ban === null && row.bannedAt === null) return toRecord(row)
    await sql.setBan(tx, tenant.id, id, ban)
    const before = toRecord(row)
    const after = { ...before, ban: ban === null ? null : toBan(ban) }
    const target = { action: ban === null ? 'reader.unban' : 'reader.ban', targetType: 'reader', targetId: id }
    await recordAudit(tx, ctx, { ...target, before: { ban: before.ban }, after: { ban: after.ban } })
    return after
  })
  announceChange(ctx.app, { kind: 'reader', tenantId: tenant.id, externalId: changed.externalId })
  return changed
}

const notFound = (): ServiceError => new ServiceError('not_found', { detail: 'There is no such reader.' })

function toRecord(row: sql.ReaderRecordRow): ReaderRecord {
  const { id, externalId, name, avatarUrl, profileUrl, createdAt } = row
  const { bannedAt, bannedUntil: until, banReason: reason, shadowBanned: shadow } = row
  const isOver = bannedAt === null || (until !== null && until.getTime() <= Date.now())
  const ban = isOver ? null : toBan({ bannedAt, until, reason, shadow })
  return { id, externalId, name, avatarUrl, profileUrl, ban, createdAt: createdAt.toISOString() }
}

const toBan = ({ bannedAt, until, reason, shadow }: sql.BanRow): Ban => ({
  bannedAt: bannedAt.toISOString(),
  until: until?.toISOString() ?? null,
  reason,
  shadow,
})
