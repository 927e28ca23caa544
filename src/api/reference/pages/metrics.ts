import { type Metric, METRICS } from '../../../core/telemetry/metric-table.ts'
import { code, page, table } from './markdown.ts'

const COLUMNS = ['Metric', 'Type', 'Labels', 'Where', 'Meaning']

/** `docs/reference/metrics.md`. */
export const metricsPage = (): string =>
  page('Metrics', '`src/core/telemetry/metric-table.ts`', [
    'What `/metrics` has for Prometheus: see [observe](../operations/observe.md). Beside these it has the metrics of the process that `prom-client` collects: `process_…` (CPU, memory, file descriptors) and `nodejs_…` (event loop, garbage collection, heap).',
    table(
      COLUMNS,
      Object.entries<Metric>(METRICS).map(([name, metric]) => [
        code(name),
        metric.type,
        labelsOf(metric),
        metric.where,
        metric.help,
      ]),
    ),
  ])

const labelsOf = ({ labels = {} }: Metric): string =>
  Object.entries(labels)
    .map(([name, values]) => `${code(name)}: ${typeof values === 'string' ? values : listOf(values)}`)
    .join('; ')

/** Up to this many values are named. */
const FEW = 8

const listOf = (values: readonly string[]): string =>
  values.length > FEW ? 'one of the [errors](errors.md)' : values.map(code).join(', ')
