import {
  TokenBucket,
  type BucketKind,
  type Limits,
  type Rate,
  SETTLE_MS,
  type RateLimitResult,
  rateLimitResultOf,
} from '../../core/limits.ts'
import { createBuckets, shortName } from './memory.ts'

/** Takes tokens of a bucket that processes share. */
export interface TokenRequest {
  kind: BucketKind
  name: string
  rate: Rate
  /** Negative numbers return tokens. */
  tokens: number
  /** Takes all tokens or none. */
  isExact: boolean
}

export interface TokenAnswer {
  isAllowed: boolean
  /** The remaining tokens. */
  tokens: number
}

/** The shared buckets. Rejects if the store does not answer. */
export type TokenStore<Answer = TokenAnswer> = (request: TokenRequest) => Answer

interface SharedLimitsOptions {
  isUp(): boolean
  take: TokenStore<Promise<TokenAnswer>>
  close(): void
  now?: () => number
}

/** Shared buckets in the memory of one process, which serves others. */
export function createTokenStore(now: () => number = () => performance.now()): TokenStore {
  const bucketOf = createBuckets((_kind, _name, rate) => new TokenBucket(rate, now()))
  return ({ kind, name, rate, tokens, isExact }) => bucketOf(kind, name, rate).takeShared(rate, now(), tokens, isExact)
}

/** This process's view of a bucket, between two messages to the store. */
interface SharedBucket {
  readonly kind: BucketKind
  readonly name: string
  readonly bucket: TokenBucket
  rate: Rate
  /** Tokens not yet reported to the store; below zero where more were returned. */
  taken: number
  /** When it was last reported. */
  sentAt: number
  isSending: boolean
}

/**
 * Limits over all processes, through a shared store: one message per bucket in use each 100 ms,
 * never one per request. A bucket that was idle reports its first request at once, so that it knows
 * the shared state one round trip later. While the store is down each process counts by itself.
 */
export function createSharedLimits(store: SharedLimitsOptions): Limits {
  const { now = () => performance.now() } = store
  const unsent = new Set<SharedBucket>()
  let timer: NodeJS.Timeout | undefined
  const bucketOf = createBuckets<SharedBucket>((kind, name, rate) => ({
    kind,
    name,
    bucket: new TokenBucket(rate, now()),
    rate,
    taken: 0,
    sentAt: -Infinity,
    isSending: false,
  }))
  function send(shared: SharedBucket): void {
    unsent.delete(shared)
    const { kind, name, rate, taken } = shared
    shared.taken = 0
    // Tokens that are taken while the store is down are not reported later.
    if (!store.isUp()) return
    shared.sentAt = now()
    shared.isSending = true
    store
      .take({ kind, name, rate, tokens: taken, isExact: false })
      .then(({ tokens }) => shared.bucket.set(tokens - shared.taken, now()))
      .catch(() => undefined)
      .finally(() => (shared.isSending = false))
  }

  function sendAll(): void {
    timer = undefined
    for (const shared of unsent) if (!shared.isSending) send(shared)
    if (unsent.size > 0) schedule()
  }

  const schedule = (): void => void (timer ??= setTimeout(sendAll, SETTLE_MS).unref())

  function take(kind: BucketKind, name: string, rate: Rate, tokens = 1): RateLimitResult {
    const shared = bucketOf(kind, name, rate)
    const verdict = shared.bucket.take(rate, now(), tokens)
    if (verdict.isAllowed && tokens > 0) note(shared, rate, tokens)
    return verdict
  }

  function note(shared: SharedBucket, rate: Rate, tokens: number): void {
    shared.rate = rate
    shared.taken += tokens
    if (!shared.isSending && now() - shared.sentAt >= SETTLE_MS) send(shared)
    else {
      unsent.add(shared)
      schedule()
    }
  }

  function giveBack(kind: BucketKind, name: string, rate: Rate, tokens: number): void {
    const shared = bucketOf(kind, name, rate)
    shared.bucket.giveBack(rate, now(), tokens)
    // With what was taken: an earlier answer of the store, still under way, does not know of it.
    note(shared, rate, -tokens)
  }

  return {
    take,
    async takeExactly(kind, given, rate) {
      const name = shortName(given)
      if (!store.isUp()) return take(kind, name, rate)
      try {
        const { isAllowed, tokens } = await store.take({ kind, name, rate, tokens: 1, isExact: true })
        // For when the store is down.
        bucketOf(kind, name, rate).bucket.set(tokens, now())
        return rateLimitResultOf(isAllowed, tokens, rate)
      } catch {
        // The store may have taken it, so it is not sent again.
        return bucketOf(kind, name, rate).bucket.take(rate, now())
      }
    },
    charge(kind, name, rate, tokens) {
      const shared = bucketOf(kind, name, rate)
      shared.bucket.charge(rate, now(), tokens)
      note(shared, rate, tokens)
    },
    giveBack,
    async giveBackExactly(kind, given, rate, tokens) {
      const name = shortName(given)
      if (!store.isUp()) return giveBack(kind, name, rate, tokens)
      const { bucket } = bucketOf(kind, name, rate)
      try {
        bucket.set((await store.take({ kind, name, rate, tokens: -tokens, isExact: false })).tokens, now())
      } catch {
        // The store may have them, so it is not sent again.
        bucket.giveBack(rate, now(), tokens)
      }
    },
    close() {
      clearTimeout(timer)
      store.close()
    },
  }
}
