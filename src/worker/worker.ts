import { CHANNELS } from '../core/bus.ts'
import type { App } from '../core/context.ts'
import { deleteExpiredRecords } from '../domains/idempotency/idempotency.ts'
import { refreshDueKeySets } from '../domains/readers/key-sets.ts'
import { startDeliveries } from './deliveries.ts'
import { startHandshakes } from './handshakes.ts'
import { startLoop } from './loop.ts'
import { openOutbound } from './outbound.ts'

const KEY_SETS_MS = 1000
const EXPIRY_MS = 60_000

/**
 * Starts the worker of a process: deliveries, handshakes, key sets, what has expired. It learns of work from the
 * bus and looks for itself every WEBHOOK_POLL_SECONDS. Any number of workers run side by side. Throws a SettingsError for
 * a wrong WEBHOOK_CA_FILE.
 */
export async function startWorker(app: App): Promise<{ stop(): Promise<void> }> {
  const outbound = openOutbound(app.settings)
  const deliveries = startDeliveries(app, outbound)
  const handshakes = startHandshakes(app, outbound)
  const keySets = startLoop({
    name: 'key sets',
    pollMs: KEY_SETS_MS,
    log: app.log,
    work: async () => void (await refreshDueKeySets(app, outbound.fetchJson)),
  })
  const expiry = startLoop({
    name: 'expired idempotency keys',
    pollMs: EXPIRY_MS,
    log: app.log,
    work: async () => {
      if (await deleteExpiredRecords(app)) expiry.wake()
    },
  })
  const wake = (): void => {
    deliveries.wake()
    handshakes.wake()
  }
  const unsubscribe = await app.bus.subscribe(CHANNELS.work, wake)
  const forgetGaps = app.bus.onGap(wake)
  return {
    stop: async () => {
      unsubscribe()
      forgetGaps()
      // The rest of the grace period is for giving leases back.
      const graceMs = app.settings.SHUTDOWN_GRACE_SECONDS * 800
      await Promise.all([deliveries.stop(graceMs), handshakes.stop(graceMs), keySets.stop(), expiry.stop()])
      outbound.close()
    },
  }
}
