import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { hashPassword, randomHex } from '../../core/secrets/crypto.ts'
import type { Member } from '../../generated/prisma/client.ts'
import { emailForm } from './accounts.ts'
import { operatorOf, shownMember } from './membership.ts'
import { removeSecondFactor } from './second-factor.ts'
import { announceEnded, endSignIns } from './sign-ins.ts'

/** All members, or those of one tenant. For operators only. */
export async function listAllMembers({ prisma }: App, tenantId: Id | null) {
  const rows = await prisma.member.findMany({
    where: tenantId === null ? {} : { tenantId },
    include: { tenant: { select: { slug: true } } },
    orderBy: [{ tenant: { slug: 'asc' } }, { email: 'asc' }],
  })
  return rows.map(({ tenant, ...member }) => ({ tenant: tenant.slug, ...shownMember(member) }))
}

/** A member by the address; null if the tenant has none. For operators only. */
export const findByAddress = ({ prisma }: App, tenantId: Id, address: string): Promise<Member | null> =>
  prisma.member.findUnique({ where: { tenantId_email: { tenantId, email: emailForm(address) } } })

/**
 * Sets the password of the account of a member's address, in every tenant of theirs: their sign-ins
 * end within 5 s. Also that of an invited member, because somebody else may have made the account
 * of the address before. Null if the tenant has no such member, or the address no account.
 */
export async function setPassword(
  app: App,
  tenantId: Id,
  address: string,
  password = randomHex(12),
): Promise<{ email: string; password: string } | null> {
  const member = await findByAddress(app, tenantId, address)
  const account = await app.prisma.account.findUnique({ where: { email: emailForm(address) }, select: { id: true } })
  if (member === null || account === null) return null
  const { id: targetId, email } = member
  const { id: accountId } = account
  const passwordHash = await hashPassword(password)
  const ended = await app.db.transaction(async (sql) => {
    const { count } = await sql.prisma.account.updateMany({ where: { id: accountId }, data: { passwordHash } })
    // The last member of the account was removed meanwhile, and the account with them.
    if (count === 0) return null
    await operatorOf(tenantId).record(sql, { action: 'member.change_password', targetId })
    return endSignIns(sql, { member: { accountId } })
  })
  if (ended === null) return null
  announceEnded(app, ended)
  return { email, password }
}

/** Removes the second factor of a member's account. For operators only. */
export async function removeFactor(app: App, { tenantId, id, accountId }: Member): Promise<void> {
  if (accountId === null) return
  const { record } = operatorOf(tenantId)
  announceEnded(app, await app.db.transaction((sql) => removeSecondFactor(sql, accountId, id, record)))
}
