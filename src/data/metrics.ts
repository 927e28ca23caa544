import { CHANNELS } from '../core/bus.ts'
import type { App } from '../core/app.ts'
import { newId } from '../core/ids.ts'
import { counter, gaugeOf, histogram, metricsOf } from '../core/telemetry/metrics.ts'
import type { PoolWatch } from './pool-watch.ts'

/** How often a process sends itself a message over the bus. */
const PROBE_MS = 2000

/** An instant of `performance`, in milliseconds. */
const SENT_AT = /^\d{1,15}(\.\d{1,20})?$/

/** The metrics of a process's database and bus. Call the result to stop them. */
export function observeClients(app: App, pool: PoolWatch): () => void {
  const registry = metricsOf(app)
  gaugeOf(registry, 'service_ready', () => Number(app.health.notReady === null))
  observePool(app, pool)
  return observeBus(app)
}

function observePool(app: App, pool: PoolWatch): void {
  const registry = metricsOf(app)
  gaugeOf(registry, 'database_pool_connections_max', () => pool.max)
  gaugeOf(registry, 'database_pool_connections_in_use', pool.inUse)
  gaugeOf(registry, 'database_pool_connections_idle', pool.idle)
  gaugeOf(registry, 'database_pool_waiting', pool.waiting)
  const waits = histogram(registry, 'database_pool_wait_seconds')
  pool.onWait((ms) => waits.observe(ms / 1000))
}

// Both ends of a message are in this process, so one clock measures its delay.
function observeBus(app: App): () => void {
  const { bus } = app
  const registry = metricsOf(app)
  gaugeOf(registry, 'bus_up', () => Number(bus.isUp()))
  const delays = histogram(registry, 'bus_delay_seconds')
  const gaps = counter(registry, 'bus_gaps_total')
  const channel = CHANNELS.probe(newId())
  const forgetGaps = bus.onGap(() => gaps.inc())
  const subscribed = bus.subscribe(channel, (sentAt) => {
    const delayMs = performance.now() - (SENT_AT.test(sentAt) ? Number(sentAt) : NaN)
    // Anybody who reaches Redis can send here, and the histogram throws at what is no number.
    if (delayMs >= 0) delays.observe(delayMs / 1000)
  })
  const { publish } = bus
  const probe = (): void => publish(channel, String(performance.now()))
  void subscribed.then(probe)
  const timer = setInterval(probe, PROBE_MS).unref()
  return () => {
    clearInterval(timer)
    forgetGaps()
    void subscribed.then((unsubscribe) => unsubscribe())
  }
}
