import type { Cluster, Redis } from 'ioredis'

/** Parts of ioredis's Cluster that have no public interface. */
interface Inside {
  /** For each slot its nodes, the primary first. */
  slots: readonly (readonly string[])[]
  /** The listening connections, by node. */
  shardedSubscribers: { shardedSubscribers: ReadonlyMap<string, { getInstance(): Redis | null }> }
}

/** The same of one connection: what it has subscribed to. */
interface Listening {
  condition?: { subscriber: false | { channels(kind: 'ssubscribe'): string[] } }
}

const insideOf = (client: Cluster): Inside => client as unknown as Inside

/** The nodes that serve slots. */
export const servingNodesOf = (client: Cluster): Set<string> =>
  new Set(insideOf(client).slots.map(([first]) => first ?? ''))

/** The connections that listen, of those that are open. */
export const listenersOf = (client: Cluster): Redis[] =>
  [...insideOf(client).shardedSubscribers.shardedSubscribers.values()].flatMap((each) => {
    const connection = each.getInstance()
    return connection?.status === 'ready' ? [connection] : []
  })

/** The channels that nodes have confirmed. */
export const subscribedOf = (client: Cluster): Set<string> =>
  new Set(
    listenersOf(client).flatMap((connection) => {
      const { subscriber = false } = (connection as unknown as Listening).condition ?? {}
      return subscriber === false ? [] : subscriber.channels('ssubscribe')
    }),
  )
