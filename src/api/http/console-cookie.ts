import type { FastifyReply, FastifyRequest } from 'fastify'

import { baseUrl } from '../../core/address.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'

/** The value of `X-Requested-With` in requests of the console. No form and no link can send it. */
const CONSOLE = 'engagement-console'

const isSecure = (app: App): boolean => baseUrl(app).startsWith('https:')

/** With the prefix, browsers take it from this very host alone, over https. */
const nameOf = (app: App, cookie: Cookie): string => `${isSecure(app) ? '__Host-' : ''}engagement-${cookie}`

/** The token of the console, and what a sign-on leaves with the browser meanwhile. */
type Cookie = 'console' | 'sign-on'

/** A cookie comes back from a provider with `Lax`: its page leads to ours. */
const SAME_SITE = { console: 'Strict', 'sign-on': 'Lax' } as const satisfies Record<Cookie, string>

/** The value of a cookie that a browser sends, from any page. */
export function readCookie(app: App, { headers }: FastifyRequest, cookie: Cookie): string | undefined {
  const start = `${nameOf(app, cookie)}=`
  const found = headers.cookie?.split('; ').find((each) => each.startsWith(start))
  return found?.slice(start.length) || undefined
}

/** The header `Set-Cookie`; null ends the cookie. No script can read it. */
export function cookieOf(app: App, cookie: Cookie, made: { value: string; expiresAt: Date } | null): string {
  const { value, expiresAt } = made ?? { value: '', expiresAt: new Date(0) }
  const rest = `Path=/; HttpOnly; SameSite=${SAME_SITE[cookie]}${isSecure(app) ? '; Secure' : ''}`
  return `${nameOf(app, cookie)}=${value}; Expires=${expiresAt.toUTCString()}; ${rest}`
}

/**
 * Whether the service's own console sends a request: it says so, and the browser that it comes from
 * no other origin. A browser without `Sec-Fetch-Site` sends `Origin` with what changes something.
 */
function isFromConsole(app: App, { headers }: FastifyRequest): boolean {
  if (headers['x-requested-with'] !== CONSOLE) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return headers.origin === new URL(baseUrl(app)).origin
}

/** The admin token in the console's cookie; undefined where it does not count. */
export function tokenInCookie(app: App, request: FastifyRequest): string | undefined {
  return isFromConsole(app, request) ? readCookie(app, request, 'console') : undefined
}

/** How a request of the console gets its token: in a cookie that no script can read. */
export function cookieSetter(app: App, request: FastifyRequest, reply: FastifyReply): Pick<Ctx, 'setCookie'> {
  if (!isFromConsole(app, request)) return {}
  return {
    setCookie: (made) => {
      const value = made && { value: made.token, expiresAt: made.expiresAt }
      void reply.header('set-cookie', cookieOf(app, 'console', value))
    },
  }
}
