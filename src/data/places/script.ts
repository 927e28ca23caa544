import type { Cluster, Redis } from 'ioredis'
import { z } from 'zod'

import type { Id } from '../../core/ids.ts'
import type { Quota } from '../../core/stream-places.ts'
import { redisScript } from '../redis/script.ts'

/** A name, its cap, and how many streams this process has open under it. */
export interface OwnCount extends Quota {
  own: number
}

/**
 * The counts of a tenant's streams that a process reports to Redis, and the places that it asks
 * for. Counts are absolute: Redis never adds to an earlier value, so a lost or doubled message does
 * no harm.
 */
export interface SyncMessage {
  /** The name under which the process has counted so far. */
  processId: Id
  /** Whether Redis should already know that name. */
  isKnown: boolean
  own: number
  perTenant: number
  counts: readonly OwnCount[]
  /** For each requested place, the indexes in `counts` of the caps that it must fit into. */
  asked: readonly (readonly number[])[]
}

export interface SyncAnswer {
  /** Streams that other live processes have open. */
  others: number
  /** Those of them that each entry of `counts` counts. */
  otherCounts: readonly number[]
  /** For each requested place, whether it was granted. */
  granted: readonly boolean[]
}

// All keys of a tenant are in one slot of a cluster. `shares` has a field for each process,
// `count:end of its lease`; the key of a name has only counts. There, the count of a process
// without a share is left over from a dead process.
const askRedis = redisScript(`
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local process, expected, lease, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local own, perTenant = tonumber(ARGV[5]), tonumber(ARGV[6])
local others, known, live = 0, '0', {}
local shares = redis.call('HGETALL', KEYS[1])
for i = 1, #shares, 2 do
  local count, till = string.match(shares[i + 1], '(%d+):(%d+)')
  if tonumber(till) <= now then redis.call('HDEL', KEYS[1], shares[i])
  elseif shares[i] == process then known = '1'
  else
    others = others + count
    live[shares[i]] = true
  end
end
if expected == '1' and known == '0' then return false end
local names = #KEYS - 1
local owns, caps, otherCounts = {}, {}, {}
for n = 1, names do
  owns[n], caps[n], otherCounts[n] = tonumber(ARGV[5 + 2 * n]), tonumber(ARGV[6 + 2 * n]), 0
  local counts = redis.call('HGETALL', KEYS[1 + n])
  for i = 1, #counts, 2 do
    if live[counts[i]] then otherCounts[n] = otherCounts[n] + counts[i + 1]
    elseif counts[i] ~= process then redis.call('HDEL', KEYS[1 + n], counts[i]) end
  end
end
local granted = {}
for i = 7 + 2 * names, #ARGV do
  local wanted, room = {}, others + own < perTenant
  for index in string.gmatch(ARGV[i], '%d+') do
    local n = index + 1
    wanted[#wanted + 1] = n
    room = room and otherCounts[n] + owns[n] < caps[n]
  end
  granted[#granted + 1] = room and 1 or 0
  if room then
    own = own + 1
    for _, n in ipairs(wanted) do owns[n] = owns[n] + 1 end
  end
end
local function store(key, count, value, ms)
  if count == 0 then redis.call('HDEL', key, process)
  else
    redis.call('HSET', key, process, value)
    redis.call('PEXPIRE', key, ms)
  end
end
store(KEYS[1], own, string.format('%d:%.0f', own, now + lease), lease)
for n = 1, names do store(KEYS[1 + n], owns[n], owns[n], keep) end
return {others, otherCounts, granted}`)

const COUNT = z.int().nonnegative()

/** Streams of others, the same for each name, and whether each place was granted. */
const ANSWER = z.tuple([COUNT, z.array(COUNT), z.array(z.literal([0, 1]))]).nullable()

/**
 * Longer than any stream can last; the key of a name is written whenever one of its streams begins
 * or ends.
 */
const KEEP_NAME_MS = 48 * 3_600_000

/**
 * Reports to Redis and asks it in one atomic step. Null, with nothing done, if Redis should know
 * the process and does not: it has lost its data, or the lease has expired. Rejects if Redis does
 * not answer.
 */
export async function syncPlaces(
  client: Redis | Cluster,
  shares: string,
  leaseMs: number,
  message: SyncMessage,
): Promise<SyncAnswer | null> {
  const { processId, isKnown, own, perTenant, counts, asked } = message
  const keys = [shares, ...counts.map(({ name }) => `${shares}:${name}`)]
  const args = [processId, isKnown ? 1 : 0, leaseMs, KEEP_NAME_MS, own, perTenant]
  const answer = await askRedis(client, keys, [
    ...args,
    ...counts.flatMap((count) => [count.own, count.cap]),
    ...asked.map((indexes) => indexes.join(' ')),
  ])
  const read = ANSWER.parse(answer)
  // Asked again under a new name, it would answer the same for ever.
  if (read === null && !isKnown) throw new Error('Redis does not know a process that it need not know')
  if (read === null) return null
  const [others, otherCounts, granted] = read
  return { others, otherCounts, granted: granted.map((one) => one === 1) }
}
