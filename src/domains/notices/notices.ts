import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { type AuditRecord, recordAudit } from '../../core/audit.ts'
import type { Ctx } from '../../core/context.ts'
import type { TxSql } from '../../core/database/database.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { counted } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { requiredRow, rowPerRequest } from '../../core/per-request.ts'
import { seal, type SealKeys, unseal } from '../../core/secrets/seals.ts'
import type { Settings } from '../../core/settings/settings.ts'
import type { NoticeChannel } from '../../generated/prisma/client.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { outboundUrl } from '../webhooks/rules/urls.ts'
import { causesSchema, KINDS, type NoticeCause, type NoticeKind } from './causes.ts'
import { toldNow } from './news.ts'

export type { NoticeChannel }

/** The most channels of a tenant. */
export const MAX_CHANNELS = 10

export const noticeFields = z.object({
  kind: z.enum(KINDS),
  url: z.string(),
  on: causesSchema,
})

/** The fields that a change has: another kind is another channel. */
export const noticeChange = noticeFields.omit({ kind: true }).partial()

export interface NoticeInput {
  kind: NoticeKind
  url: string
  on: readonly NoticeCause[]
}

export type NoticeChange = { [Name in 'url' | 'on']?: NoticeInput[Name] | null | undefined }

export const noticeContext = (id: Id, kind: string): string => `notice-channel:${id}:${kind}`

/**
 * When a channel without an address is due. Workers of the release before must not read one: they
 * would take the null for damage.
 */
export const NEVER = new Date('9999-12-31T00:00:00Z')

/** The address of a channel. Throws where the process lacks the key, or the channel the address. */
export function addressOf(keys: SealKeys, { id, kind, sealed }: NoticeChannel): string {
  if (sealed === null) throw new Error('the channel was imported without its address')
  return unseal(keys, sealed, noticeContext(id, kind))
}

const where = (tenantId: Id, id: Id) => ({ tenantId_id: { tenantId, id } })

/** The form of a channel in the audit log: its address is a secret. */
export const shown = ({ kind, host, causes }: Pick<NoticeChannel, 'kind' | 'host' | 'causes'>) => ({
  kind,
  host,
  on: causes,
})

/** Refuses what workers must not call. Throws `validation_failed`. */
function checkUrl(settings: Settings, url: string): { host: string } {
  validate(z.object({ url: outboundUrl(settings) }), { url })
  return { host: new URL(url).host }
}

/** Creates a channel. What has happened before is not told. Throws `validation_failed`. */
export async function createNoticeChannel(ctx: Ctx, input: NoticeInput): Promise<NoticeChannel> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const { kind, url, on } = validate(noticeFields, input)
  const { host } = checkUrl(app.settings, url)
  const id = newId()
  const sealed = seal(app.settings, url, noticeContext(id, kind))
  return app.db.transaction(async (sql) => {
    // Two at once cannot take the last place.
    await lockTenant(sql, tenant.id)
    const count = await sql.prisma.noticeChannel.count({ where: { tenantId: tenant.id } })
    if (count >= MAX_CHANNELS)
      throw invalid('', 'too_many', `: there can be ${counted(MAX_CHANNELS, 'notice channel')}`)
    const told = await toldNow(sql, tenant.id)
    const data = { tenantId: tenant.id, id, kind, sealed, host, causes: on, told }
    const channel = await sql.prisma.noticeChannel.create({ data })
    await recordAudit(sql, ctx, { action: 'notice_channel.create', targetId: id, after: shown(channel) })
    return channel
  })
}

/** A channel of the tenant by its id, or null. */
export const findNoticeChannel = rowPerRequest<NoticeChannel>((ctx, some) =>
  ctx.app.prisma.noticeChannel.findMany({ where: some }),
)

/** A channel of the tenant. Throws `not_found`. */
export const getNoticeChannel = requiredRow(findNoticeChannel)

/** The tenant's channels, newest first. */
export const listNoticeChannels = (ctx: Ctx, { where: some, ...query }: PageQuery): Promise<NoticeChannel[]> =>
  ctx.app.prisma.noticeChannel.findMany({ ...query, where: { ...some, tenantId: requireCaller(ctx).tenant.id } })

