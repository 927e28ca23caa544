import { createHash } from 'node:crypto'

import type { Cluster, Redis } from 'ioredis'

/**
 * A Redis script, called by its digest, and sent whole if Redis does not have it. Rejects if Redis
 * does not answer.
 */
export function redisScript(
  text: string,
): (client: Redis | Cluster, keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown> {
  const digest = createHash('sha1').update(text).digest('hex')
  return async (client, keys, args) => {
    const all = [...keys, ...args]
    return client.evalsha(digest, keys.length, ...all).catch((error: unknown) => {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return client.eval(text, keys.length, ...all)
      throw error
    })
  }
}
