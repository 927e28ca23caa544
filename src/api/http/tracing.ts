import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import type { App } from '../../core/app.ts'
import type { Span } from '../../core/span.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of this request; null if it is not traced. */
    span: Span | null
  }
}

/**
 * Traces the requests of `server`, whose spans continue the trace of the caller's `traceparent`.
 * The span of a stream ends when the stream opens: call the result for each.
 */
export function traceRequests(
  server: FastifyInstance,
  { tracing, settings }: App,
): (request: FastifyRequest, reply: FastifyReply) => void {
  server.decorateRequest('span', null)
  if (tracing === undefined) return () => undefined
  const scheme = settings.TLS_CERT_FILE === undefined ? 'http' : 'https'
  server.addHook('onRequest', (request, _reply, done) => {
    const { method, headers } = request
    // The pattern, not the address, which may contain credentials.
    const { url: route } = request.routeOptions
    const attributes = { 'http.request.method': method, 'url.scheme': scheme, 'http.route': route ?? 'unknown' }
    request.span = tracing.begin(`${method} ${route ?? 'unknown'}`, { kind: 'server', headers, attributes })
    done()
  })
  const end = ({ span }: FastifyRequest, { raw: { statusCode } }: FastifyReply): void => {
    span?.set({ 'http.response.status_code': statusCode })
    span?.end(statusCode >= 500 ? String(statusCode) : undefined)
  }
  const opened = new WeakSet<FastifyRequest>()
  server.addHook('onResponse', (request, reply, done) => {
    if (request.span !== null && !opened.has(request)) end(request, reply)
    done()
  })
  return (request, reply) => {
    if (request.span === null) return
    opened.add(request)
    end(request, reply)
  }
}
