import { Cluster, Redis } from 'ioredis'

import type { Bus, Unsubscribe } from '../core/bus.ts'

/**
 * How often each connection is asked for an answer, and how long that may take. A host that
 * vanishes ends no connection by itself, and one that only listens would never notice.
 */
const HEARTBEAT_MS = 2000
const SILENCE_MS = 3000

interface RedisBusOptions {
  /** One address, or several nodes of a Redis Cluster, on which sharded pub/sub is used. */
  urls: readonly string[]
  prefix: string
  /** Told once when Redis goes away, whatever fails until it is back. */
  onDown: (error: Error) => void
  onUp: () => void
}

/**
 * The bus over Redis pub/sub: one connection to publish, one to listen. Both come back by
 * themselves.
 */
export function createRedisBus({ urls, prefix, onDown, onUp }: RedisBusOptions): Bus {
  const cluster = urls.length > 1
  const publisher = connect(urls, cluster, 'publisher')
  const subscriber = connect(urls, cluster, 'subscriber')
  const messageEvent = cluster ? 'smessage' : 'message'
  const listeners = new Map<string, { members: Set<(message: string) => void>; ready: Promise<unknown> }>()
  const gapListeners = new Set<() => void>()
  let wasReady = false
  let isDown = false
  const isUp = (): boolean => subscriber.status === 'ready' && publisher.status === 'ready'
  const onError = (error: Error): void => {
    if (!isDown) onDown(error)
    isDown = !isUp()
  }

  for (const client of [publisher, subscriber]) {
    client.on('error', onError)
    client.on('ready', () => {
      if (!isDown || !isUp()) return
      isDown = false
      onUp()
    })
  }
  const heartbeat = setInterval(() => {
    for (const client of [publisher, subscriber]) if (client.status === 'ready') client.ping().catch(onError)
  }, HEARTBEAT_MS).unref()
  subscriber.on(messageEvent, (channel: string, message: string) => {
    for (const member of listeners.get(channel)?.members ?? []) member(message)
  })
  subscriber.on('ready', () => {
    // ioredis resubscribes during its second `ready`; wait for it, then listeners resync from the
    // database.
    if (wasReady) setTimeout(() => gapListeners.forEach((listener) => listener()), 50).unref()
    wasReady = true
  })

  return {
    publish(channel, message) {
      if (publisher.status !== 'ready') return
      const sent = cluster
        ? publisher.spublish(prefix + channel, message)
        : publisher.publish(prefix + channel, message)
      sent.catch(onError)
    },
    async subscribe(channel, listener): Promise<Unsubscribe> {
      const name = prefix + channel
      let entry = listeners.get(name)
      if (entry === undefined) {
        const ready = (cluster ? subscriber.ssubscribe(name) : subscriber.subscribe(name)).catch(onError)
        entry = { members: new Set(), ready }
        listeners.set(name, entry)
      }
      const { members, ready } = entry
      members.add(listener)
      // While Redis is away the subscription waits for it; the caller does not.
      await Promise.race([ready, new Promise((resolve) => setTimeout(resolve, 1000).unref())])
      return () => {
        members.delete(listener)
        if (members.size > 0 || listeners.get(name)?.members !== members) return
        listeners.delete(name)
        const left = cluster ? subscriber.sunsubscribe(name) : subscriber.unsubscribe(name)
        left.catch(onError)
      }
    },
    onGap(listener) {
      gapListeners.add(listener)
      return () => gapListeners.delete(listener)
    },
    isUp,
    close: async () => {
      clearInterval(heartbeat)
      for (const client of [publisher, subscriber]) client.disconnect()
      await Promise.resolve()
    },
  }
}

/**
 * A connection that comes back by itself. What it is for decides what becomes of a command that
 * Redis does not answer.
 */
export function connect(
  urls: readonly string[],
  cluster: boolean,
  name: 'publisher' | 'subscriber' | 'limits' | 'places',
): Redis | Cluster {
  // A count that was sent twice would be counted twice, and nobody waits for one for long.
  const inTime =
    name === 'limits' || name === 'places'
      ? { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: 500, socketTimeout: 2000 }
      : { socketTimeout: SILENCE_MS }
  const options = {
    connectionName: `engagement-${name}`,
    connectTimeout: SILENCE_MS,
    // News is never kept for later: what waits out an outage would come too late and out of order.
    enableOfflineQueue: name === 'subscriber',
    // The check is an INFO, which is refused once a SUBSCRIBE has gone before it; the subscription
    // would then be lost.
    enableReadyCheck: name !== 'subscriber',
    maxRetriesPerRequest: null,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, 1000),
    ...inTime,
  }
  return cluster
    ? new Cluster([...urls], {
        shardedSubscribers: true,
        enableOfflineQueue: options.enableOfflineQueue,
        clusterRetryStrategy: options.retryStrategy,
        redisOptions: inTime,
      })
    : new Redis(urls[0] as string, options)
}

/** The version of Redis, of any node of a cluster. Rejects where none answers within `withinMs`. */
export async function redisVersion(urls: readonly string[], withinMs: number): Promise<string> {
  const client = new Redis(urls[0] as string, {
    lazyConnect: true,
    connectTimeout: withinMs,
    commandTimeout: withinMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // It is told by what waits for it.
  let cause: Error | undefined
  client.on('error', (error) => (cause = error))
  try {
    await client.connect()
    return /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? 'unknown'
  } catch (error) {
    throw cause ?? error
  } finally {
    client.disconnect()
  }
}
