import { createInterface } from 'node:readline/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isatty, ReadStream } from 'node:tty'

import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import { deleteTenant } from '../domains/tenants/delete.ts'
import { showTenant } from '../domains/tenants/list.ts'
import { removeOfDeletedTenant } from '../domains/tenant-removal/remove.ts'
import { CommandError, type Named } from './command.ts'
import { showRemoval } from './progress.ts'
import { CommandStopped, untilStopped } from './stop.ts'

const STOPPED = 'stopped waiting: the tenant is deleted, and workers go on to remove what belonged to it'
const POLL_MS = 250

/** Deletes a tenant that the operator has confirmed. With `wait`, returns once all is removed. */
export async function runDelete(app: App, { id, slug }: Named, { yes, wait }: { yes: boolean; wait: boolean }) {
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
