import type { FastifyReply } from 'fastify'

import type { App } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { addressBucket } from '../core/limits.ts'
import type { Credentials } from './credentials.ts'

/** The statuses of refused credentials, a repeated one included. Whatever else fails is not the caller's guess. */
const REFUSED = new Set([400, 401])

/**
 * Takes a token of the bucket of a key or an admin, and says on the answer what is left: every answer has it, whatever
 * its status. Throws `rate_limited`.
 */
export function countCaller({ limits }: App, reply: FastifyReply, { tenant, actor }: Credentials): void {
  const { rateLimit } = tenant.settings
  const verdict = limits.take('caller', `${tenant.id}/${actor.kind}/${actor.id}`, rateLimit)
  void reply.headers({
    'ratelimit-limit': String(rateLimit.burst),
    'ratelimit-remaining': String(verdict.remaining),
    'ratelimit-reset': String(verdict.resetSeconds),
  })
  if (!verdict.isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds: verdict.retryAfterSeconds })
}

/** Takes a token of the bucket of an address, for a request without good credentials. Throws `rate_limited`. */
export function countAddress({ limits, settings }: App, address: string): void {
  const { UNAUTHENTICATED_RATE_PER_SECOND: perSecond, UNAUTHENTICATED_RATE_BURST: burst } = settings
  if (perSecond === 0) return
  const { isAllowed, retryAfterSeconds } = limits.take('address', addressBucket(address), { perSecond, burst })
  if (isAllowed) return
  throw new ServiceError('rate_limited', {
    detail: 'There were too many requests without good credentials from this address.',
    retryAfterSeconds,
  })
}

/**
 * Counts refused credentials at the address that sent them, and throws the refusal. Only afterwards: behind a proxy that
 * nobody told us of all callers have one address, and somebody's bad keys must not keep out the good ones.
 */
export const refuseAt =
  (app: App, address: string) =>
  (error: unknown): never => {
    if (error instanceof ServiceError && REFUSED.has(error.status)) countAddress(app, address)
    throw error
  }
