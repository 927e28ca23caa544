import ipaddr from 'ipaddr.js'

/** A token bucket: `perSecond` tokens come back each second, `burst` are there at most. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** What became of one request for a token. */
export interface RateLimitResult {
  readonly isAllowed: boolean
  /** Whole tokens left. */
  readonly remaining: number
  /** Seconds until the bucket is full, if nobody takes any more. */
  readonly resetSeconds: number
  /** Seconds until there is a token; 0 where there is one. */
  readonly retryAfterSeconds: number
}

/**
 * Whose bucket: an API key or admin, an address without good credentials, a login's address or
 * e-mail, a stream ticket.
 */
export type BucketKind = 'caller' | 'address' | 'login' | 'ticket'

/**
 * Token buckets that all processes share as far as they can reach each other. Nothing here throws,
 * rejects or waits for longer than half a second: out of reach of the others, a process goes by its
 * own buckets.
 */
export interface Limits {
  /**
   * Takes a token at once, by what this process knows; the others hear of it within `SETTLE_MS`.
   * What all of them take too much meanwhile is a debt of the shared bucket: the sustained rate
   * holds over any number of processes. Takes several where there is one: those that are not there
   * are a debt too.
   */
  take(kind: BucketKind, name: string, rate: Rate, tokens?: number): RateLimitResult
  /**
   * Takes a token of the shared bucket itself, exactly. For what is rare and must not be guessed,
   * such as a login.
   */
  takeExactly(kind: BucketKind, name: string, rate: Rate): Promise<RateLimitResult>
  /**
   * Takes tokens for work whose cost shows only once it is begun. What is not there becomes a debt.
   */
  charge(kind: BucketKind, name: string, rate: Rate, tokens: number): void
  /** Puts tokens back, up to the brim. */
  giveBack(kind: BucketKind, name: string, rate: Rate, tokens: number): Promise<void>
  close(): void
}

/** How long what a process has taken may be unknown to the others, in milliseconds. */
export const SETTLE_MS = 100

/**
 * One bucket. It is full until somebody takes. Times are milliseconds of any clock that only goes
 * on.
 */
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
   * Takes tokens for processes that share the bucket: what is not there becomes a debt, but for
   * `isExact`, which then takes none. Below zero puts tokens back.
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

  /** Believes somebody who knows better. */
  set(tokens: number, now: number): void {
    this.#tokens = tokens
    this.#at = now
  }

  #refill({ perSecond, burst }: Rate, now: number): void {
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1000) * perSecond)
    this.#at = now
  }
}

/** How a bucket with so many tokens answers. */
export const rateLimitResultOf = (isAllowed: boolean, tokens: number, { perSecond, burst }: Rate): RateLimitResult => ({
  isAllowed,
  remaining: Math.max(0, Math.floor(tokens)),
  resetSeconds: Math.ceil((burst - tokens) / perSecond),
  retryAfterSeconds: Math.max(0, (1 - tokens) / perSecond),
})

/**
 * The bucket of an address. One person holds a whole /64 of IPv6 (RFC 6177), and takes a new
 * address at will.
 */
export function addressBucket(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}/64`
}
