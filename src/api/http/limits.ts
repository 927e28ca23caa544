import type { FastifyReply } from 'fastify'

import type { App } from '../../core/app.ts'
import { ServiceError } from '../../core/errors.ts'
import { addressBucket } from '../../core/limits.ts'
import { countAddressOfBrowser, unauthenticatedRate } from '../../live/browser-limits.ts'
import type { Principal } from './credentials.ts'

/**
 * The statuses of refused credentials, including repeated ones. Other failures are not guesses of
 * the caller.
 */
const REFUSED = new Set([400, 401])

/**
 * Takes one or more tokens of the bucket of a key, an admin or a client token, and sets the headers
 * with the rest: every answer has them, whatever its status. A browser takes them of its address
 * too. Throws `rate_limited`.
 */
export function countCaller(
  app: App,
  reply: FastifyReply,
  { tenant, actor }: Principal,
  { address, tokens = 1 }: { address: string; tokens?: number },
): void {
  const { rateLimit, clientToken } = tenant.settings
  const verdict =
    actor.kind === 'client'
      ? app.limits.take('client', `${tenant.id}/${actor.id}`, clientToken, tokens)
      : app.limits.take('caller', `${tenant.id}/${actor.kind}/${actor.id}`, rateLimit, tokens)
  void reply.headers({
    'ratelimit-limit': String((actor.kind === 'client' ? clientToken : rateLimit).burst),
    'ratelimit-remaining': String(verdict.remaining),
    'ratelimit-reset': String(verdict.resetSeconds),
  })
  if (!verdict.isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds: verdict.retryAfterSeconds })
  if (actor.kind === 'client') countAddressOfBrowser(app, { tenantId: tenant.id, address }, tokens)
}

/**
 * Takes one or more tokens of an address's bucket, for a request without valid credentials. Throws
 * `rate_limited`.
 */
export function countAddress(app: App, address: string, tokens = 1): void {
  const rate = unauthenticatedRate(app)
  if (rate === null) return
  const { isAllowed, retryAfterSeconds } = app.limits.take('address', addressBucket(address), rate, tokens)
  if (isAllowed) return
  throw new ServiceError('rate_limited', {
    detail: 'There were too many requests without valid credentials from this address.',
    retryAfterSeconds,
  })
}

/**
 * Runs `authenticate` at the expense of an address, which pays for refused credentials. A look-up
 * in the database is paid in advance, and refunded if the credentials are valid. So beyond the rate
 * made-up keys cause no queries, while keys that this process has found before still work: behind a
 * proxy that is not configured all callers have one address, and bad keys must not lock out good
 * ones.
 */
export async function onBudgetOf<T>(
  app: App,
  address: string,
  authenticate: (beforeLookUp: () => void) => Promise<T>,
): Promise<T> {
  let isPaid = false
  const pay = (): void => {
    countAddress(app, address)
    isPaid = true
  }
  try {
    const found = await authenticate(pay)
    if (isPaid) giveBackAddress(app, address)
    return found
  } catch (error) {
    const isRefused = error instanceof ServiceError && REFUSED.has(error.status)
    if (isRefused && !isPaid) countAddress(app, address)
    if (!isRefused && isPaid) giveBackAddress(app, address)
    throw error
  }
}

/** Returns what `countAddress` has taken. */
export function giveBackAddress(app: App, address: string): void {
  const rate = unauthenticatedRate(app)
  if (rate !== null) app.limits.giveBack('address', addressBucket(address), rate, 1)
}
