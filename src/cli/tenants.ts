import { z } from 'zod'

import { atMost, noNul } from '../core/input/texts.ts'
import { createTenant } from '../domains/bootstrap/bootstrap.ts'
import { listTenants, showTenant } from '../domains/tenants/list.ts'
import { resumeTenant, suspendTenant } from '../domains/tenants/suspend.ts'
import { command, email, password, tenantCommand } from './command.ts'
import { runDelete } from './delete-tenant.ts'

const reason = noNul(atMost(500, z.string().min(1, 'must not be empty')))

/** The commands on tenants. */
export const TENANTS = {
  'tenant create': command(
    'Creates a tenant with an API key that has all capabilities, an identity secret and an owner.',
    {
      slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens'),
      'admin-email': email.optional().describe('e-mail'),
      'admin-password': password.optional().describe('password'),
    },
    (app, { slug, ...admin }) =>
      createTenant(app, { slug, adminEmail: admin['admin-email'], adminPassword: admin['admin-password'] }),
  ),
  'tenant list': command(
    'Lists tenants with their state (active, suspended or deleting) and their number of approved comments.',
    {},
    listTenants,
  ),
  'tenant show': tenantCommand('Shows a tenant, and how much it has.', {}, (app, { id }) => showTenant(app, id)),
  'tenant suspend': tenantCommand(
    'Suspends a tenant: its keys, sign-ins, tickets and tokens are refused, its streams end, and its webhook deliveries wait. It is in force within 5 s. Nothing is lost: tenant resume ends it.',
    { reason: reason.optional().meta({ description: 'text', about: 'Why. All callers of the tenant are told.' }) },
    async (app, { id }, options) => {
      await suspendTenant(app, id, options.reason)
      return showTenant(app, id)
    },
  ),
  'tenant resume': tenantCommand(
    'Ends the suspension of a tenant. Its credentials are valid again, and its deliveries go on.',
    {},
    async (app, { id }) => {
      await resumeTenant(app, id)
      return showTenant(app, id)
    },
  ),
  'tenant delete': tenantCommand(
    'Deletes a suspended tenant with all that belongs to it. This is final. Its slug is free at once; workers remove the rest, from 10 s after the suspension on.',
    {
      yes: z.boolean().optional().meta({ about: 'Does not ask. Without a terminal it is required.' }),
      wait: z.boolean().optional().meta({ about: 'Helps to remove the rest, and ends when nothing is left.' }),
    },
    (app, tenant, { yes = false, wait = false }) => runDelete(app, tenant, { yes, wait }),
  ),
}
