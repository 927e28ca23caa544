import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { baseUrl } from '../../core/address.ts'
import type { App } from '../../core/app.ts'
import { SignOnRefused } from '../../domains/staff/sign-on/refusals.ts'
import { beginSignOn, finishSignOn } from '../../domains/staff/sign-on/sign-on.ts'
import { API_BASE } from '../../graphql/route.ts'
import { cookieOf, readCookie } from './console-cookie.ts'

const PATH = `${API_BASE}/admin/auth/oidc`

/**
 * Mounts the two steps of a sign-on. A browser opens them as pages, and each leads it on: to the
 * provider, and back to the console, which reads behind `#` what has become of it.
 */
export function registerSignOn(scope: FastifyInstance, app: App): void {
  // Asked for each time: a port that the system chooses is known only once the server listens.
  const consoleUrl = () => `${baseUrl(app)}/console/`
  const callbackUrl = () => `${baseUrl(app)}${PATH}/callback`
  const leadOn = async (request: FastifyRequest, reply: FastifyReply, step: () => Promise<string>) => {
    void reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    try {
      return await reply.redirect(await step(), 303)
    } catch (error) {
      if (!(error instanceof SignOnRefused)) throw error
      app.log.warn({ err: error.cause, reason: error.reason, requestId: request.id }, 'a sign-on was refused')
      return reply.redirect(`${consoleUrl()}#sign-on=${error.reason}`, 303)
    }
  }
  scope.route<{ Querystring: { tenant?: string | string[] } }>({
    method: 'GET',
    url: `${PATH}/start`,
    exposeHeadRoute: false,
    handler: (request, reply) =>
      leadOn(request, reply, async () => {
        const { tenant } = request.query
        const slug = typeof tenant === 'string' ? tenant : ''
        const { url, begun, expiresAt } = await beginSignOn({ app, address: request.ip }, slug, callbackUrl())
        void reply.header('set-cookie', cookieOf(app, 'sign-on', { value: begun, expiresAt }))
        return url
      }),
  })
  scope.route({
    method: 'GET',
    url: `${PATH}/callback`,
    exposeHeadRoute: false,
    handler: (request, reply) =>
      leadOn(request, reply, async () => {
        const url = new URL(callbackUrl())
        url.search = new URL(request.url, url).search
        const begun = readCookie(app, request, 'sign-on')
        // It serves once.
        void reply.header('set-cookie', cookieOf(app, 'sign-on', null))
        const { token, expiresAt } = await finishSignOn({ app, address: request.ip }, url, begun)
        void reply.header('set-cookie', cookieOf(app, 'console', { value: token, expiresAt }))
        return `${consoleUrl()}#sign-on=done`
      }),
  })
}
