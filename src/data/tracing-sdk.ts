// Code that needs OpenTelemetry. It is bundled with it, and loaded only if traces are exported.
import {
  diag,
  DiagLogLevel,
  type Link,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import type { Logger } from 'pino'

import type { Span, Tracing } from '../core/span.ts'
import type { Draw, Exporter } from './tracing-variables.ts'

type Options = Parameters<Span['begin']>[1]

const EXPORTERS: Readonly<Record<Exporter, () => SpanExporter>> = {
  'http/json': () => new JsonExporter(),
  'http/protobuf': () => new ProtobufExporter(),
  console: () => new ConsoleSpanExporter(),
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, producer: SpanKind.PRODUCER }

/** The least time between warnings about traces that cannot be sent. */
const WARN_EVERY_MS = 60_000

const propagator = new W3CTraceContextPropagator()
const headersGetter = {
  keys: (headers: object) => Object.keys(headers),
  get: (headers: Readonly<Record<string, unknown>>, name: string) => headers[name] as string | string[] | undefined,
}

/**
 * Starts exporting traces. `draw` decides which traces that begin here are sampled, if that is by
 * chance; otherwise the SDK's sampler does. All else follows the `OTEL_…` variables, which the SDK
 * reads.
 */
export function startTracing(exporter: Exporter, draw: Draw | null, log: Logger): Tracing {
  logExportFailures(log)
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'engagement-service' }))
    .merge(detectResources({ detectors: [envDetector, serviceInstanceIdDetector] }))
  // Its queue is bounded (OTEL_BSP_MAX_QUEUE_SIZE), so that an exporter that is down costs no
  // memory.
  const processor = new BatchSpanProcessor(EXPORTERS[exporter]())
  const options = { resource, spanProcessors: [processor] }
  const tracer = new BasicTracerProvider(options).getTracer('engagement-service')
  // For drawn traces, and for those that follow from a sampled write: otherwise hardly any link
  // would lead to a trace.
  const sampled = new BasicTracerProvider({ ...options, sampler: new AlwaysOnSampler() }).getTracer(
    'engagement-service',
  )
  return {
    begin(name, { headers = {}, link, kind, attributes = {} }) {
      const isRoot = headers.traceparent === undefined && link == null
      if (isRoot && draw?.() === false) return null
      const parent =
        headers.traceparent === undefined ? ROOT_CONTEXT : propagator.extract(ROOT_CONTEXT, headers, headersGetter)
      const links = link == null ? [] : linksTo(link)
      const by = links.length > 0 || (isRoot && draw !== null) ? sampled : tracer
      // No sampler uses attributes, and reading them is half the cost of a request that is not
      // sampled.
      const span = by.startSpan(name, { kind: kindOf(kind), ...(links.length > 0 && { links }) }, parent)
      return span.isRecording() ? new TracedSpan(by, span.setAttributes(attributes)) : null
    },
    close: async (withinMs) => {
      let late: NodeJS.Timeout | undefined
      const given = new Promise<void>((resolve) => (late = setTimeout(resolve, withinMs)))
      await Promise.race([processor.shutdown().catch(() => undefined), given])
      clearTimeout(late)
    },
  }
}

class TracedSpan implements Span {
  readonly traceId: string
  readonly spanId: string
  readonly #tracer: Tracer
  readonly #span: OtelSpan
  #entered: Span | undefined

  constructor(tracer: Tracer, span: OtelSpan) {
    this.#tracer = tracer
    this.#span = span
    const { traceId, spanId } = span.spanContext()
    this.traceId = traceId
    this.spanId = spanId
  }

  get traceparent(): string {
    return `00-${this.traceId}-${this.spanId}-01`
  }

  begin(name: string, options: Options = {}): Span {
    return this.#entered?.begin(name, options) ?? this.#part(name, options)
  }

  enter(name: string, options: Options = {}): Span {
    const part = this.#part(name, options)
    this.#entered = part
    return Object.assign(part, {
      end: (failure?: string) => {
        if (this.#entered === part) this.#entered = undefined
        TracedSpan.prototype.end.call(part, failure)
      },
    })
  }

  set(attributes: Parameters<Span['set']>[0]): void {
    this.#span.setAttributes(attributes)
  }

  end(failure?: string): void {
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure)
      this.#span.setStatus({ code: SpanStatusCode.ERROR })
    }
    this.#span.end()
  }

  #part(name: string, { kind, attributes = {} }: NonNullable<Options>): TracedSpan {
    const parent = trace.setSpan(ROOT_CONTEXT, this.#span)
    return new TracedSpan(this.#tracer, this.#tracer.startSpan(name, { kind: kindOf(kind), attributes }, parent))
  }
}

const kindOf = (kind: keyof typeof KINDS | undefined): SpanKind =>
  kind === undefined ? SpanKind.INTERNAL : KINDS[kind]

/** None for a text that is not a `traceparent`. */
function linksTo(traceparent: string): Link[] {
  const context = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, { traceparent }, headersGetter))
  return context === undefined ? [] : [{ context }]
}

function logExportFailures(log: Logger): void {
  let warnedAt = -Infinity
  const warn = (...parts: unknown[]): void => {
    if (performance.now() - warnedAt < WARN_EVERY_MS) return
    warnedAt = performance.now()
    log.warn({ reason: parts.map(String).join(' ').slice(0, 500) }, 'traces cannot be exported')
  }
  const silent = (): void => undefined
  diag.setLogger({ error: warn, warn, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN)
}
