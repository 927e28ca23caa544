/** No texts of callers, parameters or credentials: all who read traces see these. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

interface SpanOptions {
  kind?: 'server' | 'client' | 'producer'
  attributes?: Attributes
}

/** A unit of work in a trace that is sampled: the others have none. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  /** As the header `traceparent` names it (W3C Trace Context). */
  readonly traceparent: string
  /** Begins a part of it. */
  begin(name: string, options?: SpanOptions): Span
  /** Begins a part, and until it ends puts all further parts below it. */
  enter(name: string, options?: SpanOptions): Span
  set(attributes: Attributes): void
  /** `failure`: a code or the name of an error, never its text. */
  end(failure?: string): void
}

interface TraceOptions extends SpanOptions {
  /** The headers of a caller, whose trace goes on. */
  headers?: Readonly<Record<string, unknown>>
  /** The `traceparent` of the work that has led to this one. */
  link?: string | null
}

/** Makes traces. A process has one only where an exporter is configured. */
export interface Tracing {
  /** Begins the work of a process in a trace. Null where that is not sampled. */
  begin(name: string, options: TraceOptions): Span | null
  /** Sends what is left, for `withinMs` at most. */
  close(withinMs: number): Promise<void>
}

/** What a log line says of the trace that it belongs to. */
export const traceIds = (span: Span | null | undefined): { traceId?: string; spanId?: string } =>
  span == null ? {} : { traceId: span.traceId, spanId: span.spanId }
