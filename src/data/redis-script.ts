import { createHash } from 'node:crypto'

import type { Cluster, Redis } from 'ioredis'

/**
 * A script of Redis, sent by its digest, and whole where Redis does not have it yet. Rejects where
 * Redis does not answer.
 */
export function redisScript<Answer>(
  text: string,
): (client: Redis | Cluster, keys: readonly string[], args: readonly (string | number)[]) => Promise<Answer> {
  const digest = createHash('sha1').update(text).digest('hex')
  return async (client, keys, args) => {
    const all = [...keys, ...args]
    const answer = client.evalsha(digest, keys.length, ...all).catch((error: unknown) => {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return client.eval(text, keys.length, ...all)
      throw error
    })
    return (await answer) as Answer
  }
}
