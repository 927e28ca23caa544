import { recordAuditOfImport } from '../../core/audit.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { Id } from '../../core/ids.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { toldNow } from './news.ts'
import { MAX_CHANNELS, NEVER, type NoticeInput, shown } from './notices.ts'

interface AdoptedChannel extends Omit<NoticeInput, 'url'> {
  id: Id
  host: string
  createdAt: Date
}

/**
 * Imports a notice channel from another service. Its address is a secret, so it is told nothing
 * until an admin gives it one. `full`: the tenant has as many as there can be.
 */
export async function adoptNoticeChannel(
  sql: TxSql,
  of: { tenantId: Id; importId: Id },
  { id, kind, host, on, createdAt }: AdoptedChannel,
): Promise<'taken' | 'same' | 'full'> {
  const { tenantId } = of
  const { noticeChannel } = sql.prisma
  // Before the count, as for a new one: two at once cannot take the last place.
  await lockTenant(sql, tenantId)
  if ((await noticeChannel.findUnique({ where: { tenantId_id: { tenantId, id } } })) !== null) return 'same'
  if ((await noticeChannel.count({ where: { tenantId } })) >= MAX_CHANNELS) return 'full'
  const told = await toldNow(sql, tenantId)
  const lastError = 'imported without its address: edit it to give one'
  const data = { tenantId, id, kind, host, causes: [...on], told, lastError, createdAt, sealed: null, dueAt: NEVER }
  const channel = await noticeChannel.create({ data })
  await recordAuditOfImport(sql, of, { action: 'notice_channel.create', targetId: id, after: shown(channel) })
  return 'taken'
}
