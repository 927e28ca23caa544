import type { FastifyRequest } from 'fastify'

import { type App, perApp } from '../../../core/app.ts'

const warned = perApp(() => ({ isDone: false }))

/**
 * Warns once if a request was forwarded by a proxy that TRUSTED_PROXIES does not name: all readers
 * behind it then have its address, and share the limits of one address.
 */
export function warnOfUnknownProxy(app: App, { ip, ips = [], headers }: FastifyRequest): void {
  const state = warned(app)
  // Several addresses: Fastify trusts the proxy. The client's address may equal the proxy's.
  if (state.isDone || headers['x-forwarded-for'] === undefined || ips.length > 1) return
  state.isDone = true
  app.log.warn(
    { address: ip },
    'X-Forwarded-For is not believed from this address: if it is your proxy, name it in TRUSTED_PROXIES',
  )
}
