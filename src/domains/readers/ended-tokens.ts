import type { App } from '../../core/app.ts'
import type { CacheNews } from '../../core/bus.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'

/** Tokens that have ended, for the processes that know them. */
type EndedToken = Extract<CacheNews, { kind: 'client_token' | 'guest' }>

/**
 * Ends the client tokens of a reader, and those of a guest, in the transaction of the reader's ban,
 * erasure or merge. The reader's row is locked, so that none is made meanwhile. Call `announceEnd`
 * with the result after it.
 */
export async function endTokensOfReader({ prisma }: TxSql, tenantId: Id, readerId: Id): Promise<EndedToken[]> {
  const where = { tenantId, readerId }
  const tokens = await prisma.clientToken.findMany({ where, select: { id: true, digest: true } })
  if (tokens.length > 0) await prisma.clientToken.deleteMany({ where })
  const { count } = await prisma.guestToken.deleteMany({ where })
  return [
    ...tokens.map(({ id, digest }) => ({
      kind: 'client_token' as const,
      tokenId: id,
      digest: Buffer.from(digest).toString('hex'),
    })),
    ...(count > 0 ? [{ kind: 'guest' as const, readerId }] : []),
  ]
}

/**
 * Forgets which address a guest has confirmed, in the transaction of their erasure or merge: the
 * same address makes another guest from then on. The reader's row is locked.
 */
export async function forgetAddressOf({ prisma }: TxSql, tenantId: Id, readerId: Id): Promise<void> {
  const guest = await prisma.guest.findUnique({ where: { tenantId_readerId: { tenantId, readerId } } })
  if (guest === null) return
  await prisma.guestRequest.deleteMany({ where: { tenantId, addressDigest: guest.addressDigest } })
  await prisma.guest.deleteMany({ where: { tenantId, readerId } })
}

/** Has every process refuse ended tokens, and end what they have open. */
export function announceEnd(app: App, ended: readonly EndedToken[]): void {
  for (const token of ended) announceChange(app, token)
}
