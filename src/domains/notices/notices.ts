import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { recordAudit } from '../../core/audit.ts'
import type { Ctx } from '../../core/context.ts'
import type { TxSql } from '../../core/database/database.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { counted } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { rowPerRequest } from '../../core/per-request.ts'
import { seal, type SealKeys, unseal } from '../../core/secrets/seals.ts'
import type { Settings } from '../../core/settings/settings.ts'
import type { NoticeChannel } from '../../generated/prisma/client.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { outboundUrl } from '../webhooks/sending/urls.ts'
import { CAUSES, KINDS, type NoticeCause, type NoticeKind } from './causes.ts'
import { toldNow } from './news.ts'

export type { NoticeChannel }

/** The most channels of a tenant. */
export const MAX_CHANNELS = 10

export const noticeFields = z.object({
  kind: z.enum(KINDS),
  url: z.string(),
  on: z
    .array(z.enum(CAUSES))
    .min(1)
    .max(CAUSES.length)
    .refine((causes) => new Set(causes).size === causes.length, {
      message: 'must not repeat one',
      params: { code: 'repeated' },
    }),
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

/** The address of a channel. Throws where the process lacks the key. */
export const addressOf = (keys: SealKeys, { id, kind, sealed }: NoticeChannel): string =>
  unseal(keys, sealed, noticeContext(id, kind))

const where = (tenantId: Id, id: Id) => ({ tenantId_id: { tenantId, id } })

/** The form of a channel in the audit log: its address is a secret. */
const shown = ({ kind, host, causes }: Pick<NoticeChannel, 'kind' | 'host' | 'causes'>) => ({ kind, host, on: causes })

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
    await recordAudit(sql, ctx, {
      action: 'notice_channel.create',
      targetType: 'notice_channel',
      targetId: id,
      after: shown(channel),
    })
    return channel
  })
}

/** A channel of the tenant. Throws `not_found`. */
export async function getNoticeChannel(ctx: Ctx, { id }: { id: Id }): Promise<NoticeChannel> {
  const found = isId(id) ? await findNoticeChannel(ctx, id) : null
  if (found === null) throw new ServiceError('not_found')
  return found
}

/** A channel of the tenant by its id; null if there is none. */
export const findNoticeChannel = rowPerRequest<NoticeChannel>((ctx, some) =>
  ctx.app.prisma.noticeChannel.findMany({ where: some }),
)

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
  return app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant.id, id)
    const moved = url !== undefined && {
      sealed: seal(app.settings, url, noticeContext(id, before.kind)),
      host: host ?? '',
    }
    const now = on === undefined ? {} : { causes: on, told: await toldOfNew(sql, before, on) }
    // Another address is tried at once. Without its lease, no worker writes over the change what it
    // has told by the former fields.
    const data = { ...(moved && { ...moved, failures: 0, lastError: null }), ...now, dueAt: new Date() }
    const after = await sql.prisma.noticeChannel.update({ where: where(tenant.id, id), data })
    await recordAudit(sql, ctx, {
      action: 'notice_channel.update',
      targetType: 'notice_channel',
      targetId: id,
      before: shown(before),
      after: { ...shown(after), ...(moved && { urlChanged: true }) },
    })
    return after
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

/** Deletes a channel. Returns its last state. Throws `not_found`. */
export async function deleteNoticeChannel(ctx: Ctx, { id }: { id: Id }): Promise<NoticeChannel> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant.id, id)
    await sql.prisma.noticeChannel.delete({ where: where(tenant.id, id) })
    await recordAudit(sql, ctx, {
      action: 'notice_channel.delete',
      targetType: 'notice_channel',
      targetId: id,
      before: shown(before),
    })
    return before
  })
}

async function lock(sql: TxSql, tenantId: Id, id: Id): Promise<NoticeChannel> {
  if (!isId(id)) throw new ServiceError('not_found')
  await lockTenant(sql, tenantId)
  const channel = await sql.prisma.noticeChannel.findUnique({ where: where(tenantId, id) })
  if (channel === null) throw new ServiceError('not_found')
  return channel
}
