import type { Id } from '../../core/ids.ts'
import type { Prisma } from '../../core/database/database.ts'

// Pages may name the public key of a deleted site for years. An import of another tenant must not
// take it: its comments would be on these pages.

/** The most keys of deleted sites that are kept of a tenant. */
const MAX_KEPT = 1000

/** Keeps the key of a site that is deleted, and forgets the oldest of very many. */
export async function keepEndedKey({ endedSiteKey }: Prisma, ownerId: Id, publicKey: string): Promise<void> {
  const before = await endedSiteKey.findFirst({
    where: { ownerId },
    select: { endedAt: true },
    orderBy: { endedAt: 'desc' },
    skip: MAX_KEPT - 1,
  })
  if (before !== null) await endedSiteKey.deleteMany({ where: { ownerId, endedAt: { lte: before.endedAt } } })
  await keep({ endedSiteKey }, ownerId, [publicKey])
}

const keep = ({ endedSiteKey }: Pick<Prisma, 'endedSiteKey'>, ownerId: Id, keys: readonly string[]): Promise<unknown> =>
  endedSiteKey.createMany({ data: keys.map((publicKey) => ({ ownerId, publicKey })), skipDuplicates: true })

/** Whether a deleted site of another tenant had the key. */
export async function isEndedKeyOfOther({ endedSiteKey }: Prisma, tenantId: Id, publicKey: string): Promise<boolean> {
  const ended = await endedSiteKey.findUnique({ where: { publicKey }, select: { ownerId: true } })
  return ended !== null && ended.ownerId !== tenantId
}

/** Deletes the sites of a deleted tenant, and keeps their keys. */
export async function removeSites(
  prisma: Prisma,
  { where, limit }: { where: { tenantId: Id }; limit: number },
): Promise<{ count: number }> {
  const sites = await prisma.site.findMany({ where, take: limit })
  const keys = sites.map(({ publicKey }) => publicKey)
  await keep(prisma, where.tenantId, keys)
  return prisma.site.deleteMany({ where: { ...where, id: { in: sites.map(({ id }) => id) } } })
}
