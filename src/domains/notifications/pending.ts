import { z } from 'zod'

import { type Ctx, requireCaller } from '../../core/context.ts'
import { firstIdAt, type Id, isId } from '../../core/ids.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/input/cursor.ts'
import { validate } from '../../core/input/validate.ts'
import type { Reader as ReaderRecord } from '../../generated/prisma/client.ts'
import { isBanned } from '../readers/bans.ts'
import type { Notification } from './notifications.ts'

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
  const isVisible = await visibleIn(ctx, rows)
  const inboxes = new Map<Id, PendingInbox>()
  let last = after
  let isCut = rows.length === SEARCHED_PENDING
  for (const row of rows) {
    const reader = isVisible(row)
    const inbox = inboxes.get(row.readerId)
    if (reader !== null && inbox === undefined && inboxes.size === size) {
      isCut = true
      break
    }
    last = row.id
    if (inbox !== undefined && reader !== null) inbox.notifications.push(row)
    else if (reader !== null) inboxes.set(row.readerId, { reader, notifications: [row] })
  }
  const endCursor = last === null ? null : encodeCursor('pending', last)
  const page = pageOf([...inboxes.values()], size, args, () => endCursor ?? '', isCut)
  return { ...page, pageInfo: { ...page.pageInfo, endCursor } }
}

type Waiting = Awaited<ReturnType<typeof findWaiting>>[number]

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
    include: {
      comment: {
        select: {
          discussionId: true,
          authorId: true,
          status: true,
          decision: true,
          discussion: { select: { deletedAt: true } },
        },
      },
    },
  })

/** Says to whom each of these may be told now: see `visibleTo`. Null: to nobody. */
async function visibleIn(ctx: Ctx, rows: readonly Waiting[]): Promise<(row: Waiting) => ReaderRecord | null> {
  const { prisma } = ctx.app
  const tenantId = requireCaller(ctx).tenant.id
  const ids = [...new Set(rows.flatMap(({ readerId, comment: { authorId } }) => [readerId, authorId ?? readerId]))]
  const readers = new Map(
    (await prisma.reader.findMany({ where: { tenantId, id: { in: ids }, erasingAt: null } })).map((row) => [
      row.id,
      row,
    ]),
  )
  const pairs = rows.flatMap(({ readerId, comment: { authorId } }) =>
    authorId === null || authorId === readerId ? [] : [{ readerId, mutedId: authorId }],
  )
  const mutes = pairs.length === 0 ? [] : await prisma.readerMute.findMany({ where: { tenantId, OR: pairs } })
  const muted = new Set(mutes.map(({ readerId, mutedId }) => `${readerId} ${mutedId}`))
  const now = new Date()
  return ({ kind, readerId, comment: { authorId, status, decision, discussion } }) => {
    const reader = readers.get(readerId)
    if (reader === undefined || authorId === null || discussion.deletedAt !== null) return null
    if (kind === 'decision') {
      const isInShadow = reader.shadowBanned && isBanned(reader, now)
      return authorId === readerId && decision !== null && !isInShadow ? reader : null
    }
    const isTold = status === 'approved' && authorId !== readerId && readers.has(authorId)
    return isTold && !muted.has(`${readerId} ${authorId}`) ? reader : null
  }
}

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
