import type { App } from '../../../core/app.ts'
import type { Tenant } from '../../../core/caller.ts'
import type { Reader } from '../../readers/fields.ts'
import { guestBelowOf } from '../rules.ts'
import { selectHistory } from './history-sql.ts'

/** Whether too few comments of a guest were approved for anything of theirs to reach the public. */
export async function isNewGuest(
  { db, prisma }: Pick<App, 'db' | 'prisma'>,
  { id: tenantId, settings }: Tenant,
  { id, externalId }: Pick<Reader, 'id' | 'externalId'>,
): Promise<boolean> {
  const approvedBelow = guestBelowOf(externalId, settings)
  if (approvedBelow === 0) return false
  const reader = await prisma.reader.findUnique({ where: { tenantId_id: { tenantId, id } }, select: { trust: true } })
  if (reader?.trust === 'never_hold') return false
  const asked = { repeats: false, rejections: 0, approvedBelow, textDigest: null }
  const { approvedCount } = await selectHistory(db.query, { tenantId, authorId: id, commentId: id }, asked, new Date())
  return approvedCount < approvedBelow
}
