import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'

import type { App } from '../../core/app.ts'
import { histogram, metricsOf } from '../../core/telemetry/metrics.ts'

/**
 * Routes that may answer with a stream: their answers would be measured only when the stream ends.
 */
const STREAM_ROUTES: ReadonlySet<string> = new Set([
  '/api/v1/stream',
  '/api/v1/stream/:discussionId',
  '/graphql',
  '/graphql/stream',
])

/**
 * Counts and times the answers of routes that `server` gets from now on, streams when they open.
 * Labels are bounded: the route is its pattern, and requests without a route have neither path nor
 * method. `onStream` is called for each stream.
 */
export function measureRequests(
  server: FastifyInstance,
  app: App,
  onStream: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  const seconds = histogram(metricsOf(app), 'http_request_duration_seconds')
  const observe = ({ method, routeOptions: { url } }: FastifyRequest, reply: FastifyReply): void => {
    const asked = url === undefined ? { method: 'other', route: 'unknown' } : { method, route: url }
    seconds.observe({ ...asked, status: `${Math.floor(reply.raw.statusCode / 100)}xx` }, reply.elapsedTime / 1000)
  }
  const opened = new WeakSet<FastifyRequest>()

  server.addHook('onRoute', (route) => {
    if (!STREAM_ROUTES.has(route.url)) return
    const { handler } = route
    const measured: RouteHandlerMethod = async function (request, reply) {
      const answer: unknown = await handler.call(this, request, reply)
      // A handler that took over the reply from Fastify is writing to it.
      if (reply.sent && !reply.raw.writableEnded) {
        opened.add(request)
        observe(request, reply)
        onStream(request, reply)
      }
      return answer
    }
    route.handler = measured
  })
  server.addHook('onResponse', (request, reply, done) => {
    if (!opened.has(request)) observe(request, reply)
    done()
  })
}
