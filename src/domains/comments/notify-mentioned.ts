import { type Id, newId } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { followReaders } from '../readers/merged.ts'
import { lockReader } from '../readers/records.ts'

interface Mentions {
  tenantId: Id
  readerIds: readonly Id[]
  commentId: Id
  authorId: Id | null
  now: Date
}

/**
 * Notifies readers of a comment in view that names them, in the transaction of the cause. Not those
 * whom it has told of already, such as the author of its parent, nor its own author.
 */
export async function notifyOfMentions(
  sql: TxSql,
  { tenantId, readerIds: named, commentId, authorId, now }: Mentions,
): Promise<void> {
  if (named.length === 0 || authorId === null) return
  const { notification, notificationOptOut, readerMute } = sql.prisma
  const present = await followReaders(sql.prisma, tenantId, named)
  const asked = new Set([...present.values()].map(({ id }) => id).filter((id) => id !== authorId))
  const off = await notificationOptOut.findMany({ where: { tenantId, readerId: { in: [...asked] }, kind: 'mention' } })
  const mutes = await readerMute.findMany({ where: { tenantId, readerId: { in: [...asked] }, mutedId: authorId } })
  for (const { readerId } of [...off, ...mutes]) asked.delete(readerId)
  const told: Id[] = []
  // Locked, and in one order: an erasure or a merge comes before, or sees the notification. It need
  // not lock this discussion, where the reader may have no comments any more.
  for (const id of [...asked].toSorted()) if (await lockReader(sql, tenantId, id)) told.push(id)
  if (told.length === 0) return
  const data = told.map(
    (readerId) => ({ tenantId, id: newId(), readerId, kind: 'mention', commentId, createdAt: now }) as const,
  )
  await notification.createMany({ data, skipDuplicates: true })
}
