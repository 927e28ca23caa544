import { FIRST_ID, firstIdAt, type Id } from '../../core/ids.ts'
import type { Prisma } from '../../core/database/database.ts'

/** The most notifications that a reader keeps. */
const MAX_KEPT = 1000

/** Those that were read are kept so long after that. */
const READ_DAYS = 90

/** Others, so that what their reader may never see again does not stay for ever. */
const KEPT_DAYS = 365

const DAY_MS = 86_400_000

/** Whose notifications these are. */
export interface Inbox {
  tenantId: Id
  readerId: Id
}

/**
 * Deletes old notifications of the next inbox after another one, in an order that no reader sees.
 * Returns it; null if there are no more.
 */
export async function trimNextInbox(prisma: Prisma, after: Inbox | null, now = new Date()): Promise<Inbox | null> {
  const inbox = await nextInbox(prisma, after)
  if (inbox === null) return null
  const { notification } = prisma
  const last = await notification.findFirst({
    where: inbox,
    orderBy: { id: 'desc' },
    skip: MAX_KEPT,
    select: { id: true },
  })
  const daysAgo = (days: number): Date => new Date(now.getTime() - days * DAY_MS)
  const isOld = [
    { id: { lte: last?.id ?? FIRST_ID } },
    { id: { lt: firstIdAt(daysAgo(KEPT_DAYS)) } },
    { readAt: { lt: daysAgo(READ_DAYS) } },
  ]
  await notification.deleteMany({ where: { ...inbox, OR: isOld } })
  return inbox
}

/**
 * One look-up by an index. Where a tenant has no further inbox, the place of the next tenant, so
 * that a turn over many tenants can end between them.
 */
async function nextInbox({ notification, tenant }: Prisma, after: Inbox | null): Promise<Inbox | null> {
  const { tenantId, readerId } = after ?? { tenantId: FIRST_ID, readerId: FIRST_ID }
  const found = await notification.findFirst({
    where: { tenantId, readerId: { gt: readerId } },
    orderBy: [{ readerId: 'asc' }, { id: 'asc' }],
    select: { tenantId: true, readerId: true },
  })
  if (found !== null) return found
  const next = await tenant.findFirst({
    where: { id: { gt: tenantId } },
    orderBy: { id: 'asc' },
    select: { id: true },
  })
  return next && { tenantId: next.id, readerId: FIRST_ID }
}
