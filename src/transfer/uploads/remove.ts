import type { App } from '../../core/app.ts'

/** The parts of one transaction: some 20 MB. */
const PARTS_AT_ONCE = 20

/** The uploads of one transaction, which have no parts any more. */
const UPLOADS_AT_ONCE = 100

/**
 * Removes some parts that nobody needs any more, and then expired uploads without parts. Returns
 * whether there may be more.
 */
export async function removeEnded({ prisma }: App): Promise<boolean> {
  const isExpired = { expiresAt: { lt: new Date() } }
  const parts = await prisma.importUploadPart.findMany({
    where: { upload: { OR: [isExpired, { endedAt: { not: null } }] } },
    select: { tenantId: true, uploadId: true, n: true },
    take: PARTS_AT_ONCE,
  })
  if (parts.length > 0) {
    await prisma.importUploadPart.deleteMany({ where: { OR: parts } })
    return true
  }
  const where = { ...isExpired, parts: { none: {} } }
  const uploads = await prisma.importUpload.findMany({
    where,
    select: { tenantId: true, id: true },
    take: UPLOADS_AT_ONCE,
  })
  if (uploads.length > 0) await prisma.importUpload.deleteMany({ where: { OR: uploads } })
  return uploads.length === UPLOADS_AT_ONCE
}
