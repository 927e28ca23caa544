import { Cluster } from 'ioredis'

import type { Bus, Unsubscribe } from '../../core/bus.ts'
import { newId } from '../../core/ids.ts'
import { close, connect } from '../redis/client.ts'
import { Shards } from './shards.ts'

/**
 * How often each process publishes its canaries, and asks for missing subscriptions. A vanished
 * host closes no connection, and a connection that only listens would never notice.
 */
const HEARTBEAT_MS = 2000

/** How long a caller waits for its subscription. */
const SUBSCRIBE_MS = 1000

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
 * The bus over Redis pub/sub: one connection to publish, one to listen, and in a cluster one of
 * each for each node. All reconnect by themselves. A process publishes a canary on each shard, and
 * must hear it. The bus is up while it does, and has every subscription in force. Anything else is
 * an outage, and its end is a gap.
 */
export function createRedisBus({ urls, prefix, onDown, onUp }: RedisBusOptions): Bus {
  const publisher = connect(urls, 'publisher')
  const listeners = new Map<string, Set<(message: string) => void>>()
  const gapListeners = new Set<() => void>()
  let isDown = false
  let hasGap = false
  let hasFailed = false

  const onError = (error: Error): void => {
    hasGap = true
    hasFailed = true
    if (!isDown) onDown(error)
    isDown = true
  }
  const shards = new Shards({
    publisher,
    urls,
    canary: `${prefix}canary:${newId()}`,
    events: {
      onMessage: (channel, message) => {
        for (const listener of listeners.get(channel) ?? []) listener(message)
      },
      send,
      onGap: () => (hasGap = true),
      onError,
      onChange: () => {
        // Only then: it looks at all subscriptions.
        if (isDown || hasGap) noteUp()
      },
    },
  })
  const isUp = (): boolean => publisher.status === 'ready' && shards.areUp && shards.areInForce
  function noteUp(): void {
    if (!isUp()) return
    if (isDown) onUp()
    isDown = false
    if (!hasGap || shards.someAreLost) return
    // Messages may have been lost, so listeners resync from the database.
    hasGap = false
    gapListeners.forEach((listener) => listener())
  }

  publisher.on('error', onError)
  publisher.on('close', () => {
    hasGap = true
    shards.fail()
  })
  publisher.on('ready', () => shards.call())
  function send(name: string, message = '', onSent?: () => void): void {
    if (publisher.status !== 'ready') return onSent?.()
    const sent = publisher instanceof Cluster ? publisher.spublish(name, message) : publisher.publish(name, message)
    const settled = sent.catch((error: Error) => {
      shards.of(name)?.fail(error)
      onError(error)
    })
    if (onSent !== undefined) void settled.then(onSent)
  }
  const heartbeat = setInterval(() => {
    shards.beat()
    if (!shards.areUp) onError(new Error('messages do not come back from Redis'))
    // Nobody may want a subscription any more that Redis has just refused. The next one would be
    // refused as well.
    if (!hasFailed) noteUp()
    hasFailed = false
  }, HEARTBEAT_MS).unref()

  return {
    publish: (channel, message, onSent) => send(prefix + channel, message, onSent),
    async subscribe(channel, listener): Promise<Unsubscribe> {
      const name = prefix + channel
      const members = listeners.get(name) ?? new Set()
      listeners.set(name, members.add(listener))
      // While Redis is down the subscription waits for it; the caller does not.
      const late = new Promise((resolve) => setTimeout(resolve, SUBSCRIBE_MS).unref())
      await Promise.race([shards.add(name), late])
      return () => {
        members.delete(listener)
        if (members.size > 0 || listeners.get(name) !== members) return
        listeners.delete(name)
        shards.delete(name)
      }
    },
    onGap(listener) {
      gapListeners.add(listener)
      return () => gapListeners.delete(listener)
    },
    isUp,
    close: async () => {
      clearInterval(heartbeat)
      shards.close()
      close(publisher)
      await Promise.resolve()
    },
  }
}
