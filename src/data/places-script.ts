import type { Cluster, Redis } from 'ioredis'

import type { Id } from '../core/ids.ts'
import { redisScript } from './redis-script.ts'

/** What a process tells of a tenant's streams, and what it asks for. Its own counts are said as they are, never added. */
export interface Word {
  /** Under which name it has counted so far. */
  processId: Id
  /** Whether Redis should know it. */
  isKnown: boolean
  own: number
  perTenant: number
  perReader: number
  /** Readers whom this is about, each with the process's own count. */
  readers: readonly { id: Id; own: number }[]
  /** For each place that is asked for: the number of its reader in `readers`, or -1. */
  asked: readonly number[]
}

export interface Answer {
  /** What other live processes have. */
  others: number
  /** The same for each reader. */
  readerOthers: readonly number[]
  /** Whether each place asked for is taken now. */
  granted: readonly boolean[]
}

// All keys of a tenant lie in one slot of a cluster. `shares` has a field for each process, `count:end of its lease`; a
// reader's key has the counts alone, and those of a process without a share are left-overs of a dead one.
const askRedis = redisScript<[others: number, readerOthers: number[], granted: number[]] | null>(`
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local process, expected, lease, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local own, perTenant, perReader = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
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
local readers = #KEYS - 1
local owns, readerOthers = {}, {}
for r = 1, readers do
  owns[r], readerOthers[r] = tonumber(ARGV[7 + r]), 0
  local counts = redis.call('HGETALL', KEYS[1 + r])
  for i = 1, #counts, 2 do
    if live[counts[i]] then readerOthers[r] = readerOthers[r] + counts[i + 1]
    elseif counts[i] ~= process then redis.call('HDEL', KEYS[1 + r], counts[i]) end
  end
end
local granted = {}
for i = 8 + readers, #ARGV do
  local r = tonumber(ARGV[i]) + 1
  local room = others + own < perTenant and (r == 0 or readerOthers[r] + owns[r] < perReader)
  granted[#granted + 1] = room and 1 or 0
  if room then
    own = own + 1
    if r > 0 then owns[r] = owns[r] + 1 end
  end
end
local function say(key, count, value, ms)
  if count == 0 then redis.call('HDEL', key, process)
  else
    redis.call('HSET', key, process, value)
    redis.call('PEXPIRE', key, ms)
  end
end
say(KEYS[1], own, string.format('%d:%.0f', own, now + lease), lease)
for r = 1, readers do say(KEYS[1 + r], owns[r], owns[r], keep) end
return {others, readerOthers, granted}`)

/** Longer than any stream can last; a reader's key is written anew whenever one of its streams begins or ends. */
const KEEP_READER_MS = 48 * 3_600_000

/**
 * Tells and asks Redis in one step that nothing comes between. Null, and nothing is done, where Redis should know the
 * process and does not: it has lost its data, or the lease is over. Rejects where Redis does not answer.
 */
export async function speak(
  client: Redis | Cluster,
  shares: string,
  leaseMs: number,
  word: Word,
): Promise<Answer | null> {
  const { processId, isKnown, own, perTenant, perReader, readers, asked } = word
  const keys = [shares, ...readers.map(({ id }) => `${shares}:${id}`)]
  const args = [processId, isKnown ? 1 : 0, leaseMs, KEEP_READER_MS, own, perTenant, perReader]
  const said = await askRedis(client, keys, [...args, ...readers.map((reader) => reader.own), ...asked])
  if (said === null) return null
  const [others, readerOthers, granted] = said
  return { others, readerOthers, granted: granted.map((one) => one === 1) }
}
