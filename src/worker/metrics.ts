import { Counter, Gauge, Histogram } from 'prom-client'

import { type App, perApp } from '../core/context.ts'
import { metricsOf } from '../core/metrics.ts'
import type { Outcome } from '../domains/webhooks/record-sql.ts'
import { countOpenBackfills } from '../domains/upgrades/upgrades.ts'
import { type Survey, surveyDeliveries } from '../domains/webhooks/survey-sql.ts'

export interface DeliveryMetrics {
  begun(): void
  ended(outcome: Outcome | null): void
}

/**
 * The worker's figures at `/metrics`. Those of the database are looked up when they are asked for.
 */
export const deliveryMetrics = perApp((app: App): DeliveryMetrics => {
  const registers = [metricsOf(app)]
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver, by outcome; skipped: nothing was sent.',
    labelNames: ['outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'webhook_attempt_duration_seconds',
    help: 'How long attempts took.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  const inFlight = new Gauge({
    name: 'webhook_attempts_in_flight',
    help: 'Attempts under way in this process.',
    registers,
  })
  observeDatabase(app)
  return {
    begun: () => inFlight.inc(),
    ended: (outcome) => {
      inFlight.dec()
      if (outcome === null) return
      attempts.inc({ outcome: outcome.error === null ? 'delivered' : outcome.wasSent ? 'failed' : 'skipped' })
      if (outcome.wasSent) seconds.observe(outcome.durationMs / 1000)
    },
  }
})

/**
 * Figures of all processes together: one look for both. A scrape while the database is away gets
 * those of before.
 */
function observeDatabase(app: App): void {
  const registers = [metricsOf(app)]
  let looking: Promise<Survey | null> | undefined
  const look = (): Promise<Survey | null> =>
    (looking ??= surveyDeliveries(app.db.query)
      .catch(() => null)
      .finally(() => (looking = undefined)))
  const gauge = (name: string, help: string, read: (survey: Survey) => number): Gauge => {
    const made: Gauge = new Gauge({
      name,
      help,
      registers,
      collect: async () => {
        const survey = await look()
        if (survey !== null) made.set(read(survey))
      },
    })
    return made
  }
  gauge(
    'webhook_backlog_age_seconds',
    'How long the oldest delivery that could be attempted has been due, over all processes.',
    ({ backlogAgeSeconds }) => backlogAgeSeconds,
  )
  gauge(
    'webhook_circuits_open',
    'Verified endpoints whose circuit is open or half open, over all processes.',
    ({ circuitsOpen }) => circuitsOpen,
  )
}

export const observeBackfills = perApp((app: App): Gauge => {
  const made: Gauge = new Gauge({
    name: 'backfills_open',
    help: 'Backfills of migrations that workers have not completed.',
    registers: [metricsOf(app)],
    collect: async () => {
      const open = await countOpenBackfills(app).catch(() => null)
      if (open !== null) made.set(open)
    },
  })
  return made
})
