import { type Id, newId } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'

/**
 * SQL: whether a reader wants to be told of a reply, and has not muted its author. Scalar
 * subqueries, which PostgreSQL looks up by key for each row: as a join it might read all mutes.
 */
export const wantsReply = (tenant: string, reader: string, author: string): string => `(
       coalesce((SELECT false FROM notification_opt_outs o
         WHERE o.tenant_id = ${tenant} AND o.reader_id = ${reader} AND o.kind = 'reply' LIMIT 1), true)
       AND coalesce((SELECT false FROM reader_mutes m
         WHERE m.tenant_id = ${tenant} AND m.reader_id = ${reader} AND m.muted_id = ${author} LIMIT 1), true))`

// In the transaction of the cause. The comment's discussion is locked, so that an erasure or a
// merge of the reader sees the notification.

interface Told {
  tenantId: Id
  readerId: Id
  commentId: Id
  now: Date
}

/** Notifies a reader of a reply that comes into view later than it was posted. */
export async function notifyOfReply(
  { prisma }: TxSql,
  { tenantId, readerId, commentId, now }: Told,
  authorId: Id | null,
): Promise<void> {
  if (await isOff(prisma, { tenantId, readerId, kind: 'reply' })) return
  const mute = { tenantId, readerId, mutedId: authorId ?? readerId }
  if ((await prisma.readerMute.findUnique({ where: { tenantId_readerId_mutedId: mute } })) !== null) return
  const data = { tenantId, id: newId(), readerId, kind: 'reply', commentId, createdAt: now } as const
  await prisma.notification.createMany({ data, skipDuplicates: true })
}

/**
 * Notifies the author of a comment of a decision on it (`keptFor`). It takes the place of the one
 * before, as it does on the comment.
 */
export async function notifyOfDecision(
  { prisma }: TxSql,
  { tenantId, readerId, commentId, now }: Omit<Told, 'readerId'> & { readerId: Id | null },
): Promise<void> {
  if (readerId === null || (await isOff(prisma, { tenantId, readerId, kind: 'decision' }))) return
  await prisma.notification.deleteMany({ where: { tenantId, commentId, readerId } })
  await prisma.notification.create({
    data: { tenantId, id: newId(), readerId, kind: 'decision', commentId, createdAt: now },
  })
}

const isOff = async (
  { notificationOptOut }: TxSql['prisma'],
  tenantId_readerId_kind: { tenantId: Id; readerId: Id; kind: 'reply' | 'decision' },
): Promise<boolean> => (await notificationOptOut.findUnique({ where: { tenantId_readerId_kind } })) !== null