/** Changes the given fields. Throws `not_found`, `validation_failed`. */
export async function updateNoticeChannel(
  ctx: Ctx,
  { id, ...input }: NoticeChange & { id: Id },
): Promise<NoticeChannel> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const { url, on } = validate(noticeChange, input)
  const host = url === undefined ? undefined : checkUrl(app.settings, url).host
  return changeChannel(ctx, id, 'update', async (sql, before) => {
    const moved = url !== undefined && {
      sealed: seal(app.settings, url, noticeContext(id, before.kind)),
      host: host ?? '',
    }
    const now = on === undefined ? {} : { causes: on, told: await toldOfNew(sql, before, on) }
    // Another address is tried at once. Without its lease, no worker writes over the change what it
    // has told by the former fields.
    const dueAt = moved || before.sealed !== null ? new Date() : NEVER
    const data = { ...(moved && { ...moved, failures: 0, lastError: null }), ...now, dueAt }
    const channel = await sql.prisma.noticeChannel.update({ where: where(tenant.id, id), data })
    const after = { ...shown(channel), ...(moved && { urlChanged: true }) }
    return { channel, before: shown(before), after }
  })
}

/** What was told already; of further causes what has happened before. */
async function toldOfNew(sql: TxSql, { tenantId, causes, told }: NoticeChannel, on: readonly string[]) {
  const now = await toldNow(sql, tenantId)
  const further = on.filter((cause) => !causes.includes(cause))
  return {
    ...(told as object),
    ...Object.fromEntries(Object.entries(now).filter(([cause]) => further.includes(cause))),
  }
}

/** The fields of `told` that are about no news. */
export interface SendState {
  /** When the last message of each cause was taken, and the last test was sent (ms since 1970). */
  sentAt?: Partial<Record<NoticeCause | 'test', number>>
  /** A test message is to be sent. */
  test?: true
  /** Until when a worker has the channel: then `dueAt` is that time (ms since 1970). */
  leasedUntil?: number
}

/** The least time between two test messages of a channel. */
const BETWEEN_TESTS_MS = 10_000

/**
 * Has a worker send a test message, whose outcome `lastSentAt` and `lastError` tell. Throws
 * `not_found`, `rate_limited` soon after another one, and `validation_failed` for a channel without
 * an address.
 */
export async function testNoticeChannel(ctx: Ctx, { id }: { id: Id }): Promise<NoticeChannel> {
  const { tenant } = requireCaller(ctx)
  return changeChannel(ctx, id, 'test', async (sql, { told, sealed, dueAt }) => {
    if (sealed === null) throw invalid('/url', 'required', 'is required: the channel was imported without one')
    const { sentAt, test, leasedUntil } = told as SendState
    const waitMs = test === true ? BETWEEN_TESTS_MS : (sentAt?.test ?? 0) + BETWEEN_TESTS_MS - Date.now()
    if (waitMs > 0)
      throw new ServiceError('rate_limited', {
        detail: 'A test message was sent a moment ago, or is about to be.',
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
    // A worker that has the channel keeps it: another one would send its messages again.
    const isLeased = leasedUntil === dueAt.getTime() && leasedUntil > Date.now()
    const data = { told: { ...(told as object), test: true }, ...(!isLeased && { dueAt: new Date() }) }
    const channel = await sql.prisma.noticeChannel.update({ where: where(tenant.id, id), data })
    return { channel, after: shown(channel) }
  })
}

/** Deletes a channel. Returns its last state. Throws `not_found`. */
export async function deleteNoticeChannel(ctx: Ctx, { id }: { id: Id }): Promise<NoticeChannel> {
  const { tenant } = requireCaller(ctx)
  return changeChannel(ctx, id, 'delete', async (sql, channel) => {
    await sql.prisma.noticeChannel.delete({ where: where(tenant.id, id) })
    return { channel, before: shown(channel) }
  })
}

/** What a change has made of a channel, with the forms of its audit entry. */
interface Changed extends Pick<AuditRecord, 'before' | 'after'> {
  channel: NoticeChannel
}

/** Changes a channel, whose tenant is locked, with its audit entry. Throws `not_found`. */
function changeChannel(
  ctx: Ctx,
  id: Id,
  verb: 'update' | 'test' | 'delete',
  change: (sql: TxSql, before: NoticeChannel) => Promise<Changed>,
): Promise<NoticeChannel> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.db.transaction(async (sql) => {
    if (!isId(id)) throw new ServiceError('not_found')
    await lockTenant(sql, tenant.id)
    const found = await sql.prisma.noticeChannel.findUnique({ where: where(tenant.id, id) })
    if (found === null) throw new ServiceError('not_found')
    const { channel, ...forms } = await change(sql, found)
    await recordAudit(sql, ctx, { action: `notice_channel.${verb}`, targetId: id, ...forms })
    return channel
  })
}
