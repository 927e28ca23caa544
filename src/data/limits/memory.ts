import { LRUCache } from 'lru-cache'

import { growing } from '../../core/process/growing.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import { TokenBucket, type BucketKind, type Limits, type Rate } from '../../core/limits.ts'

/**
 * How many buckets of each kind a process remembers, at 140 bytes each, measured, and their names.
 * A forgotten bucket is full again.
 */
const MAX_BUCKETS: Readonly<Record<BucketKind, number>> = {
  caller: 20_000,
  address: 50_000,
  login: 50_000,
  ticket: 50_000,
  client: 50_000,
  site: 50_000,
  siteReader: 50_000,
  beginning: 50_000,
  guestChallenge: 5000,
  guestProof: 50_000,
  guest: 50_000,
  guestLink: 50_000,
  backendCheck: 5000,
}

const MAX_NAME = 100

/**
 * A name for a bucket of bounded length: callers choose parts of names, as the id of a reader. A
 * long one is replaced by its digest.
 */
export const shortName = (name: string): string => (name.length <= MAX_NAME ? name : sha256(name).toString('base64url'))

/**
 * Finds a bucket, or makes it at its first use. Each kind has its own space, so that created-up
 * addresses cannot evict the buckets of keys.
 */
export function createBuckets<B>(make: (kind: BucketKind, name: string, rate: Rate) => B & object) {
  const room = (kind: BucketKind) => new LRUCache<string, B & object>(growing(MAX_BUCKETS[kind]))
  const rooms = {
    caller: room('caller'),
    address: room('address'),
    login: room('login'),
    ticket: room('ticket'),
    client: room('client'),
    site: room('site'),
    siteReader: room('siteReader'),
    beginning: room('beginning'),
    guestChallenge: room('guestChallenge'),
    guestProof: room('guestProof'),
    guest: room('guest'),
    guestLink: room('guestLink'),
    backendCheck: room('backendCheck'),
  }
  return (kind: BucketKind, given: string, rate: Rate): B => {
    const name = shortName(given)
    const kept = rooms[kind].get(name)
    if (kept !== undefined) return kept
    const created = make(kind, name, rate)
    rooms[kind].set(name, created)
    return created
  }
}

/** The limits of a process that is alone. `now` in milliseconds. */
export function createMemoryLimits(now: () => number = () => performance.now()): Limits {
  const bucketOf = createBuckets((_kind, _name, rate) => new TokenBucket(rate, now()))
  const take: Limits['take'] = (kind, name, rate, tokens) => bucketOf(kind, name, rate).take(rate, now(), tokens)
  const giveBack: Limits['giveBack'] = (kind, name, rate, tokens) =>
    bucketOf(kind, name, rate).giveBack(rate, now(), tokens)
  return {
    take,
    takeExactly: async (kind, name, rate) => take(kind, name, rate),
    charge: (kind, name, rate, tokens) => bucketOf(kind, name, rate).charge(rate, now(), tokens),
    giveBack,
    giveBackExactly: async (kind, name, rate, tokens) => giveBack(kind, name, rate, tokens),
    close: () => undefined,
  }
}
