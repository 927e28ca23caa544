import Fastify, { type FastifyInstance } from 'fastify'

import type { App } from '../core/context.ts'
import { problemOf, ServiceError } from '../core/errors.ts'
import { metricsOf } from '../core/metrics.ts'
import { statement } from '../core/sql.ts'

const PING = statement('ping', 'SELECT 1')

/** `/healthz`: the process runs. `/readyz`: it can serve. `/metrics`: Prometheus. */
export function registerHealth(server: FastifyInstance, app: App): void {
  const registry = metricsOf(app)
  server.get('/healthz', () => ({ status: 'ok' }))
  server.get('/readyz', async () => {
    await app.db.query(PING).catch((cause: unknown) => {
      throw new ServiceError('unavailable', { detail: 'The database does not answer.', cause })
    })
    // Without the bus everything still works, from the database.
    return { status: 'ok', bus: app.bus.isUp() ? 'up' : 'down' }
  })
  server.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
}

/** The same alone, for a process that plays no api. It listens once `listen` is called. */
export function createHealthServer(app: App): FastifyInstance {
  const server = Fastify({ logger: false, forceCloseConnections: true })
  server.setErrorHandler((error, request, reply) => {
    const refusal = error instanceof ServiceError ? error : new ServiceError('internal', { cause: error })
    return reply.code(refusal.status).type('application/problem+json').send(problemOf(refusal, request.id))
  })
  registerHealth(server, app)
  return server
}
