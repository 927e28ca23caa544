import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'

/** A token that has ended, for the processes that know it. */
interface EndedToken {
  tokenId: Id
  /** In hex. */
  digest: string
}

/**
 * Ends the client tokens of a reader, in the transaction of the reader's ban, erasure or merge. The
 * reader's row is locked, so that none is minted meanwhile. Call `announceEnd` with the result
 * after it.
 */
export async function endTokensOfReader({ prisma }: TxSql, tenantId: Id, readerId: Id): Promise<EndedToken[]> {
  const where = { tenantId, readerId }
  const tokens = await prisma.clientToken.findMany({ where, select: { id: true, digest: true } })
  if (tokens.length > 0) await prisma.clientToken.deleteMany({ where })
  return tokens.map(({ id, digest }) => ({ tokenId: id, digest: Buffer.from(digest).toString('hex') }))
}

/** Has every process refuse ended tokens, and end what they have open. */
export function announceEnd(app: App, ended: readonly EndedToken[]): void {
  for (const token of ended) announceChange(app, { kind: 'client_token', ...token })
}
