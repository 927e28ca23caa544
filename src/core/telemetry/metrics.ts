import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

import { type App, perApp } from '../app.ts'
import type { ErrorCode } from '../error-table.ts'
import { type Metric, METRICS } from './metric-table.ts'

/** The metrics of this process, whatever its roles. */
export const metricsOf = perApp((): Registry => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  counter(registry, 'unhandled_errors_total')
  return registry
})

type Metrics = typeof METRICS
type NameOf<Type> = { [Name in keyof Metrics]: Metrics[Name] extends { type: Type } ? Name : never }[keyof Metrics]
type LabelOf<Name extends keyof Metrics> = Metrics[Name] extends { labels: infer Labels }
  ? keyof Labels & string
  : never

interface Options {
  name: string
  help: string
  labelNames: string[]
  registers: Registry[]
}

/** A metric of the table in a registry. A metric that several modules share is registered once. */
function register<Made extends object>(
  registry: Registry,
  name: keyof Metrics,
  make: (options: Options) => Made,
): Made {
  const existing = registry.getSingleMetric(name)
  if (existing !== undefined) return existing as unknown as Made
  const { help, labels = {} }: Metric = METRICS[name]
  return make({ name, help: help.replaceAll('`', ''), labelNames: Object.keys(labels), registers: [registry] })
}

/** A counter of the table. */
export const counter = <Name extends NameOf<'counter'>>(registry: Registry, name: Name): Counter<LabelOf<Name>> =>
  register(registry, name, (options) => fromZero(name, new Counter<string>(options)))

/** A gauge of the table that is set as it changes. */
export const gauge = <Name extends NameOf<'gauge'>>(registry: Registry, name: Name): Gauge<LabelOf<Name>> =>
  register(registry, name, (options) =>
    fromZero(name, new Gauge<string>({ ...options, aggregator: METRICS[name].aggregator })),
  )

/** Starts each known label value at 0, so that a rate counts the first increment. */
function fromZero<Made extends Counter | Gauge>(name: keyof Metrics, made: Made): Made {
  const { labels = {} }: Metric = METRICS[name]
  const [[label, values] = ['', ''], ...others] = Object.entries(labels)
  if (others.length === 0 && typeof values !== 'string') for (const value of values) made.inc({ [label]: value }, 0)
  return made
}

/**
 * Has a gauge of the table read at each scrape. If a read gives null, the gauge keeps its last
 * value, and is absent if it has none.
 */
export function gaugeOf(
  registry: Registry,
  name: NameOf<'gauge'>,
  read: () => Promise<number | null> | number | null,
): void {
  register(registry, name, (options) => {
    let isKnown = false
    const made: Gauge = new Gauge({
      ...options,
      aggregator: METRICS[name].aggregator,
      collect: async () => {
        const value = await read()
        isKnown ||= value !== null
        if (value !== null) made.set(value)
        else if (!isKnown) made.remove()
      },
    })
    return made
  })
}

/** A histogram of the table. */
export function histogram<Name extends NameOf<'histogram'>>(registry: Registry, name: Name): Histogram<LabelOf<Name>> {
  return register(
    registry,
    name,
    (options) => new Histogram<string>({ ...options, buckets: [...METRICS[name].buckets] }),
  )
}

/** Where a caller is told of an error. */
export type Surface = 'rest' | 'graphql' | 'stream' | 'other'

/** Counts an error that a caller is told of. */
export const countRefusal = (app: App, surface: Surface, code: ErrorCode): void =>
  counter(metricsOf(app), 'refusals_total').inc({ code, surface })
