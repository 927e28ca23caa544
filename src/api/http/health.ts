import Fastify, { type FastifyInstance } from 'fastify'

import type { App } from '../../core/app.ts'
import { problemOf, refusalHeaders, ServiceError } from '../../core/errors.ts'
import type { NotReady } from '../../core/process/health.ts'
import { registerMetrics } from './metrics.ts'
import { limitTimes, timesOf } from './sockets/timeouts.ts'

const REASONS: Readonly<Record<NotReady, string>> = {
  starting: 'The first start is not over: no tenant exists yet.',
  stopping: 'The process is stopping.',
  down: 'The database does not answer.',
  standby: 'The database server is a standby: it takes no writes.',
  read_only: 'The database is read-only: it takes no writes.',
  unreplicated: 'Commits of the database wait for a synchronous standby that is away.',
  full: 'The database is out of disk space.',
}

const HEALTH_PATHS: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz', '/metrics'])

/** The error that tells callers why this process cannot serve. */
const notReady = (reason: NotReady): ServiceError =>
  new ServiceError('unavailable', { detail: REASONS[reason], retryAfterSeconds: 1 })

/**
 * Refuses every request until the first tenant exists. An api listens before it creates that
 * tenant, so that nothing can fail after the credentials are made; meanwhile no key is known, and
 * 401 would be wrong for a valid one.
 */
export function refuseUntilSetUp(server: FastifyInstance, { health }: App): void {
  server.addHook('onRequest', (request, _reply, done) => {
    if (health.isSetUp || HEALTH_PATHS.has(request.routeOptions.url)) done()
    else done(notReady('starting'))
  })
}

/**
 * A connection that cannot be accepted, for lack of memory for instance, is an error of the
 * listener. Without a handler it would end the process. Errors of `listen` go to its caller.
 */
export function surviveAccept(server: FastifyInstance, { log }: App): void {
  server.addHook('onListen', (done) => {
    server.server.on('error', (err) => log.warn({ err }, 'a connection could not be accepted'))
    done()
  })
}

/** `/healthz`: the process runs. `/readyz`: it can serve. */
export function registerHealth(server: FastifyInstance, app: App): void {
  server.get('/healthz', () => ({ status: 'ok' }))
  server.get('/readyz', () => {
    const { health, bus } = app
    if (health.notReady !== null) throw notReady(health.notReady)
    // Without the bus everything still works, through the database.
    return { status: 'ok', bus: bus.isUp() ? 'up' : 'down' }
  })
}

/**
 * A second listener, for health and, with `hasMetrics`, for Prometheus. It listens once `listen` is
 * called.
 */
export function createHealthServer(app: App, { hasMetrics }: { hasMetrics: boolean }): FastifyInstance {
  const server = Fastify({ logger: false, forceCloseConnections: true })
  server.setErrorHandler((error, request, reply) => {
    const refusal = error instanceof ServiceError ? error : new ServiceError('internal', { cause: error })
    return reply
      .code(refusal.status)
      .headers(refusalHeaders(refusal))
      .type('application/problem+json')
      .send(problemOf(refusal, request.id))
  })
  surviveAccept(server, app)
  limitTimes(server.server, timesOf(app.settings))
  registerHealth(server, app)
  if (hasMetrics) registerMetrics(server, app)
  return server
}
