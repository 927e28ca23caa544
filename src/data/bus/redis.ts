import { Cluster, Redis } from 'ioredis'

import type { Bus, Unsubscribe } from '../../core/bus.ts'
import { connect } from '../redis/client.ts'
import { listenersOf, servingNodesOf } from '../redis/inside.ts'
import { Subscriptions } from './subscriptions.ts'

/**
 * How often each connection is pinged, and missing subscriptions are asked for. A vanished host
 * closes no connection, and a connection that only listens would never notice.
 */
const HEARTBEAT_MS = 2000

/** A node of a cluster is away that has not answered since the heartbeat before the last. */
const HEARTBEATS_AWAY = 2

/** How long a caller waits for its subscription. */
const SUBSCRIBE_MS = 1000

/** A channel without listeners, to try whether messages are taken. */
const TRIAL = 'trial'

/** A cluster client subscribes again just after it says so. */
const RESUBSCRIBE_MS = 50

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
 * themselves. It is up while Redis answers on both, has taken the last message and has every
 * subscription in force. Anything else is an outage, and its end is a gap.
 */
export function createRedisBus({ urls, prefix, onDown, onUp }: RedisBusOptions): Bus {
  const publisher = connect(urls, 'publisher')
  const subscriber = connect(urls, 'subscriber')
  const listeners = new Map<string, Set<(message: string) => void>>()
  const gapListeners = new Set<() => void>()
  let isDown = false
  let hasGap = false
  /** Redis has not taken the last message, or none yet over this connection. */
  let isMute = true

  const onError = (error: Error): void => {
    hasGap = true
    if (!isDown) onDown(error)
    // The next heartbeat decides whether only this command failed: commands to a node that has
    // just died fail, while the client still counts as up.
    isDown = true
  }
  const clients = [publisher, subscriber]
  const subscriptions = new Subscriptions(subscriber, onError, () => {
    // Only then: it looks at all subscriptions.
    if (isDown || hasGap) noteSoon()
  })
  const watches = clients.map((client) => watchNodes(client, () => noteSoon(), onError))
  const answers = (): boolean => watches.every((watch) => watch.isUp())
  const isUp = (): boolean => !isMute && answers() && subscriptions.areInForce
  function noteUp(): void {
    if (!isUp()) return
    if (isDown) onUp()
    isDown = false
    // Messages may have been lost, so listeners resync from the database.
    if (hasGap) gapListeners.forEach((listener) => listener())
    hasGap = false
  }

  /** Of a cluster, other nodes answer while one is away: there the heartbeat decides. */
  function noteSoon(): void {
    if (publisher instanceof Redis) noteUp()
  }

  for (const client of clients) {
    client.on('error', onError)
    client.on('close', () => (hasGap = true))
  }
  // A new connection may answer and yet take no message, such as after a change of an ACL.
  publisher.on('close', () => (isMute = true))
  publisher.on('ready', () => {
    if (isMute) send(TRIAL, '')
  })
  if (subscriber instanceof Redis) subscriber.on('ready', () => subscriptions.renew())
  else {
    let isFirst = true
    subscriber.on('subscribersReady', () => {
      hasGap ||= !isFirst
      isFirst = false
      setTimeout(() => subscriptions.repair(), RESUBSCRIBE_MS).unref()
    })
  }
  function send(channel: string, message: string, onSent?: () => void): void {
    if (publisher.status !== 'ready') return onSent?.()
    const name = prefix + channel
    const sent = publisher instanceof Cluster ? publisher.spublish(name, message) : publisher.publish(name, message)
    const settled = sent.then(
      () => {
        if (!isMute) return
        isMute = false
        noteSoon()
      },
      (error: Error) => {
        isMute = true
        onError(error)
      },
    )
    if (onSent !== undefined) void settled.then(onSent)
  }
  const heartbeat = setInterval(() => {
    for (const watch of watches) watch.beat()
    subscriptions.repair()
    // Nothing else may be published for long.
    if (isMute) send(TRIAL, '')
    // A cluster client does not report single nodes.
    if (!answers()) onError(new Error('a node of Redis does not answer'))
    noteUp()
  }, HEARTBEAT_MS).unref()
  subscriber.on(subscriber instanceof Redis ? 'message' : 'smessage', (channel: string, message: string) => {
    for (const listener of listeners.get(channel) ?? []) listener(message)
  })

  return {
    publish: send,
    async subscribe(channel, listener): Promise<Unsubscribe> {
      const name = prefix + channel
      const members = listeners.get(name) ?? new Set()
      listeners.set(name, members.add(listener))
      // While Redis is down the subscription waits for it; the caller does not.
      const late = new Promise((resolve) => setTimeout(resolve, SUBSCRIBE_MS).unref())
      await Promise.race([subscriptions.add(name), late])
      return () => {
        members.delete(listener)
        if (members.size > 0 || listeners.get(name) !== members) return
        listeners.delete(name)
        subscriptions.delete(name)
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

const nodeOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`

/** Pings the nodes of a client, and notes when each last answered. */
function watchNodes(client: Redis | Cluster, onAnswer: () => void, onError: (error: Error) => void) {
  /**
   * The heartbeats since each node last answered. Not the time since then: a process that stood
   * still has asked nothing.
   */
  const unanswered = new Map<string, number>()
  /** A single connection has answered its last ping; a cluster has answered one since `ready`. */
  let isAnswering = false
  /** Connections of a cluster client whose last ping failed, by what they do and their node. */
  const failing = new Map<string, string>()
  /** Listening connections whose last ping failed: while slots move, one ends, another begins. */
  const suspected = new Set<string>()
  const ask = (connection: Redis, use: 'asks' | 'listens'): void => {
    const node = nodeOf(connection)
    connection.ping().then(
      () => {
        if (use === 'asks') unanswered.set(node, 0)
        failing.delete(`${use} ${node}`)
        if (use === 'listens') suspected.delete(node)
        isAnswering = true
        onAnswer()
      },
      (error: Error) => {
        if (use === 'listens' && !suspected.has(node)) return void suspected.add(node)
        failing.set(`${use} ${node}`, node)
        isAnswering &&= client instanceof Cluster
        onError(error)
      },
    )
  }
  // Answers from before an outage no longer count.
  client.on('ready', () => {
    unanswered.clear()
    isAnswering = false
    askAll()
  })
  function askAll(): void {
    if (client.status !== 'ready') return
    if (client instanceof Redis) return ask(client, 'asks')
    for (const connection of client.nodes('master')) ask(connection, 'asks')
    // These connections only listen, so they would never notice that a node has vanished.
    for (const connection of listenersOf(client)) ask(connection, 'listens')
  }
  return {
    beat(): void {
      // A node without a connection is asked nothing, and answers nothing.
      if (client instanceof Cluster && client.status === 'ready') {
        for (const node of servingNodesOf(client)) unanswered.set(node, (unanswered.get(node) ?? 0) + 1)
      }
      askAll()
    },
    /** A single connection reports its own end. */
    isUp(): boolean {
      if (client.status !== 'ready' || !isAnswering) return false
      if (client instanceof Redis) return true
      const nodes = servingNodesOf(client)
      for (const node of unanswered.keys()) if (!nodes.has(node)) unanswered.delete(node)
      for (const [connection, node] of failing) if (!nodes.has(node)) failing.delete(connection)
      return failing.size === 0 && [...unanswered.values()].every((count) => count < HEARTBEATS_AWAY)
    },
  }
}
