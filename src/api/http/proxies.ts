import type { FastifyRequest } from 'fastify'

import { type App, perApp } from '../../core/context.ts'

const warned = perApp(() => ({ isDone: false }))

/**
 * Warns once where a request was forwarded by a proxy that TRUSTED_PROXIES does not name: all
 * readers behind it then have its address, and share what one address may open.
 */
export function warnOfUnknownProxy(app: App, { ip, raw, headers }: FastifyRequest): void {
  const state = warned(app)
  if (state.isDone || headers['x-forwarded-for'] === undefined || ip !== raw.socket.remoteAddress) return
  state.isDone = true
  app.log.warn(
    { address: ip },
    'X-Forwarded-For is not believed from this address: if it is your proxy, name it in TRUSTED_PROXIES',
  )
}
