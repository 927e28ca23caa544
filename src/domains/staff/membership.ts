import { z } from 'zod'

import { byService, type Recorder, recorderOf } from '../../core/audit.ts'
import type { App } from '../../core/app.ts'
import { ROLES, type Role } from '../../core/capabilities.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, newId } from '../../core/ids.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { baseUrl } from '../../core/address.ts'
import { randomHex, sha256 } from '../../core/secrets/crypto.ts'
import type { TxSql } from '../../core/database/database.ts'
import { wrong } from '../../core/input/schemas.ts'
import type { Member, Prisma } from '../../generated/prisma/client.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { dropUnusedAccount, emailForm } from './accounts.ts'
import { announceEnded, type EndedSignIns, endSignIns } from './sign-ins.ts'

const INVITATION_HOURS = 72

export const memberName = noNul(atMost(80, z.string().trim().min(1)))
export const memberRole = z.enum(Object.keys(ROLES) as [Role, ...Role[]])
// Before it is folded: the Kelvin sign becomes the letter k, and so another person's address.
export const memberEmail = atMost(320, z.string()).refine(
  (text) => z.email().safeParse(text.trim()).success,
  wrong('wrong_format', 'must be an e-mail address'),
)

export type MemberState = 'invited' | 'active' | 'disabled'

export const stateOf = ({
  disabledAt,
  accountId,
  oidcSubject,
}: Pick<Member, 'disabledAt' | 'accountId' | 'oidcSubject'>): MemberState =>
  disabledAt !== null ? 'disabled' : accountId === null && oidcSubject === null ? 'invited' : 'active'

/** Which row is a member. */
export const keyOf = ({ tenantId, id }: { tenantId: Id; id: Id }) => ({ tenantId_id: { tenantId, id } })

/** Who changes members: a caller by their role, or an operator, who may do all of it. */
export interface Changer {
  tenantId: Id
  record: Recorder
  /** Refuses changes of a member of this role, or to it. */
  requireMay: (role: Role) => void
}

/** An operator at the command line. */
export const operatorOf = (tenantId: Id): Changer => ({
  tenantId,
  record: recorderOf(byService(tenantId)),
  requireMay: () => undefined,
})

/** The form of a member in the audit log. */
export const shownMember = (member: Member) => {
  const { id, email, name, role, createdAt } = member
  return { id, email, name, role, state: stateOf(member), createdAt }
}

/** An invitation, shown once: the service sends no mail. */
export interface Invitation {
  url: string
  expiresAt: Date
}

/** The token is in the fragment, so that no server on the way logs it. */
const urlOf = (app: App, token: string): string => `${baseUrl(app)}/console/invitation#${token}`

export const digestOf = (token: string): Buffer<ArrayBuffer> => sha256(token)

function newInvitation(app: App) {
  const token = `in_${randomHex(32)}`
  const expiresAt = new Date(Date.now() + INVITATION_HOURS * 3_600_000)
  return {
    columns: { invitationDigest: digestOf(token), invitationExpiresAt: expiresAt },
    invitation: { url: urlOf(app, token), expiresAt },
  }
}

/** Adds an invited member. Throws `validation_failed` if the tenant has one of this address. */
export async function invite(
  app: App,
  { tenantId, record, requireMay }: Changer,
  { email, ...given }: { email: string; role: Role; name: string | null },
): Promise<{ member: Member; invitation: Invitation }> {
  requireMay(given.role)
  const { columns, invitation } = newInvitation(app)
  const data = { tenantId, id: newId(), email: emailForm(email), ...given, ...columns }
  return app.db.transaction(async (sql) => {
    const { count } = await sql.prisma.member.createMany({ data, skipDuplicates: true })
    if (count === 0) throw invalid('/email', 'taken', 'is the address of another member')
    const member = await sql.prisma.member.findUniqueOrThrow({ where: keyOf(data) })
    await record(sql, { action: 'member.invite', targetId: member.id, after: shownMember(member) })
    return { member, invitation }
  })
}

/**
 * A new invitation of a member who has accepted none, which ends the one before: also of one who
 * has no password here, because they sign in at the identity provider.
 */
