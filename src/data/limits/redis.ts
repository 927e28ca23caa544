import { z } from 'zod'

import type { Limits } from '../../core/limits.ts'
import { close, connect } from '../redis/client.ts'
import { redisScript } from '../redis/script.ts'
import { createSharedLimits } from './shared.ts'

// One key, so that it runs on a cluster; Redis's own clock, so that the clocks of the processes
// may differ.
const askRedis = redisScript(`
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

/** Whether it is allowed, and the remaining tokens. */
const ANSWER = z.tuple([z.literal([0, 1]), z.string().regex(/^-?\d{1,15}(\.\d{1,20})?(e[+-]?\d{1,3})?$/)])

interface RedisLimitsOptions {
  urls: readonly string[]
  prefix: string
  now?: () => number
}

/** Limits over all processes, through Redis. */
export function createRedisLimits({ urls, prefix, ...options }: RedisLimitsOptions): Limits {
  const client = connect(urls, 'limits')
  // The bus logs outages of Redis.
  client.on('error', () => undefined)
  return createSharedLimits({
    isUp: () => client.status === 'ready',
    async take({ kind, name, rate: { perSecond, burst }, tokens, isExact }) {
      const args = [perSecond, burst, tokens, isExact ? 'exactly' : 'settle']
      const answer = await askRedis(client, [`${prefix}limit:${kind}:${name}`], args)
      const [allowed, left] = ANSWER.parse(answer)
      return { isAllowed: allowed === 1, tokens: Number(left) }
    },
    close: () => close(client),
    ...options,
  })
}
