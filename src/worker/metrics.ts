import { type App, perApp } from '../core/app.ts'
import { counter, gauge, gaugeOf, histogram, metricsOf } from '../core/telemetry/metrics.ts'
import { openBackfills } from '../data/migrations/backfills.ts'
import type { Outcome } from './statements/record-sql.ts'
import { type BacklogSurvey, surveyBacklogs } from './statements/survey-sql.ts'

export interface DeliveryMetrics {
  begun(): void
  ended(outcome: Outcome | null): void
}

/** The worker's metrics. Those about the database are read at each scrape. */
export const deliveryMetrics = perApp((app: App): DeliveryMetrics => {
  const registry = metricsOf(app)
  const attempts = counter(registry, 'webhook_attempts_total')
  const seconds = histogram(registry, 'webhook_attempt_duration_seconds')
  const inFlight = gauge(registry, 'webhook_attempts_in_flight')
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
 * Metrics of all processes together, from one query. While the database is down, a scrape gets the
 * last values.
 */
function observeDatabase(app: App): void {
  let surveying: Promise<BacklogSurvey | null> | undefined
  const survey = (): Promise<BacklogSurvey | null> =>
    (surveying ??= surveyBacklogs(app.db.query)
      .catch(() => null)
      .finally(() => (surveying = undefined)))
  const figures = {
    webhook_backlog_deliveries: 'deliveriesDue',
    webhook_backlog_age_seconds: 'backlogAgeSeconds',
    webhook_circuits_open: 'circuitsOpen',
    classifier_requests_due: 'classifierRequestsDue',
    analytics_deltas_waiting: 'analyticsDeltas',
  } as const
  for (const [name, field] of Object.entries(figures) as [keyof typeof figures, keyof BacklogSurvey][]) {
    gaugeOf(metricsOf(app), name, async () => (await survey())?.[field] ?? null)
  }
}

export const observeBackfills = (app: App): void =>
  gaugeOf(metricsOf(app), 'backfills_open', () =>
    openBackfills(app.db.query).then(
      ({ length }) => length,
      () => null,
    ),
  )