export async function inviteAgain(
  app: App,
  changer: Changer,
  which: Prisma.MemberWhereInput,
): Promise<{ member: Member; invitation: Invitation }> {
  const { columns, invitation } = newInvitation(app)
  return app.db.transaction(async (sql) => {
    const before = await lockMember(sql, changer, which)
    if (before.accountId !== null || before.disabledAt !== null) {
      throw new ServiceError('invalid_transition', { detail: `The member is ${stateOf(before)}, not invited.` })
    }
    const member = await update(sql, before, columns)
    await changer.record(sql, { action: 'member.invite', targetId: member.id, after: shownMember(member) })
    return { member, invitation }
  })
}

export interface MemberChange {
  role?: Role | undefined
  name?: string | null | undefined
  state?: 'active' | 'disabled' | undefined
}

/**
 * Changes a member. A new role or state ends their sign-ins. Throws `not_found`, `last_owner`,
 * `invalid_transition`.
 */
export async function changeMember(
  app: App,
  changer: Changer,
  which: Prisma.MemberWhereInput,
  { role, name, state }: MemberChange,
): Promise<Member> {
  const { after, ended } = await app.db.transaction(async (sql) => {
    const before = await lockMember(sql, changer, which)
    if (role !== undefined) changer.requireMay(role)
    if (state === 'active' && stateOf(before) === 'invited') {
      throw new ServiceError('invalid_transition', { detail: 'The member has not accepted the invitation yet.' })
    }
    const disabledAt =
      state === undefined ? before.disabledAt : state === 'active' ? null : (before.disabledAt ?? new Date())
    const next = { role: role ?? before.role, name: name === undefined ? before.name : name, disabledAt }
    if (next.role !== 'owner' || disabledAt !== null) await keepAnOwner(sql, before)
    const isSame = next.role === before.role && disabledAt?.getTime() === before.disabledAt?.getTime()
    if (isSame && next.name === before.name) return { after: before, ended: [] }
    const member = await update(sql, before, next)
    await changer.record(sql, {
      action: 'member.update',
      targetId: member.id,
      before: shownMember(before),
      after: shownMember(member),
    })
    return { after: member, ended: isSame ? [] : await endSignInsOf(sql, before) }
  })
  announceEnded(app, ended)
  return after
}

/** Removes a member, with their sign-ins. Throws `not_found`, `last_owner`. */
export async function removeMember(app: App, changer: Changer, which: Prisma.MemberWhereInput): Promise<Member> {
  const { member, ended } = await app.db.transaction(async (sql) => {
    const before = await lockMember(sql, changer, which)
    await keepAnOwner(sql, before)
    const signIns = await endSignInsOf(sql, before)
    await sql.prisma.member.delete({ where: keyOf(before) })
    await dropUnusedAccount(sql, before.accountId)
    await changer.record(sql, { action: 'member.delete', targetId: before.id, before: shownMember(before) })
    return { member: before, ended: signIns }
  })
  announceEnded(app, ended)
  return member
}

/** The member, whom nobody else changes until the transaction ends. Throws `not_found`. */
async function lockMember(
  sql: TxSql,
  { tenantId, requireMay }: Changer,
  which: Prisma.MemberWhereInput,
): Promise<Member> {
  // The tenant's lock, so that two owners cannot remove each other.
  await lockTenant(sql, tenantId)
  const member = await sql.prisma.member.findFirst({ where: { ...which, tenantId } })
  if (member === null) throw new ServiceError('not_found')
  requireMay(member.role)
  // Locked itself, as it is now: an invitation may be accepted meanwhile, which locks no tenant.
  return update(sql, member, { role: member.role })
}

async function keepAnOwner(sql: TxSql, member: Member): Promise<void> {
  if (member.role !== 'owner' || stateOf(member) !== 'active') return
  const { tenantId, id } = member
  const others = { tenantId, role: 'owner', disabledAt: null, accountId: { not: null }, id: { not: id } } as const
  if ((await sql.prisma.member.findFirst({ where: others, select: { id: true } })) === null)
    throw new ServiceError('last_owner')
}

const update = (sql: TxSql, member: Member, data: Prisma.MemberUncheckedUpdateInput): Promise<Member> =>
  sql.prisma.member.update({ where: keyOf(member), data })

const endSignInsOf = (sql: TxSql, { tenantId, id }: Member): Promise<EndedSignIns[]> =>
  endSignIns(sql, { tenantId, memberId: id })
