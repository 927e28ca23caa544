import type { Id } from '../../core/ids.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

/** SQL: the id of the discussion to which a former external id leads; null if there is none. */
export const aliasOf = (tenantId: string, externalId: string): string =>
  `SELECT discussion_id FROM discussion_aliases
   WHERE tenant_id = ${tenantId} AND external_id = ${externalId} AND expires_at > now()`

/** SQL: those of some external ids that lead to a discussion that has another one now. */
export const aliasesOf = (tenantId: string, externalIds: string): string =>
  `(SELECT external_id, discussion_id FROM discussion_aliases
    WHERE tenant_id = ${tenantId} AND external_id = ANY(${externalIds}::text[]) AND expires_at > now())`

/** How long a former external id leads to its discussion. */
const ALIAS_MS = 365 * 86_400_000

/**
 * Makes the former external id of a discussion lead to it, and frees the new one. Call it after the
 * update of the discussion, which the database refuses while the new one leads to another.
 */
export async function moveAlias(
  sql: TxSql,
  tenantId: Id,
  { id, from, to }: { id: Id; from: string; to: string },
): Promise<void> {
  const { discussionAlias } = sql.prisma
  await discussionAlias.deleteMany({ where: { tenantId, externalId: to } })
  const alias = { discussionId: id, expiresAt: new Date(Date.now() + ALIAS_MS) }
  await discussionAlias.upsert({
    where: { tenantId_externalId: { tenantId, externalId: from } },
    create: { tenantId, externalId: from, ...alias },
    update: alias,
  })
}

const DELETE_EXPIRED = statement(
  'delete_expired_aliases',
  `DELETE FROM discussion_aliases WHERE ctid = ANY(ARRAY(
     SELECT ctid FROM discussion_aliases WHERE expires_at < now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
   RETURNING 1 AS n`,
)

/** Deletes up to `limit` aliases that lead nowhere any more. Returns how many. */
export const deleteExpiredAliases = async (sql: Sql, limit: number): Promise<number> =>
  (await sql<{ n: number }>(DELETE_EXPIRED, [limit])).length
