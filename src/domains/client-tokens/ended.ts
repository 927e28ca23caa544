import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import { statement, type TxSql } from '../../core/sql.ts'

/** A token that has ended, for the processes that know it. */
interface EndedToken {
  tokenId: Id
  /** In hex. */
  digest: string
}

const END = statement(
  'end_client_tokens_of_reader',
  `DELETE FROM client_tokens WHERE tenant_id = $1 AND reader_id = $2
   RETURNING id AS "tokenId", encode(digest, 'hex') AS digest`,
)

/**
 * Ends the client tokens of a reader, in the transaction of the reader's ban, erasure or merge.
 * Call `announceEnd` with the result after it.
 */
export const endTokensOfReader = (tx: TxSql, tenantId: Id, readerId: Id): Promise<EndedToken[]> =>
  tx<EndedToken>(END, [tenantId, readerId])

/** Has every process refuse ended tokens, and end what they have open. */
export function announceEnd(app: App, ended: readonly EndedToken[]): void {
  for (const token of ended) announceChange(app, { kind: 'client_token', ...token })
}
