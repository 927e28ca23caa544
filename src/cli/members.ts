import type { App } from '../core/app.ts'
import {
  changeMember,
  invite,
  type MemberChange,
  memberName,
  memberRole,
  operatorOf,
  removeMember,
  shownMember,
} from '../domains/staff/membership.ts'
import { findByAddress, listAllMembers, removeFactor, setPassword } from '../domains/staff/operators.ts'
import { createAdmin } from '../domains/bootstrap/bootstrap.ts'
import { command, CommandError, email, type Named, ofTenant, password, tenantCommand, tenantOf } from './command.ts'

const ADDRESS = { email: email.describe('e-mail') }
const PASSWORD = { ...ADDRESS, password: password.optional() }
const ROLE_NAMES = memberRole.options.join(', ')

async function membersOf(app: App, tenant: string | undefined) {
  return listAllMembers(app, tenant === undefined ? null : (await tenantOf(app, tenant)).id)
}

async function memberOf(app: App, { id, slug }: Named, address: string) {
  const member = await findByAddress(app, id, address)
  if (member === null) throw new CommandError(`${slug} has no member ${address}`)
  return member
}

async function changeByAddress(app: App, { id, slug }: Named, address: string, change: MemberChange) {
  const { id: memberId } = await memberOf(app, { id, slug }, address)
  const member = await changeMember(app, operatorOf(id), { id: memberId }, change)
  return { tenant: { id, slug }, member: shownMember(member) }
}

async function changePassword(
  app: App,
  { id, slug }: Named,
  options: { email: string; password?: string | undefined },
) {
  const member = await setPassword(app, id, options.email, options.password)
  if (member === null) {
    await memberOf(app, { id, slug }, options.email)
    throw new CommandError(`${options.email} has no account yet: it is made when an invitation is accepted`)
  }
  return { tenant: { id, slug }, member }
}

/** The commands on members. */
export const MEMBERS = {
  'admin create': tenantCommand(
    'Adds an owner to a tenant, who signs in with a password. An address that has an account keeps its password.',
    PASSWORD,
    async (app, { id, slug }, options) => ({
      tenant: { id, slug },
      admin: await createAdmin(app, id, options.email, options.password),
    }),
  ),
  'admin password': tenantCommand('The same as member password.', PASSWORD, async (app, named, options) => {
    const { member: admin, tenant } = await changePassword(app, named, options)
    return { tenant, admin }
  }),
  'admin remove': tenantCommand(
    'Removes a member, but not the last owner. Open sign-ins end within 5 s.',
    ADDRESS,
    async (app, { id, slug }, options) => {
      const { id: adminId } = await memberOf(app, { id, slug }, options.email)
      const admin = await removeMember(app, operatorOf(id), { id: adminId })
      return { tenant: { id, slug }, admin: { id: adminId, email: admin.email } }
    },
  ),
  'admin list': command(
    'Lists the owners and admins of one tenant or of all tenants.',
    { tenant: ofTenant.optional().describe('slug') },
    async (app, options) =>
      (await membersOf(app, options.tenant)).filter(({ role }) => ['owner', 'admin'].includes(role)),
  ),
  'member list': command(
    'Lists the members of one tenant or of all tenants.',
    { tenant: ofTenant.optional().describe('slug') },
    async (app, options) => membersOf(app, options.tenant),
  ),
  'member invite': tenantCommand(
    `Invites a member by a link, which works once within 72 hours. The service sends no mail. Roles: ${ROLE_NAMES}.`,
    { ...ADDRESS, role: memberRole, name: memberName.optional().describe('name') },
    async (app, { id, slug }, { name = null, role, ...options }) => {
      const { member, invitation } = await invite(app, operatorOf(id), { email: options.email, role, name })
      return { tenant: { id, slug }, member: shownMember(member), invitation }
    },
  ),
  'member role': tenantCommand(
    'Gives a member another role. Open sign-ins end within 5 s.',
    { ...ADDRESS, role: memberRole },
    (app, tenant, options) => changeByAddress(app, tenant, options.email, { role: options.role }),
  ),
  'member password': tenantCommand(
    'Changes the password of a member, in every tenant of theirs. The default is a random one. Open sign-ins end within 5 s.',
    PASSWORD,
    changePassword,
  ),
  'member remove-factor': tenantCommand(
    'Removes the second factor of a member who has lost it, in every tenant of theirs. Open sign-ins end within 5 s.',
    ADDRESS,
    async (app, { id, slug }, options) => {
      const member = await memberOf(app, { id, slug }, options.email)
      await removeFactor(app, member)
      return { tenant: { id, slug }, member: shownMember(member) }
    },
  ),
  'member disable': tenantCommand(
    'Keeps a member from signing in. Open sign-ins end within 5 s.',
    ADDRESS,
    (app, tenant, options) => changeByAddress(app, tenant, options.email, { state: 'disabled' }),
  ),
  'member enable': tenantCommand('Lets a disabled member sign in again.', ADDRESS, (app, tenant, options) =>
    changeByAddress(app, tenant, options.email, { state: 'active' }),
  ),
}
