import { z } from 'zod'
import { createInterface } from 'node:readline/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isatty, ReadStream } from 'node:tty'

import { atMost, noNul } from '../core/input/texts.ts'
import { createTenant } from '../domains/bootstrap/bootstrap.ts'
import { listTenants, showTenant } from '../domains/tenants/list.ts'
import { resumeTenant, suspendTenant } from '../domains/tenants/suspend.ts'
import { command, CommandError, email, type Named, password, tenantCommand } from './command.ts'
import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import { deleteTenant } from '../domains/tenants/delete.ts'
import { removeOfDeletedTenant } from '../domains/tenant-removal/remove.ts'
import { showRemoval } from './progress.ts'
import { CommandStopped, untilStopped } from './stop.ts'

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

const STOPPED = 'stopped waiting: the tenant is deleted, and workers go on to remove what belonged to it'
const POLL_MS = 250

/** Deletes a tenant that the operator has confirmed. With `wait`, returns once all is removed. */
async function runDelete(app: App, { id, slug }: Named, { yes, wait }: { yes: boolean; wait: boolean }) {
  const isSuspended = (await showTenant(app, id))?.state === 'suspended'
  if (isSuspended && !yes) await confirm(slug)
  await deleteTenant(app, id)
  if (wait) await untilStopped(CommandStopped, STOPPED, (signal) => untilRemoved(app, id, signal))
  return { tenant: { id, slug }, state: wait ? 'deleted' : 'deleting' }
}

/** Throws CommandError unless a person at the terminal types the slug. */
async function confirm(slug: string): Promise<void> {
  if (!isatty(0)) throw new CommandError('tenant delete is final: repeat it with --yes')
  const lines = createInterface({ input: new ReadStream(0), output: process.stderr })
  const answer = await lines.question(`This removes all of ${slug} for good. Type ${slug} to go on: `)
  lines.close()
  if (answer.trim() !== slug) throw new CommandError('nothing is deleted')
}

/** Removes the tenant beside the workers: there may be none, as with the embedded database. */
async function untilRemoved(app: App, id: Id, signal: AbortSignal): Promise<void> {
  const shown = showRemoval()
  try {
    for (let left = await showTenant(app, id); left !== null; left = await showTenant(app, id)) {
      shown.onProgress(left)
      const until = performance.now() + POLL_MS
      while (performance.now() < until) {
        if (signal.aborted) throw new CommandStopped(STOPPED)
        if (!(await removeOfDeletedTenant(app))) await delay(POLL_MS, undefined, { signal }).catch(() => undefined)
      }
    }
  } finally {
    shown.stop()
  }
}
