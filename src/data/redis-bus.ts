import { Cluster, Redis, type RedisOptions } from 'ioredis'

import type { Bus, Unsubscribe } from '../core/bus.ts'
import { sentinelsOf } from '../core/redis-url.ts'

/**
 * How often each connection is pinged, and how long an answer may take. A vanished host closes no
 * connection, and a connection that only listens would never notice.
 */
const HEARTBEAT_MS = 2000
const SILENCE_MS = 3000

interface RedisBusOptions {
  /**
   * One address, sentinels (`redis+sentinel:`), or several nodes of a Redis Cluster, with sharded
   * pub/sub.
   */
  urls: readonly string[]
  prefix: string
  /** Called once per outage of Redis. */
  onDown: (error: Error) => void
  onUp: () => void
}

/**
 * The bus over Redis pub/sub: one connection to publish, one to listen. Both reconnect by
 * themselves.
 */
export function createRedisBus({ urls, prefix, onDown, onUp }: RedisBusOptions): Bus {
  const publisher = connect(urls, 'publisher')
  const subscriber = connect(urls, 'subscriber')
  const cluster = isCluster(urls)
  const messageEvent = cluster ? 'smessage' : 'message'
  const listeners = new Map<string, { members: Set<(message: string) => void>; ready: Promise<unknown> }>()
  const gapListeners = new Set<() => void>()
  let wasReady = false
  let isDown = false
  const clients = [publisher, subscriber]
  const watches = clients.map((client) => watchNodes(client, (error) => onError(error)))
  const isUp = (): boolean => watches.every((watch) => watch.isUp())
  const onError = (error: Error): void => {
    if (!isDown) onDown(error)
    // The next heartbeat decides whether only this command failed: commands to a node that has
    // just died fail, while the client still counts as up.
    isDown = true
  }
  const noteUp = (): void => {
    if (!isDown || !isUp()) return
    isDown = false
    onUp()
  }

  for (const client of clients) {
    client.on('error', onError)
    client.on('ready', noteUp)
  }
  const heartbeat = setInterval(() => {
    for (const watch of watches) watch.ask()
    // A cluster client does not report single nodes.
    if (!isUp()) onError(new Error('a node of Redis does not answer'))
    noteUp()
  }, HEARTBEAT_MS).unref()
  subscriber.on(messageEvent, (channel: string, message: string) => {
    for (const member of listeners.get(channel)?.members ?? []) member(message)
  })
  subscriber.on(cluster ? 'subscribersReady' : 'ready', () => {
    // ioredis resubscribes during its second `ready`; wait for it, then listeners resync from the
    // database.
    if (wasReady) setTimeout(() => gapListeners.forEach((listener) => listener()), 50).unref()
    wasReady = true
  })

  return {
    publish(channel, message, onSent) {
      if (publisher.status !== 'ready') return onSent?.()
      const sent = cluster
        ? publisher.spublish(prefix + channel, message)
        : publisher.publish(prefix + channel, message)
      const settled = sent.catch(onError)
      if (onSent !== undefined) void settled.then(onSent)
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
      // While Redis is down the subscription waits for it; the caller does not.
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
      for (const client of clients) client.disconnect()
      await Promise.resolve()
    },
  }
}

const isCluster = (urls: readonly string[]): boolean => urls.length > 1

/** Parts of ioredis's Cluster that have no public interface. */
interface Inside {
  /** For each slot its nodes, the primary first. */
  slots: readonly (readonly string[])[]
  /** The listening connections, by node. */
  shardedSubscribers: { shardedSubscribers: ReadonlyMap<string, { getInstance(): Redis | null }> }
}

const insideOf = (client: Cluster): Inside => client as unknown as Inside

const nodeOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`

/** Pings the nodes of a client, and notes when each last answered. */
function watchNodes(client: Redis | Cluster, onSilence: (error: Error) => void) {
  /** When a node that serves slots last answered; before that, when it was first seen. */
  const answeredAt = new Map<string, number>()
  const ask = (connection: Redis): void => {
    connection.ping().then(() => answeredAt.set(nodeOf(connection), performance.now()), onSilence)
  }
  // Answers from before an outage no longer count.
  client.on('ready', () => answeredAt.clear())
  return {
    ask() {
      if (client.status !== 'ready') return
      if (client instanceof Redis) return ask(client)
      client.nodes('master').forEach(ask)
      // These connections only listen, so they would never notice that a node has vanished.
      for (const each of insideOf(client).shardedSubscribers.shardedSubscribers.values()) {
        const connection = each.getInstance()
        if (connection?.status === 'ready') connection.ping().catch(onSilence)
      }
    },
    /** A single connection reports its own end; a cluster has lost a node that missed two pings. */
    isUp(): boolean {
      if (client.status !== 'ready' || client instanceof Redis) return client.status === 'ready'
      const now = performance.now()
      const nodes = new Set(insideOf(client).slots.map(([first]) => first ?? ''))
      for (const node of answeredAt.keys()) if (!nodes.has(node)) answeredAt.delete(node)
      // A node that is new here, or was a replica until now, has had no time to answer.
      for (const node of nodes) if (!answeredAt.has(node)) answeredAt.set(node, now)
      return [...nodes].every((node) => now - (answeredAt.get(node) ?? now) < 2 * HEARTBEAT_MS)
    },
  }
}

/**
 * A connection that reconnects by itself. `name` decides what happens to a command that Redis does
 * not answer.
 */
export function connect(
  urls: readonly string[],
  name: 'publisher' | 'subscriber' | 'limits' | 'places',
): Redis | Cluster {
  // A repeated count would be counted twice, and callers wait only briefly.
  const inTime =
    name === 'limits' || name === 'places'
      ? { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: 500, socketTimeout: 2000 }
      : { socketTimeout: SILENCE_MS }
  const options = {
    connectionName: `engagement-${name}`,
    connectTimeout: SILENCE_MS,
    // Messages are never queued: after an outage they would be late and out of order.
    enableOfflineQueue: name === 'subscriber',
    // The check is an INFO, which Redis refuses after a SUBSCRIBE; the subscription would then be
    // lost.
    enableReadyCheck: name !== 'subscriber',
    maxRetriesPerRequest: null,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, 1000),
    ...inTime,
  }
  if (!isCluster(urls)) return open(urls, options)
  return new Cluster([...urls], {
    shardedSubscribers: true,
    enableOfflineQueue: options.enableOfflineQueue,
    clusterRetryStrategy: options.retryStrategy,
    slotsRefreshInterval: HEARTBEAT_MS,
    redisOptions: { ...inTime, connectTimeout: SILENCE_MS },
  })
}

/** The Redis at an address, or the primary that sentinels name. */
function open([url = '']: readonly string[], options: RedisOptions): Redis {
  const sentinels = sentinelsOf(url)
  if (sentinels === null) return new Redis(url, options)
  const { hosts, isTls, ...credentials } = sentinels
  return new Redis({
    ...options,
    ...credentials,
    sentinels: hosts,
    ...(isTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: (attempt) => options.retryStrategy?.(attempt),
    sentinelCommandTimeout: SILENCE_MS,
    // Reconnects at a failover, even while the connection to the old primary is open.
    failoverDetector: true,
  })
}

/** The version of Redis, from any node of a cluster. Rejects if none answers within `withinMs`. */
export async function redisVersion(urls: readonly string[], withinMs: number): Promise<string> {
  const client = open(urls, {
    lazyConnect: true,
    connectTimeout: withinMs,
    commandTimeout: withinMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // The waiting call rejects with this error.
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
