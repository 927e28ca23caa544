import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { Histogram } from 'prom-client'

import { type App, perApp } from '../../core/context.ts'
import { metricsOf } from '../../core/metrics.ts'

/**
 * Routes that may answer with a stream: with one as long as it lasts, their answers would be
 * measured when it ends.
 */
const STREAM_ROUTES: ReadonlySet<string> = new Set(['/api/v1/stream/:discussionId', '/graphql', '/graphql/stream'])

const durations = perApp(
  (app) =>
    new Histogram({
      name: 'http_request_duration_seconds',
      help: 'How long answers took: until all was sent, of a stream until it was open.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [metricsOf(app)],
    }),
)

/**
 * Counts and times the answers of the routes that `server` gets from now on, a stream when it is
 * open. Labels are bounded: the route is its pattern, and of what has none neither path nor method
 * is told. `onStream` is told of each stream.
 */
export function measureRequests(
  server: FastifyInstance,
  app: App,
  onStream: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  const seconds = durations(app)
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
      // A handler that has taken the answer over from Fastify writes to it on its own.
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
