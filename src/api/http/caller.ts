import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { identityHeader } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import { type Caller, type Identity, isBrowser } from '../../core/caller.ts'
import { ServiceError } from '../../core/errors.ts'
import { traced } from '../../core/telemetry/trace.ts'
import { recallIdentity, verifyIdentity } from '../../domains/readers/identity.ts'
import { allowOrigin, headersWithoutTenant, requireOrigin, varyByOrigin } from './cors.ts'
import { cookieSetter } from './console-cookie.ts'
import { authenticate, cameIn, credentialsOf, headerOf, type Principal, recallCaller } from './credentials.ts'
import { countAddress, countCaller, onBudgetOf } from './limits.ts'
import { appOf } from './requester.ts'
import { noteTenant } from './sockets/timeouts.ts'
import { asksBySite, siteCallerOf } from './sites/graphql.ts'

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
const NO_BODY = Buffer.alloc(0)

/**
 * Authenticates every request of `scope`: credentials before the body is read, the assertion after
 * it. Each request takes a token of the caller's bucket, or of the address if it has no valid
 * credentials.
 */
export function registerCaller(scope: FastifyInstance, app: App): void {
  const identityName = identityHeader(app).toLowerCase()

  scope.addHook('onRequest', (request, reply, done) => {
    varyByOrigin(request, reply)
    if (asksBySite(app, request)) {
      siteCallerOf(app, request, reply)
        .then((caller) => setCaller(request, reply, caller))
        .then(() => done(), done)
      return
    }
    const credentials = credentialsOf(app, request)
    const known = recallCaller(app, credentials)
    if (known !== undefined) {
      admit(request, reply, known)
      return done()
    }
    onBudgetOf(app, request.ip, (pay) => authenticate(app, credentials, pay))
      .then(async (authenticated) => {
        if (authenticated === null) void reply.headers(await headersWithoutTenant(app, placeOf(request)))
        admit(request, reply, authenticated)
      })
      .catch((error: unknown) => {
        // A browser goes on sending the cookie, also when its member signs in elsewhere.
        if (credentials.cookie === undefined || !isSuspension(error)) throw error
        admit(request, reply, null)
        request.ctx = { ...request.ctx, refused: error }
      })
      .then(() => done(), done)
  })

  function admit(request: FastifyRequest, reply: FastifyReply, authenticated: Principal | null): void {
    const caller = authenticated && {
      tenant: authenticated.tenant,
      actor: authenticated.actor,
      identity: authenticated.identity ?? null,
    }
    setCaller(request, reply, caller)
    request.ctx = { ...request.ctx, ...cookieSetter(app, request, reply) }
    if (authenticated === null) return countAddress(app, request.ip)
    allowOrigin(request, reply, authenticated.tenant)
    countCaller(app, reply, authenticated, { address: request.ip })
    if (authenticated.actor.kind === 'client') requireOrigin(request, authenticated.tenant)
  }

  function setCaller(request: FastifyRequest, reply: FastifyReply, caller: Caller | null): void {
    const isWrite = !READS.has(request.method)
    if (caller !== null) noteTenant(reply.raw, caller.tenant.id)
    const own = caller === null ? app : appOf(app, caller.tenant, isWrite, reply)
    request.ctx = { app: traced(own, request.span), requestId: request.id, caller, address: request.ip }
  }

  scope.addHook('preHandler', (request, _reply, done) => {
    const { caller } = request.ctx
    const token = headerOf(request, identityName)
    if (caller === null || token === undefined) return done()
    if (isBrowser(caller.actor)) return done(new ServiceError('ambiguous_credentials', { detail: NAMES_ITS_READER }))
    const vouch = (identity: Identity): void => {
      request.ctx = { ...request.ctx, caller: { tenant: caller.tenant, actor: caller.actor, identity } }
    }
    const known = recallIdentity(app, caller.tenant, token)
    if (known !== undefined) {
      vouch(known)
      return done()
    }
    verifyIdentity(app, caller.tenant, token, request.rawBody ?? NO_BODY)
      .catch(cameIn(identityHeader(app)))
      .then(vouch)
      .then(() => done(), done)
  })
}

const placeOf = ({ routeOptions: { url: path = '' }, headers: { origin }, ip: address }: FastifyRequest) => ({
  path,
  origin,
  address,
})

const NAMES_ITS_READER = 'A browser names its reader by its token: send it without an identity assertion.'

const isSuspension = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'tenant_suspended'
