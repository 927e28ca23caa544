import ipaddr from 'ipaddr.js'

/** A token bucket: it holds at most `burst` tokens, and regains `perSecond` of them each second. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** The outcome of a request for a token. */
export interface RateLimitResult {
  readonly isAllowed: boolean
  /** Whole tokens left. */
  readonly remaining: number
  /** Seconds until the bucket is full, if no more tokens are taken. */
  readonly resetSeconds: number
  /** Seconds until a token is available; 0 where one is. */
  readonly retryAfterSeconds: number
}

/**
 * The owner of a bucket: an API key or admin, an address without valid credentials, the address or
 * e-mail of a login, a stream ticket, a client token, an address or a reader at a site, or what a
 * reader begins there; the proofs of guests at a site, a proof of work, which is taken once, or
 * an address that asks for their mails or confirms links.
 */
export type BucketKind =
  | 'caller'
  | 'address'
  | 'login'
  | 'ticket'
  | 'client'
  | 'site'
  | 'siteReader'
  | 'beginning'
  | 'guestChallenge'
  | 'guestProof'
  | 'guest'
  | 'guestLink'

/**
 * Token buckets shared by all processes. Nothing here throws, rejects or waits longer than half a
 * second: a process that cannot reach the others uses its own buckets.
 */
export interface Limits {
  /**
   * Takes a token at once, by what this process knows; the others learn of it within `SETTLE_MS`.
   * Tokens that the processes overspend meanwhile become a debt of the shared bucket, so the
   * sustained rate holds over any number of processes. Of several `tokens` one must be there; the
   * missing ones become a debt too. With 0 it only looks whether one is there.
   */
  take(kind: BucketKind, name: string, rate: Rate, tokens?: number): RateLimitResult
  /**
   * Takes a token of the shared bucket itself, exactly: for rare requests that must not be guessed,
   * such as logins.
   */
  takeExactly(kind: BucketKind, name: string, rate: Rate): Promise<RateLimitResult>
  /**
   * Takes tokens for work whose cost is known only once it has begun. Missing tokens become a debt.
   */
  charge(kind: BucketKind, name: string, rate: Rate, tokens: number): void
  /** Returns tokens, up to the bucket's capacity; the others learn of it within `SETTLE_MS`. */
  giveBack(kind: BucketKind, name: string, rate: Rate, tokens: number): void
  /**
   * Returns tokens that `takeExactly` has taken. Settles once the shared bucket has them: if they
   * came later, they would undo what others have taken meanwhile.
   */
  giveBackExactly(kind: BucketKind, name: string, rate: Rate, tokens: number): Promise<void>
  close(): void
}

/** Milliseconds until other processes learn what a process has taken. */
export const SETTLE_MS = 100

/** One bucket. It starts full. Times are milliseconds of any monotonic clock. */
export class TokenBucket {
  /** Below zero is a debt. */
  #tokens: number
  #at: number

  constructor(rate: Rate, now: number) {
    this.#tokens = rate.burst
    this.#at = now
  }

  take(rate: Rate, now: number, tokens = 1): RateLimitResult {
    this.#refill(rate, now)
    const isAllowed = this.#tokens >= 1
    if (isAllowed) this.#tokens -= tokens
    return rateLimitResultOf(isAllowed, this.#tokens, rate)
  }

  /**
   * Takes tokens on behalf of several processes. Missing tokens become a debt; with `isExact`
   * nothing is taken if any are missing. Negative `tokens` are returned.
   */
  takeShared(rate: Rate, now: number, tokens: number, isExact: boolean): { isAllowed: boolean; tokens: number } {
    this.#refill(rate, now)
    const isAllowed = !isExact || this.#tokens >= tokens
    if (isAllowed) this.#tokens = Math.min(rate.burst, this.#tokens - tokens)
    return { isAllowed, tokens: this.#tokens }
  }

  charge(rate: Rate, now: number, tokens: number): void {
    this.#refill(rate, now)
    this.#tokens -= tokens
  }

  giveBack(rate: Rate, now: number, tokens: number): void {
    this.#refill(rate, now)
    this.#tokens = Math.min(rate.burst, this.#tokens + tokens)
  }

  /** Replaces the count with one from a better-informed source. */
  set(tokens: number, now: number): void {
    this.#tokens = tokens
    this.#at = now
  }

  #refill({ perSecond, burst }: Rate, now: number): void {
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1000) * perSecond)
    this.#at = now
  }
}

/** The result for a bucket with this many tokens. */
export const rateLimitResultOf = (isAllowed: boolean, tokens: number, { perSecond, burst }: Rate): RateLimitResult => ({
  isAllowed,
  remaining: Math.max(0, Math.floor(tokens)),
  resetSeconds: Math.ceil((burst - tokens) / perSecond),
  retryAfterSeconds: Math.max(0, (1 - tokens) / perSecond),
})

/**
 * The bucket of an address. An IPv6 /64 counts as one address: one person holds all of it (RFC
 * 6177), and can switch addresses at will.
 */
export function addressBucket(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}/64`
}
