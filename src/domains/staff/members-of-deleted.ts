import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { dropUnusedAccount, lockAccount } from './accounts.ts'

/**
 * Removes some members of a deleted tenant, and the accounts of those who are members of no other.
 * Returns how many.
 */
export async function removeMembers(sql: TxSql, tenantId: Id, limit: number): Promise<number> {
  const members = await sql.prisma.member.findMany({
    where: { tenantId },
    select: { id: true, accountId: true },
    orderBy: { accountId: 'asc' },
    take: limit,
  })
  const accountIds = members.flatMap(({ accountId }) => accountId ?? [])
  // Locked first and in one order: the removal of another tenant of the same people waits.
  for (const id of accountIds) await lockAccount(sql, id)
  await sql.prisma.member.deleteMany({ where: { tenantId, id: { in: members.map(({ id }) => id) } } })
  for (const id of accountIds) await dropUnusedAccount(sql, id)
  return members.length
}
