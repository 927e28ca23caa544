import type { App } from '../core/app.ts'
import { ServiceError } from '../core/errors.ts'
import type { Id } from '../core/ids.ts'
import { addressBucket, type BucketKind, type Rate } from '../core/limits.ts'
import type { BrowserUse } from './caps.ts'
import type { TicketClaims } from './tickets.ts'

/** The rate of callers without their own bucket; null for no limit. */
export function unauthenticatedRate({ settings }: Pick<App, 'settings'>): Rate | null {
  const { UNAUTHENTICATED_RATE_PER_SECOND: perSecond, UNAUTHENTICATED_RATE_BURST: burst } = settings
  return perSecond === 0 ? null : { perSecond, burst }
}

/** A replay costs as many tokens as pages of this size would. */
const EVENTS_PER_TOKEN = 100

/** The bytes of this many usual events. Events with long comments have some 60 KB each. */
const BYTES_PER_TOKEN = 65_536

/** A bucket of a browser. */
interface Bucket {
  kind: BucketKind
  name: string
  rate: Rate
}

// Per tenant: readers of different tenants behind one address do not share a bucket.
const addressOf = ({ tenantId, address }: Pick<BrowserUse, 'tenantId' | 'address'>, rate: Rate): Bucket => ({
  kind: 'ticket',
  name: `${tenantId}/address/${addressBucket(address)}`,
  rate,
})

const bucketOfToken = ({ tenantId, id }: BrowserUse, rate: Rate): Bucket => ({
  kind: 'client',
  name: `${tenantId}/${id}`,
  rate,
})

const take = ({ limits }: App, { kind, name, rate }: Bucket, tokens = 1): void => {
  const { isAllowed, retryAfterSeconds } = limits.take(kind, name, rate, tokens)
  if (!isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds })
}

/**
 * Takes tokens of a browser's address, for requests by a client token. Throws `rate_limited`.
 */
export function countAddressOfBrowser(app: App, browser: { tenantId: Id; address: string }, tokens: number): void {
  const rate = unauthenticatedRate(app)
  if (rate !== null) take(app, addressOf(browser, rate), tokens)
}

/**
 * Takes tokens of a client token and of its address, for answers of a subscription. Returns whether
 * both had one; else none is taken. Missing tokens become a debt of the token alone: others use the
 * same address.
 */
export function takeForAnswers({ limits, settings }: App, use: BrowserUse, perToken: Rate, tokens: number): boolean {
  const own = bucketOfToken(use, perToken)
  const addressRate = unauthenticatedRate({ settings })
  const address = addressRate === null ? null : addressOf(use, addressRate)
  // Both are looked at before either pays.
  const look = ({ kind, name, rate }: Bucket) => limits.take(kind, name, rate, 0)
  if (!look(own).isAllowed) return false
  if (address !== null) {
    const { isAllowed, remaining } = look(address)
    if (!isAllowed) return false
    limits.charge(address.kind, address.name, address.rate, Math.min(tokens, remaining))
  }
  limits.charge(own.kind, own.name, own.rate, tokens)
  return true
}

/** The buckets of a ticket and of its address; none without a limit. */
function bucketsOfTicket(app: App, use: BrowserUse): Bucket[] {
  const rate = unauthenticatedRate(app)
  return rate === null ? [] : [{ kind: 'ticket', name: `${use.tenantId}/${use.id}`, rate }, addressOf(use, rate)]
}

/** Discussions of one stream that are opened for one token. */
const DISCUSSIONS_PER_TOKEN = 10

/**
 * Takes the tokens for a stream with a ticket, from the ticket's bucket and from its address's:
 * one, or five for 50 discussions. Throws `rate_limited`.
 */
export function countTicket(app: App, use: BrowserUse & Pick<TicketClaims, 'discussionIds'>): void {
  const tokens = Math.ceil(use.discussionIds.length / DISCUSSIONS_PER_TOKEN)
  for (const bucket of bucketsOfTicket(app, use)) take(app, bucket, tokens)
}

/**
 * Charges the same buckets for a replay: at once for its events, and through the result for their
 * bytes.
 */
export const chargeReplayOfTicket = (app: App, use: BrowserUse, events: number): ((bytes: number) => void) =>
  chargeReplay(app, bucketsOfTicket(app, use), events)

/** Charges the replay of a subscription with a client token, whose own bucket has this rate. */
export function chargeReplayOfToken(
  app: App,
  use: BrowserUse,
  perToken: Rate,
  events: number,
): (bytes: number) => void {
  const rate = unauthenticatedRate(app)
  const own = bucketOfToken(use, perToken)
  return chargeReplay(app, rate === null ? [own] : [own, addressOf(use, rate)], events)
}

function chargeReplay({ limits }: App, buckets: readonly Bucket[], events: number): (bytes: number) => void {
  let charged = 0
  let sentBytes = 0
  const chargeUpTo = (tokens: number): void => {
    if (tokens <= charged) return
    for (const { kind, name, rate } of buckets) limits.charge(kind, name, rate, tokens - charged)
    charged = tokens
  }
  chargeUpTo(Math.floor(events / EVENTS_PER_TOKEN))
  return (bytes) => {
    sentBytes += bytes
    chargeUpTo(Math.floor(sentBytes / BYTES_PER_TOKEN))
  }
}
