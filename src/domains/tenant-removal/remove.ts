import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { planByKey } from '../../core/plan-by-key.ts'
import { ofTenant } from '../../core/queues/patience.ts'
import type { Prisma, TxSql } from '../../core/database/database.ts'
import { removeDiscussion } from '../discussions/remove.ts'
import { removeSites } from '../sites/ended-keys.ts'
import { removeMembers } from '../staff/members-of-deleted.ts'

/** A transaction is short, so that others and a stop do not wait. */
const BATCH = 500

/** When another worker goes on, should this one die or fail. */
const LEASE_MS = 30_000

/** A deleted tenant, and when a worker was to go on with it. */
interface Deleted {
  id: Id
  removalDueAt: Date | null
}

/**
 * Removes some more of what belonged to a deleted tenant; its own row goes last. Deliveries that
 * are being sent are awaited. Returns whether there was one. Any number of workers may call it at
 * once.
 */
export async function removeOfDeletedTenant(app: App): Promise<boolean> {
  const due = await app.prisma.tenant.findFirst({
    where: { removalDueAt: { lte: new Date() } },
    select: { id: true, removalDueAt: true },
    orderBy: { removalDueAt: 'asc' },
  })
  if (due === null) return false
  const leased = { ...due, removalDueAt: new Date(Date.now() + LEASE_MS) }
  const { db } = ofTenant(app, due.id)
  // Of several workers that have found it, one takes it.
  if ((await db.transaction((tx) => put(tx, due, leased.removalDueAt))) === 0) return true
  const isGone = await db.transaction(async (tx) => {
    await planByKey(tx)
    const next = await removeSome(tx, due.id)
    if (next !== null) await put(tx, leased, next)
    else await tx.prisma.tenant.deleteMany({ where: leased })
    return next === null
  })
  if (isGone) app.log.info({ tenantId: due.id }, 'all of a deleted tenant is removed')
  return true
}

const put = async ({ prisma }: TxSql, where: Deleted, removalDueAt: Date): Promise<number> =>
  (await prisma.tenant.updateMany({ where, data: { removalDueAt } })).count

/** Returns when to go on; null where nothing is left. */
async function removeSome(tx: TxSql, tenantId: Id): Promise<Date | null> {
  return (
    (await empty(tx, tenantId, BEFORE)) ??
    (await removeDiscussion(tx, tenantId)) ??
    (await empty(tx, tenantId, AFTER)) ??
    ((await removeMembers(tx, tenantId, BATCH)) > 0 ? new Date() : null)
  )
}

/** Deletes some rows of the first table that has any. Returns when to go on; null for none. */
async function empty({ prisma }: TxSql, tenantId: Id, tables: readonly Table[]): Promise<Date | null> {
  for (const deleteSome of tables) {
    const { count } = await deleteSome(prisma, { where: { tenantId }, limit: BATCH })
    if (count > 0) return new Date()
  }
  return null
}

type Table = (prisma: Prisma, some: { where: { tenantId: Id }; limit: number }) => Promise<{ count: number }>

/**
 * Uploads, which a worker might still import; credentials; and stored answers, which each removed
 * comment would otherwise be looked for in.
 */
const BEFORE: readonly Table[] = [
  (prisma, some) => prisma.importUploadPart.deleteMany(some),
  (prisma, some) => prisma.importUpload.deleteMany(some),
  (prisma, some) => prisma.apiKey.deleteMany(some),
  (prisma, some) => prisma.clientToken.deleteMany(some),
  removeSites,
  (prisma, some) => prisma.guestRequest.deleteMany(some),
  (prisma, some) => prisma.guestToken.deleteMany(some),
  (prisma, some) => prisma.signIn.deleteMany(some),
  (prisma, some) => prisma.idempotencyRecord.deleteMany(some),
]

/**
 * What is left after the discussions, a table before those that it refers to. Changes of analytics
 * come before the figures, to which a worker may be adding them.
 */
const AFTER: readonly Table[] = [
  (prisma, some) => prisma.attempt.deleteMany(some),
  (prisma, some) => prisma.delivery.deleteMany(some),
  (prisma, some) => prisma.commentSearch.deleteMany(some),
  (prisma, some) => prisma.note.deleteMany(some),
  (prisma, some) => prisma.notification.deleteMany(some),
  (prisma, some) => prisma.notificationOptOut.deleteMany(some),
  (prisma, some) => prisma.banSweep.deleteMany(some),
  (prisma, some) => prisma.readerMute.deleteMany(some),
  (prisma, some) => prisma.readerMerge.deleteMany(some),
  (prisma, some) => prisma.guest.deleteMany(some),
  (prisma, some) => prisma.reader.deleteMany(some),
  (prisma, some) => prisma.waitingImport.deleteMany(some),
  (prisma, some) => prisma.importItem.deleteMany(some),
  (prisma, some) => prisma.import.deleteMany(some),
  (prisma, some) => prisma.tenantExportPiece.deleteMany(some),
  (prisma, some) => prisma.tenantExport.deleteMany(some),
  (prisma, some) => prisma.webhookHeader.deleteMany(some),
  (prisma, some) => prisma.webhookSecret.deleteMany(some),
  (prisma, some) => prisma.webhookEndpoint.deleteMany(some),
  (prisma, some) => prisma.deletedEndpoint.deleteMany(some),
  (prisma, some) => prisma.documentAlias.deleteMany(some),
  (prisma, some) => prisma.document.deleteMany(some),
  (prisma, some) => prisma.identitySecret.deleteMany(some),
  (prisma, some) => prisma.identityKeySet.deleteMany(some),
  (prisma, some) => prisma.oidcSecret.deleteMany(some),
  (prisma, some) => prisma.noticeChannel.deleteMany(some),
  (prisma, some) => prisma.classifierSecret.deleteMany(some),
  (prisma, some) => prisma.mailSecret.deleteMany(some),
  (prisma, some) => prisma.guestKey.deleteMany(some),
  (prisma, some) => prisma.postedText.deleteMany(some),
  (prisma, some) => prisma.streamCount.deleteMany(some),
  (prisma, some) => prisma.analyticsDelta.deleteMany(some),
  (prisma, some) => prisma.analyticsBucket.deleteMany(some),
  (prisma, some) => prisma.analyticsActivity.deleteMany(some),
  (prisma, some) => prisma.analyticsDiscussion.deleteMany(some),
  (prisma, some) => prisma.auditEntry.deleteMany(some),
]
