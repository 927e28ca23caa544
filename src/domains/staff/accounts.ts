import { z } from 'zod'

import { requireMember } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, newId } from '../../core/ids.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { dummyPasswordHash, verifyPassword } from '../../core/secrets/crypto.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { Account } from '../../generated/prisma/client.ts'

/** A password that somebody chooses. */
export const newPassword = noNul(atMost(1024, z.string().min(8)))
/** A password as it is typed. */
export const password = noNul(atMost(1024, z.string().min(1)))

/** The account of the caller's sign-in. Throws `password_required` after a sign-on. */
export function requireAccount(ctx: Ctx): Id {
  const { accountId } = requireMember(ctx)
  if (accountId === null) throw new ServiceError('password_required')
  return accountId
}

/** E-mail addresses are compared in this form. */
export const emailForm = (email: string): string => email.trim().toLowerCase()

/**
 * The account of an e-mail address, if the password is right. Does the same work whether or not the
 * address has one, so that the time reveals nothing.
 */
export async function checkPassword({ prisma }: App, email: string, given: string): Promise<Account | null> {
  const account = await prisma.account.findUnique({ where: { email } })
  const matches = await verifyPassword(given, account?.passwordHash ?? dummyPasswordHash())
  return matches ? account : null
}

/**
 * Locks an account until the transaction ends: it is not changed between a check of its password
 * and what follows. False if it was changed since it was read.
 */
export async function lockUnchanged(sql: TxSql, { id, passwordHash }: Account): Promise<boolean> {
  const { count } = await sql.prisma.account.updateMany({ where: { id, passwordHash }, data: { passwordHash } })
  return count === 1
}

/** Locks an account, whether or not it was changed: no other sign-in of it begins meanwhile. */
export const lockAccount = (sql: TxSql, id: Id): Promise<unknown> =>
  sql.prisma.account.updateMany({ where: { id }, data: { id } })

/** Makes the account of an e-mail address; null if it has one. */
export async function addAccount(sql: TxSql, account: Pick<Account, 'email' | 'passwordHash'>): Promise<Id | null> {
  const id = newId()
  const { count } = await sql.prisma.account.createMany({ data: { id, ...account }, skipDuplicates: true })
  return count === 1 ? id : null
}

/** Removes an account once its last member is gone. */
export async function dropUnusedAccount(sql: TxSql, id: Id | null): Promise<void> {
  if (id !== null) await sql.prisma.account.deleteMany({ where: { id, members: { none: {} } } })
}
