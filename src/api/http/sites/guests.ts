import type { FastifyReply, FastifyRequest } from 'fastify'

import type { App } from '../../../core/app.ts'
import type { Identity, Tenant } from '../../../core/caller.ts'
import { makeChallenge } from '../../../domains/guests/proof.ts'
import { requireGuests } from '../../../domains/guests/mailer.ts'
import { requestMail } from '../../../domains/guests/requests.ts'
import { confirmGuest, endGuestToken, isGuestToken } from '../../../domains/guests/tokens.ts'
import { ServiceError } from '../../../core/errors.ts'
import type { Site } from '../../../domains/sites/sites.ts'

/** A page's request, as far as the routes of guests need it. */
interface GuestVisit {
  app: App
  site: Site
  tenant: Tenant
  /** Null for nobody. */
  identity: Identity | null
  request: FastifyRequest
  reply: FastifyReply
}

interface Route {
  /** Whether it is for people who are not signed in. */
  isForNobody: boolean
  answer: (visit: GuestVisit) => Promise<FastifyReply>
}

/** What the service has of guests beside the routes of a backend. */
const ROUTES: Readonly<Record<string, Route>> = {
  'GET challenge': {
    isForNobody: true,
    // As it is: clients of ALTCHA take it.
    answer: async ({ app, site, tenant, reply }) => {
      requireGuests(app, site, tenant)
      return reply.send(await makeChallenge(app, site))
    },
  },
  'POST guests': {
    isForNobody: true,
    answer: async ({ app, site, tenant, request, reply }) => {
      const expiresAt = await requestMail(app, { site, tenant, address: request.ip }, request.body)
      return reply.code(202).send({ data: { expiresAt } })
    },
  },
  'POST guests/confirm': {
    isForNobody: true,
    answer: async ({ app, site, tenant, request, reply }) =>
      reply.send({ data: await confirmGuest(app, { site, tenant, address: request.ip }, request.body) }),
  },
  'DELETE guests/me': {
    isForNobody: false,
    answer: async ({ app, tenant, identity, request, reply }) => {
      const token = bearerOf(request)
      if (token === null || !isGuestToken(token) || identity?.readerId === undefined)
        throw new ServiceError('invalid_identity', { detail: 'Authorization: It must be the token of a guest.' })
      await endGuestToken(app, tenant.id, token, identity.readerId)
      return reply.code(204).send()
    },
  },
}

/** The route of a request; undefined for one that a publisher's backend has as well. */
export const guestRouteOf = ({ method, params }: FastifyRequest): Route | undefined =>
  ROUTES[`${method === 'HEAD' ? 'GET' : method} ${(params as { '*': string })['*']}`]

/** The token of the header; null for none. Throws `invalid_identity` for another form of it. */
export function bearerOf({ headers: { authorization } }: FastifyRequest): string | null {
  if (authorization === undefined) return null
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined)
    throw new ServiceError('invalid_identity', { detail: 'Authorization: It must be Bearer and a token.' })
  return token
}

/** Answers a request of guests, which no cache keeps. */
export const answerGuests = ({ answer }: Route, visit: GuestVisit): Promise<FastifyReply> => {
  void visit.reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  return answer(visit)
}
