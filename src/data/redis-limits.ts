import {
  TokenBucket,
  type BucketKind,
  type Limits,
  type Rate,
  SETTLE_MS,
  type RateLimitResult,
  rateLimitResultOf,
} from '../core/limits.ts'
import { createBuckets } from './memory-limits.ts'
import { connect } from './redis-bus.ts'
import { redisScript } from './redis-script.ts'

// One key, so that it runs on a cluster; Redis's own clock, so that those of the processes need not
// agree.
const askRedis = redisScript<[allowed: number, left: string]>(`
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local perSecond, burst, taken = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = burst
if kept[1] then tokens = math.min(burst, kept[1] + math.max(0, now - kept[2]) / 1000 * perSecond) end
local allowed = 1
if ARGV[4] == 'exactly' and tokens < taken then allowed = 0 else tokens = math.min(burst, tokens - taken) end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - tokens) / perSecond * 1000) + 1000)
return {allowed, tostring(tokens)}`)

/** A bucket as this process sees it, between two words with Redis. */
interface SharedBucket {
  readonly key: string
  readonly bucket: TokenBucket
  rate: Rate
  /** Tokens that Redis has not been told of. */
  taken: number
  /** When Redis was last told. */
  toldAt: number
  isTelling: boolean
}

interface RedisLimitsOptions {
  urls: readonly string[]
  prefix: string
  now?: () => number
}

/**
 * Limits over all processes, through Redis: one word to it per bucket in use each 100 ms, never one
 * per request. A bucket that was at rest tells of its first request at once, so that it knows the
 * shared state one round trip later. While Redis is away each process counts by itself.
 */
export function createRedisLimits({ urls, prefix, now = () => performance.now() }: RedisLimitsOptions): Limits {
  const client = connect(urls, urls.length > 1, 'limits')
  // The bus tells the log that Redis is away.
  client.on('error', () => undefined)
  const untold = new Set<SharedBucket>()
  let timer: NodeJS.Timeout | undefined
  const bucketOf = createBuckets<SharedBucket>((kind, name, rate) => ({
    key: keyOf(kind, name),
    bucket: new TokenBucket(rate, now()),
    rate,
    taken: 0,
    toldAt: -Infinity,
    isTelling: false,
  }))
  const keyOf = (kind: BucketKind, name: string): string => `${prefix}limit:${kind}:${name}`

  async function run(key: string, { perSecond, burst }: Rate, tokens: number, mode: 'settle' | 'exactly') {
    const [allowed, left] = await askRedis(client, [key], [perSecond, burst, tokens, mode])
    return { isAllowed: allowed === 1, tokens: Number(left) }
  }

  function tell(shared: SharedBucket): void {
    untold.delete(shared)
    const { taken } = shared
    shared.taken = 0
    // What is counted while Redis is away stays with this process.
    if (client.status !== 'ready') return
    shared.toldAt = now()
    shared.isTelling = true
    run(shared.key, shared.rate, taken, 'settle')
      .then(({ tokens }) => shared.bucket.set(tokens - shared.taken, now()))
      .catch(() => undefined)
      .finally(() => (shared.isTelling = false))
  }

  function tellAll(): void {
    timer = undefined
    for (const shared of untold) if (!shared.isTelling) tell(shared)
    if (untold.size > 0) schedule()
  }

  const schedule = (): void => void (timer ??= setTimeout(tellAll, SETTLE_MS).unref())

  function take(kind: BucketKind, name: string, rate: Rate, tokens = 1): RateLimitResult {
    const shared = bucketOf(kind, name, rate)
    const verdict = shared.bucket.take(rate, now(), tokens)
    if (verdict.isAllowed) note(shared, rate, tokens)
    return verdict
  }

  function note(shared: SharedBucket, rate: Rate, tokens: number): void {
    shared.rate = rate
    shared.taken += tokens
    if (!shared.isTelling && now() - shared.toldAt >= SETTLE_MS) tell(shared)
    else {
      untold.add(shared)
      schedule()
    }
  }

  return {
    take,
    async takeExactly(kind, name, rate) {
      if (client.status !== 'ready') return take(kind, name, rate)
      try {
        const { isAllowed, tokens } = await run(keyOf(kind, name), rate, 1, 'exactly')
        // For the time when Redis is away.
        bucketOf(kind, name, rate).bucket.set(tokens, now())
        return rateLimitResultOf(isAllowed, tokens, rate)
      } catch {
        return take(kind, name, rate)
      }
    },
    charge(kind, name, rate, tokens) {
      const shared = bucketOf(kind, name, rate)
      shared.bucket.charge(rate, now(), tokens)
      note(shared, rate, tokens)
    },
    async giveBack(kind, name, rate, tokens) {
      bucketOf(kind, name, rate).bucket.giveBack(rate, now(), tokens)
      if (client.status === 'ready') await run(keyOf(kind, name), rate, -tokens, 'settle').catch(() => undefined)
    },
    close() {
      clearTimeout(timer)
      client.disconnect()
    },
  }
}
