import { timingSafeEqual } from 'node:crypto'

import type { FastifyInstance } from 'fastify'

import { type App, perApp } from '../../core/app.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { metricsOf } from '../../core/telemetry/metrics.ts'
import { countAddress } from './limits.ts'

/**
 * The least time between two collections, however many clients scrape: some metrics query the
 * database.
 */
const EVERY_MS = 1000

const figuresOf = perApp((app) => {
  const registry = metricsOf(app)
  let made = { at: -Infinity, text: Promise.resolve('') }
  return (): Promise<string> => {
    const now = performance.now()
    if (now - made.at >= EVERY_MS) made = { at: now, text: app.allFigures?.() ?? registry.metrics() }
    return made.text
  }
})

/** `GET /metrics` for Prometheus. With METRICS_TOKEN set it asks for that token. */
export function registerMetrics(server: FastifyInstance, app: App): void {
  const figures = figuresOf(app)
  const { contentType } = metricsOf(app)
  server.get('/metrics', async (request, reply) => {
    requireToken(app, request.headers.authorization, request.ip)
    return reply.type(contentType).send(await figures())
  })
}

/** Throws `missing_credentials`; after too many guesses from an address `rate_limited`. */
function requireToken(app: App, authorization: string | undefined, address: string): void {
  const { METRICS_TOKEN } = app.settings
  if (METRICS_TOKEN === undefined) return
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  // Digests have equal length, and their comparison takes the same time whatever differs.
  if (given !== undefined && timingSafeEqual(sha256(given), sha256(METRICS_TOKEN))) return
  countAddress(app, address)
  throw new ServiceError('missing_credentials', { detail: 'Send METRICS_TOKEN in Authorization, as Bearer.' })
}
