import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { firstIdAt, type Id, isId } from '../../core/ids.ts'
import { encodeCursor, idInCursor } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { validate } from '../../core/input/validate.ts'
import type { Reader as ReaderRecord } from '../../generated/prisma/client.ts'
import { findReader } from '../readers/records.ts'
import { type Notification, visibleOf } from './visible.ts'

/** What one reader has not read, and the tenant's backend has not taken. */
export interface PendingInbox {
  reader: ReaderRecord
  /** Oldest first. */
  notifications: Notification[]
}

/** How many notifications one page looks through. */
export const SEARCHED_PENDING = 100

const MAX_AGE_SECONDS = 90 * 86_400

export const pendingInput = z.object({ olderThanSeconds: z.int().min(0).max(MAX_AGE_SECONDS).nullish() })

/**
 * Readers with notifications that they have not read, which were not handed out yet and are so old,
 * the longest waiting first. What a reader cannot see is left out. A page may be short, or empty,
 * and go on, and a reader may be on the next page again. Throws `validation_failed`.
 */
export async function listPending(
  ctx: Ctx,
  { olderThanSeconds: given, ...args }: PageArgs & { olderThanSeconds?: number | null | undefined },
): Promise<Page<PendingInbox>> {
  const { olderThanSeconds } = validate(pendingInput, { olderThanSeconds: given })
  const size = pageSize(args)
  const after = idInCursor('pending', args.after)
  const before = firstIdAt(new Date(Date.now() - (olderThanSeconds ?? 0) * 1000))
  const rows = await findWaiting(ctx, after, before)
  const told = new Map((await visibleOf(ctx, rows)).map((notification) => [notification.id, notification]))
  const readerIds = [...new Set([...told.values()].map(({ readerId }) => readerId))]
  const readers = new Map((await Promise.all(readerIds.map((id) => findReader(ctx, id)))).map((one) => [one?.id, one]))
  const inboxes = new Map<Id, PendingInbox>()
  let last = after
  let isCut = rows.length === SEARCHED_PENDING
  for (const { id, readerId } of rows) {
    const [notification, reader, inbox] = [told.get(id), readers.get(readerId), inboxes.get(readerId)]
    const isTold = notification !== undefined && reader != null
    if (isTold && inbox === undefined && inboxes.size === size) {
      isCut = true
      break
    }
    last = id
    if (isTold && inbox === undefined) inboxes.set(readerId, { reader, notifications: [notification] })
    else if (isTold) inbox?.notifications.push(notification)
  }
  const endCursor = last === null ? null : encodeCursor('pending', last)
  const page = pageOf([...inboxes.values()], size, args, () => endCursor ?? '', isCut)
  return { ...page, pageInfo: { ...page.pageInfo, endCursor } }
}

const findWaiting = (ctx: Ctx, after: Id | null, before: Id) =>
  ctx.app.prisma.notification.findMany({
    where: {
      tenantId: requireCaller(ctx).tenant.id,
      readAt: null,
      handedOutAt: null,
      id: { lt: before, ...(after !== null && { gt: after }) },
    },
    orderBy: { id: 'asc' },
    take: SEARCHED_PENDING,
  })

export const handedOutInput = z.object({ ids: z.array(z.string()).min(1).max(100) })

/**
 * Notes that the tenant's backend has taken these notifications. Returns those that nobody had
 * taken before: of several callers at once, one gets each. Throws `validation_failed`.
 */
export async function markHandedOut(ctx: Ctx, input: { ids: readonly Id[] }): Promise<Id[]> {
  const ids = validate(handedOutInput, input).ids.filter(isId).toSorted()
  const where = { tenantId: requireCaller(ctx).tenant.id, id: { in: ids }, handedOutAt: null }
  const data = { handedOutAt: new Date() }
  const taken = await ctx.app.db.transaction(({ prisma }) =>
    prisma.notification.updateManyAndReturn({ where, data, select: { id: true } }),
  )
  return taken.map(({ id }) => id).toSorted()
}
