import { CHANNELS } from '../core/bus.ts'
import type { App } from '../core/app.ts'
import { startChores } from './chores.ts'
import { startClassifier } from './classifier.ts'
import { startDeliveries } from './deliveries.ts'
import { startGuestMails } from './guest-mails.ts'
import { startHandshakes } from './handshakes.ts'
import { openOutbound } from '../outbound/outbound.ts'

/**
 * Starts the worker of a process: deliveries, handshakes, classifiers, mails for guests, and its
 * chores. It is
 * notified of work by the bus, and polls every WEBHOOK_POLL_SECONDS. Any number of workers run side
 * by side. Throws a SettingsError for a wrong WEBHOOK_CA_FILE.
 */
export async function startWorker(app: App): Promise<{ stop(withinMs?: number): Promise<void> }> {
  const outbound = openOutbound(app.settings)
  const deliveries = startDeliveries(app, outbound)
  const handshakes = startHandshakes(app, outbound)
  const classifier = startClassifier(app, outbound)
  const guestMails = startGuestMails(app, outbound)
  const chores = startChores(app, outbound)
  const wake = (): void => {
    deliveries.wake()
    handshakes.wake()
    classifier.wake()
    guestMails.wake()
  }
  const unsubscribe = await app.bus.subscribe(CHANNELS.work, wake)
  const forgetGaps = app.bus.onGap(wake)
  return {
    // What is left of the grace period is for giving leases back.
    stop: async (withinMs = app.settings.SHUTDOWN_GRACE_SECONDS * 800) => {
      unsubscribe()
      forgetGaps()
      const parts = [deliveries, handshakes, classifier, guestMails]
      await Promise.all([...parts.map((part) => part.stop(withinMs)), chores.stop()])
      outbound.close()
    },
  }
}
