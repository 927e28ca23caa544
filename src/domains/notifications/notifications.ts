import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { type Page, type PageArgs, pageById } from '../../core/input/page.ts'
import { validate } from '../../core/input/validate.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Prisma, TxSql } from '../../core/database/database.ts'
import type { Notification as Row } from '../../generated/prisma/client.ts'
import type { Reader } from '../readers/fields.ts'
import { getViewer } from '../readers/records.ts'
import { requireReader } from '../readers/readers.ts'
import { type Notification, visibleOf } from './visible.ts'

/** How many rows are looked through at once: nearly all that a reader keeps (`MAX_KEPT`). */
const BATCH = 1000

interface Wanted {
  unread?: boolean
  id?: { lt?: Id; in?: Id[] }
  createdAt?: { lt: Date }
}

/** The first `most` notifications of a reader that they see now, newest first. */
async function findVisible(
  ctx: Ctx,
  readerId: Id,
  { unread, ...where }: Wanted,
  most: number,
): Promise<Notification[]> {
  const inbox = { tenantId: requireCaller(ctx).tenant.id, readerId, ...(unread === true && { readAt: null }) }
  const found: Notification[] = []
  let before = where.id
  // Most readers see the first that they have.
  for (let take = most; ; take = BATCH) {
    const rows = await ctx.app.prisma.notification.findMany({
      where: { ...inbox, ...where, ...(before && { id: before }) },
      orderBy: { id: 'desc' },
      take,
    })
    found.push(...(await visibleOf(ctx, rows)))
    const last = rows.at(-1)
    if (last === undefined || rows.length < take || found.length >= most) return found.slice(0, most)
    before = { ...where.id, lt: last.id }
  }
}

/** The asserted reader's notifications, newest first; null of anyone else. */
export async function listNotifications(
  ctx: Ctx,
  reader: Reader,
  { unread, ...args }: PageArgs & { unread?: boolean | null | undefined },
): Promise<Page<Notification> | null> {
  if (!('isViewer' in reader)) return null
  return pageById('notifications', args, ({ where, take }) =>
    findVisible(ctx, reader.id, { ...where, unread: unread === true }, take),
  )
}

/** A notification of the asserted reader; null if they see none. */
export const findNotification = perRequest<Id, Notification | null>(async (ctx, ids) => {
  const { id: readerId } = await requireReader(ctx)
  const found = await findVisible(ctx, readerId, { id: { in: [...new Set(ids)] } }, ids.length)
  return ids.map((id) => found.find((one) => one.id === id) ?? null)
})

/** The most unread notifications that are counted. */
export const COUNTED_UNREAD = 99

export interface UnreadCount {
  count: number
  hasMore: boolean
}

/** How many notifications the asserted reader has not read; null of anyone else. */
export async function countUnread(ctx: Ctx, reader: Reader): Promise<UnreadCount | null> {
  if (!('isViewer' in reader)) return null
  const found = (await findVisible(ctx, reader.id, { unread: true }, COUNTED_UNREAD + 1)).length
  return { count: Math.min(found, COUNTED_UNREAD), hasMore: found > COUNTED_UNREAD }
}

export const readInput = z.object({ ids: z.array(z.string()).min(1).max(100).nullish(), before: z.date().nullish() })

interface ReadWhich {
  ids?: readonly Id[] | null | undefined
  before?: Date | null | undefined
}

/**
 * Marks notifications that the asserted reader sees as read: these, or all that came before a time.
 * Others' and unknown ones are left alone. Safe to repeat. Throws
 * `validation_failed`, `identity_required`.
 */
export async function markNotificationsRead(ctx: Ctx, { which }: { which: ReadWhich }): Promise<Reader> {
  const { ids, before } = validate(readInput, which)
  if (ids != null && before != null) throw invalid('', 'at_most_one', 'must have only one of ids and before')
  const viewer = await getViewer(ctx)
  if (ids == null && before == null) return viewer
  // What is hidden now is still unread when it comes back.
  const wanted = {
    unread: true,
    ...(ids == null ? { createdAt: { lt: before ?? new Date(0) } } : { id: { in: ids.filter(isId) } }),
  }
  const inbox = { tenantId: requireCaller(ctx).tenant.id, readerId: viewer.id }
  for (;;) {
    const some = (await findVisible(ctx, viewer.id, wanted, BATCH)).map(({ id }) => id)
    // A transaction waits for another one of the same rows.
    if (some.length > 0) await ctx.app.db.transaction((tx) => markRead(tx, inbox, some))
    if (some.length < BATCH) return viewer
  }
}

export const markRead = ({ prisma }: TxSql, inbox: { tenantId: Id; readerId: Id }, ids: Id[]): Promise<unknown> =>
  prisma.notification.updateMany({ where: { ...inbox, id: { in: ids }, readAt: null }, data: { readAt: new Date() } })

/** A merge: the notifications of one reader are the other's from now on. */
export async function moveNotifications(sql: TxSql, tenantId: Id, readerId: Id, intoId: Id): Promise<void> {
  const { notification } = sql.prisma
  const toBoth = { comment: { is: { notifications: { some: { tenantId, readerId: intoId } } } } }
  await notification.deleteMany({ where: { tenantId, readerId, ...toBoth } })
  await notification.updateMany({ where: { tenantId, readerId }, data: { readerId: intoId } })
  // Nobody is told of their own comments, but for decisions on them.
  const own = { authorId: { in: [readerId, intoId] } }
  await notification.deleteMany({
    where: { tenantId, readerId: intoId, kind: { not: 'decision' }, comment: { is: own } },
  })
}

/** An erasure: what the reader was told is gone. */
export const forgetNotifications = async ({ prisma }: TxSql, tenantId: Id, readerId: Id): Promise<void> =>
  void (await prisma.notification.deleteMany({ where: { tenantId, readerId } }))

/** What a reader was told, for the export of their data, oldest first. */
export const exportInbox = ({ notification }: Prisma, tenantId: Id, readerId: Id): Promise<Row[]> =>
  notification.findMany({ where: { tenantId, readerId }, orderBy: { id: 'asc' } })
