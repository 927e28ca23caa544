import { collectDefaultMetrics, Registry } from 'prom-client'

import { perApp } from './context.ts'

/** What this process tells Prometheus, whichever roles it plays. */
export const metricsOf = perApp((): Registry => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
})
