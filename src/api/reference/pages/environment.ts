import { z } from 'zod'

import { environmentSchema } from '../../../core/settings/process.ts'
import { code, page, table } from './markdown.ts'

type Variable = keyof typeof environmentSchema.shape

/** Variables of OpenTelemetry; `src/data/tracing.ts` reads the first four too. */
const OPENTELEMETRY: Readonly<Record<string, string>> = {
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'Where traces are sent, as `http://127.0.0.1:4318`. Without it and `OTEL_TRACES_EXPORTER` nothing is traced.',
  OTEL_EXPORTER_OTLP_PROTOCOL: '`http/protobuf` (the default) or `http/json`. gRPC is not there.',
  OTEL_TRACES_EXPORTER: '`otlp`, `console` (standard output) or `none`.',
  OTEL_SDK_DISABLED: '`true` turns traces off, whatever else is set.',
  OTEL_EXPORTER_OTLP_HEADERS: 'Headers for the collector, as `authorization=Bearer%20…`.',
  OTEL_TRACES_SAMPLER:
    'Which requests are traced: `parentbased_always_on` (the default), `parentbased_traceidratio`, …',
  OTEL_TRACES_SAMPLER_ARG: 'Of `parentbased_traceidratio` the share, as `0.01`.',
  OTEL_SERVICE_NAME: 'The name of the service in traces: `engagement-service` unless set.',
  OTEL_RESOURCE_ATTRIBUTES: 'More that every span says, as `deployment.environment.name=production`.',
  OTEL_BSP_MAX_QUEUE_SIZE: 'Spans that wait for the collector at most: 2048 unless set. More are dropped.',
}

/** `docs/reference/environment.md`. */
export function environmentPage(): string {
  const defaults: Record<string, unknown> = environmentSchema.parse({})
  const rows = (Object.keys(environmentSchema.shape) as Variable[]).map((name) => {
    const { description, unset } = environmentSchema.shape[name].meta() ?? {}
    if (description === undefined) throw new Error(`${name} of src/core/settings/process.ts has no description`)
    return [code(name), typeof unset === 'string' ? unset : shown(defaults[name]), valuesOf(name), description]
  })
  return page('Environment', '`src/core/settings/process.ts`', [
    'The settings of a process. An empty variable counts as unset. Wrong values stop the start, with a line for each that names it. At the start the log names a variable whose name is almost one of these. Everything else is a [setting of the tenant](settings.md).',
    table(['Variable', 'Default', 'Values', 'Meaning'], rows),
    '## OpenTelemetry',
    "[Traces](../operations/observe.md#traces) are configured by OpenTelemetry's own variables, which its SDK reads. They mean what [its specification](https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/) says. These matter most:",
    table(
      ['Variable', 'Meaning'],
      Object.entries(OPENTELEMETRY).map(([name, meaning]) => [code(name), meaning]),
    ),
  ])
}

function shown(value: unknown): string {
  if (value === undefined) return 'none'
  return code(value instanceof Date ? value.toISOString().slice(0, 10) : value)
}

/** The choices or bounds in the schema. */
function valuesOf(name: Variable): string {
  const schemaOf = (io: 'input' | 'output') =>
    z.toJSONSchema(environmentSchema.shape[name], { io, unrepresentable: 'any' }) as z.core.JSONSchema.BaseSchema
  const { enum: choices } = schemaOf('input')
  if (choices !== undefined) return choices.map(code).join(', ')
  const { minLength, maxLength } = schemaOf('input')
  if (maxLength !== undefined) return `${minLength ?? 0} to ${maxLength} characters`
  if (minLength !== undefined && minLength > 1) return `at least ${minLength} characters`
  const { type, minimum, maximum } = schemaOf('output')
  if (minimum === undefined || maximum === undefined) return ''
  return `${minimum} to ${maximum}${type === 'integer' ? '' : ', also fractions'}`
}
