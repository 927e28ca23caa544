import type { FastifyRequest } from 'fastify'

import { type App, perApp } from '../../core/context.ts'

const warned = perApp(() => ({ isDone: false }))

/**
 * Warns once where a request was forwarded by a proxy that TRUSTED_PROXIES does not name: all
 * readers behind it then have its address, and share what one address may open.
 */
export function warnOfUnknownProxy(app: App, { ip, ips = [], headers }: FastifyRequest): void {
  const state = warned(app)
  // More than one address: Fastify trusts the proxy. The client's may be the same as the proxy's.
  if (state.isDone || headers['x-forwarded-for'] === undefined || ips.length > 1) return
  state.isDone = true
  app.log.warn(
    { address: ip },
    'X-Forwarded-For is not believed from this address: if it is your proxy, name it in TRUSTED_PROXIES',
  )
}
