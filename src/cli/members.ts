import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
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
import { command, CommandError, email, ofTenant, password, tenantOf } from './command.ts'

const PASSWORD = { tenant: ofTenant, email: email.describe('e-mail'), password: password.optional() }
const ROLE_NAMES = memberRole.options.join(', ')

interface ByAddress {
  tenant: string
  email: string
}

async function membersOf(app: App, tenant: string | undefined) {
  return listAllMembers(app, tenant === undefined ? null : (await tenantOf(app, tenant)).id)
}

async function memberOf(app: App, { id, slug }: { id: Id; slug: string }, address: string) {
  const member = await findByAddress(app, id, address)
  if (member === null) throw new CommandError(`${slug} has no member ${address}`)
  return member
}

async function changeByAddress(app: App, { tenant, ...options }: ByAddress, change: MemberChange) {
  const { id, slug } = await tenantOf(app, tenant)
  const { id: memberId } = await memberOf(app, { id, slug }, options.email)
  const member = await changeMember(app, operatorOf(id), { id: memberId }, change)
  return { tenant: { id, slug }, member: shownMember(member) }
}

async function changePassword(app: App, options: ByAddress & { password?: string | undefined }) {
  const { id, slug } = await tenantOf(app, options.tenant)
  const member = await setPassword(app, id, options.email, options.password)
  if (member === null) {
    await memberOf(app, { id, slug }, options.email)
    throw new CommandError(`${options.email} has no account yet: it is made when an invitation is accepted`)
  }
  return { tenant: { id, slug }, member }
}

/** The commands on members. */
export const MEMBERS = {
  'admin create': command(
    'Adds an owner to a tenant, who signs in with a password. An address that has an account keeps its password.',
    { tenant: ofTenant, email: email.describe('e-mail'), password: password.optional() },
    async (app, options) => {
      const { id, slug } = await tenantOf(app, options.tenant)
      return { tenant: { id, slug }, admin: await createAdmin(app, id, options.email, options.password) }
    },
  ),
  'admin password': command('The same as member password.', PASSWORD, async (app, options) => {
    const { member: admin, ...rest } = await changePassword(app, options)
    return { ...rest, admin }
  }),
  'admin remove': command(
    'Removes a member, but not the last owner. Open sign-ins end within 5 s.',
    { tenant: ofTenant, email: email.describe('e-mail') },
    async (app, options) => {
      const { id, slug } = await tenantOf(app, options.tenant)
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
  'member invite': command(
    `Invites a member by a link, which works once within 72 hours. The service sends no mail. Roles: ${ROLE_NAMES}.`,
    {
      tenant: ofTenant,
      email: email.describe('e-mail'),
      role: memberRole,
      name: memberName.optional().describe('name'),
    },
    async (app, { name = null, role, ...options }) => {
      const { id, slug } = await tenantOf(app, options.tenant)
      const { member, invitation } = await invite(app, operatorOf(id), { email: options.email, role, name })
      return { tenant: { id, slug }, member: shownMember(member), invitation }
    },
  ),
  'member role': command(
    'Gives a member another role. Open sign-ins end within 5 s.',
    { tenant: ofTenant, email: email.describe('e-mail'), role: memberRole },
    (app, { role, ...options }) => changeByAddress(app, options, { role }),
  ),
  'member password': command(
    'Changes the password of a member, in every tenant of theirs. The default is a random one. Open sign-ins end within 5 s.',
    PASSWORD,
    (app, options) => changePassword(app, options),
  ),
  'member remove-factor': command(
    'Removes the second factor of a member who has lost it, in every tenant of theirs. Open sign-ins end within 5 s.',
    { tenant: ofTenant, email: email.describe('e-mail') },
    async (app, options) => {
      const { id, slug } = await tenantOf(app, options.tenant)
      const member = await memberOf(app, { id, slug }, options.email)
      await removeFactor(app, member)
      return { tenant: { id, slug }, member: shownMember(member) }
    },
  ),
  'member disable': command(
    'Keeps a member from signing in. Open sign-ins end within 5 s.',
    { tenant: ofTenant, email: email.describe('e-mail') },
    (app, options) => changeByAddress(app, options, { state: 'disabled' }),
  ),
  'member enable': command(
    'Lets a disabled member sign in again.',
    { tenant: ofTenant, email: email.describe('e-mail') },
    (app, options) => changeByAddress(app, options, { state: 'active' }),
  ),
}
