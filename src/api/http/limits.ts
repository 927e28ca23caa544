import type { FastifyReply } from 'fastify'

import type { App } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { addressBucket, type Rate } from '../../core/limits.ts'
import type { TicketUse } from '../../live/caps.ts'
import type { Principal } from './credentials.ts'

/**
 * The statuses of refused credentials, including repeated ones. Other failures are not guesses of
 * the caller.
 */
const REFUSED = new Set([400, 401])

/**
 * Takes one or more tokens of the bucket of a key or admin, and sets the headers with the rest:
 * every answer has them, whatever its status. Throws `rate_limited`.
 */
export function countCaller({ limits }: App, reply: FastifyReply, { tenant, actor }: Principal, tokens = 1): void {
  const { rateLimit } = tenant.settings
  const verdict = limits.take('caller', `${tenant.id}/${actor.kind}/${actor.id}`, rateLimit, tokens)
  void reply.headers({
    'ratelimit-limit': String(rateLimit.burst),
    'ratelimit-remaining': String(verdict.remaining),
    'ratelimit-reset': String(verdict.resetSeconds),
  })
  if (!verdict.isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds: verdict.retryAfterSeconds })
}

/** The rate of callers without their own bucket; null for no limit. */
function unauthenticatedRate({ settings }: App): Rate | null {
  const { UNAUTHENTICATED_RATE_PER_SECOND: perSecond, UNAUTHENTICATED_RATE_BURST: burst } = settings
  return perSecond === 0 ? null : { perSecond, burst }
}

/**
 * Takes a token of an address's bucket, for a request without valid credentials. Throws
 * `rate_limited`.
 */
export function countAddress(app: App, address: string): void {
  const rate = unauthenticatedRate(app)
  if (rate === null) return
  const { isAllowed, retryAfterSeconds } = app.limits.take('address', addressBucket(address), rate)
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

function giveBackAddress(app: App, address: string): void {
  const rate = unauthenticatedRate(app)
  if (rate !== null) void app.limits.giveBack('address', addressBucket(address), rate, 1)
}

/** A replay costs as many tokens as pages of this size would. */
const EVENTS_PER_TOKEN = 100

/** The bytes of this many usual events. Events with long comments have some 60 KB each. */
const BYTES_PER_TOKEN = 65_536

const ticketBuckets = ({ ticket, address }: TicketUse): string[] => [
  `${ticket.tenantId}/${ticket.id}`,
  // Per tenant: readers of different tenants behind one address do not share a bucket.
  `${ticket.tenantId}/address/${addressBucket(address)}`,
]

/**
 * Takes a token for a stream with a ticket, from the ticket's bucket and from its address's. Throws
 * `rate_limited`.
 */
export function countTicket(app: App, use: TicketUse): void {
  const rate = unauthenticatedRate(app)
  if (rate === null) return
  for (const name of ticketBuckets(use)) {
    const { isAllowed, retryAfterSeconds } = app.limits.take('ticket', name, rate)
    if (!isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds })
  }
}

/**
 * Charges the same buckets for a replay: at once for its events, and through the result for their
 * bytes.
 */
export function chargeReplay(app: App, use: TicketUse, events: number): (bytes: number) => void {
  const rate = unauthenticatedRate(app)
  let charged = 0
  let sentBytes = 0
  const chargeUpTo = (tokens: number): void => {
    if (rate === null || tokens <= charged) return
    for (const name of ticketBuckets(use)) app.limits.charge('ticket', name, rate, tokens - charged)
    charged = tokens
  }
  chargeUpTo(Math.floor(events / EVENTS_PER_TOKEN))
  return (bytes) => {
    sentBytes += bytes
    chargeUpTo(Math.floor(sentBytes / BYTES_PER_TOKEN))
  }
}
