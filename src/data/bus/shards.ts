import calculateSlot from 'cluster-key-slot'
import { Cluster, type Redis } from 'ioredis'
import { z } from 'zod'

import { listen, listenAt } from '../redis/client.ts'
import { Shard, type ShardEvents } from './shard.ts'
import { lose, newSubscription, type Subscription } from './subscriptions.ts'

/** `[first slot, last slot, [host, port, …] of the primary, …]` */
const SLOTS = z.array(
  z.tuple([z.int(), z.int(), z.tuple([z.string().nullable(), z.coerce.number()]).rest(z.unknown())]).rest(z.unknown()),
)

/** After a node says that it has lost a slot, for the other nodes to learn where the slot is. */
const MOVED_MS = 100

/** Finds a canary even for a node with a single slot, one of 16 384. */
const MAX_TRIES = 2 ** 18

interface ShardsOptions {
  publisher: Redis | Cluster
  urls: readonly string[]
  /** Begins the names of this process's canaries. */
  canary: string
  events: ShardEvents
}

/** The shards of a bus, and which subscription belongs to which: a single Redis is one shard. */
export class Shards {
  readonly #options: ShardsOptions
  /** By `host:port`; that of a single Redis has the empty name. */
  readonly #shards = new Map<string, Shard>()
  readonly #wanted = new Map<string, { subscription: Subscription; shard: Shard | undefined }>()
  /** Nodes that have ended subscriptions by themselves since the last heartbeat. */
  readonly #stale = new Set<Shard>()
  /** The address of the primary for each slot. */
  #owners: readonly string[] = []
  #slots = ''
  #isClosed = false
  #slotsTimer: NodeJS.Timeout | undefined

  constructor(options: ShardsOptions) {
    this.#options = options
    const { publisher, urls, canary, events } = options
    if (publisher instanceof Cluster) return
    this.#shards.set('', new Shard({ client: listen(urls), canary, isSharded: false, isJoining: false, events }))
  }

  /** Resolves once Redis has confirmed the subscription. */
  add(name: string): Promise<void> {
    const known = this.#wanted.get(name)
    if (known !== undefined) return known.subscription.inForce
    const subscription = newSubscription()
    const shard = this.of(name)
    this.#wanted.set(name, { subscription, shard })
    shard?.subscriptions.add(name, subscription)
    return subscription.inForce
  }

  delete(name: string): void {
    this.#wanted.get(name)?.shard?.subscriptions.delete(name)
    this.#wanted.delete(name)
  }

  /** The shard that receives a channel. Undefined while that is not known. */
  of(name: string): Shard | undefined {
    const address = this.#isCluster ? this.#owners[calculateSlot(name)] : ''
    return this.#shards.get(address ?? '')
  }

  /** Whether messages come back from each. */
  get areUp(): boolean {
    return this.#shards.size > 0 && [...this.#shards.values()].every(({ isUp }) => isUp)
  }

  /** Whether every subscription is, but for those that have only been asked for. */
  get areInForce(): boolean {
    const isKnown = [...this.#wanted.values()].every(({ shard }) => shard !== undefined)
    return isKnown && [...this.#shards.values()].every(({ subscriptions }) => subscriptions.areInForce)
  }

  /** Whether a subscription that was in force is not yet again. */
  get someAreLost(): boolean {
    return [...this.#wanted.values()].some(({ subscription: { state } }) => state === 'lost')
  }

  /** The publisher's connections are new ones. */
  call(): void {
    if (this.#isCluster) void this.#readSlots()
    for (const shard of this.#shards.values()) shard.call()
  }

  /** The publisher has no connection. */
  fail(): void {
    for (const shard of this.#shards.values()) shard.fail()
  }

  /** Asks for what is missing, publishes canaries, and opens deaf connections again. */
  beat(): void {
    if (this.#isCluster) void this.#readSlots()
    for (const shard of this.#stale) shard.subscriptions.askAgain()
    this.#stale.clear()
    for (const shard of this.#shards.values()) {
      if (!shard.beat()) continue
      reopen(shard.client)
      // The two of a single Redis may be connected to different servers.
      if (!(this.#options.publisher instanceof Cluster)) reopen(this.#options.publisher)
    }
  }

  close(): void {
    clearTimeout(this.#slotsTimer)
    this.#isClosed = true
    for (const shard of this.#shards.values()) shard.close()
    this.#shards.clear()
  }

  get #isCluster(): boolean {
    return this.#options.publisher instanceof Cluster
  }

  /** Asks which node serves which slots. While no node says so, the last answer holds. */
  async #readSlots(): Promise<void> {
    const { publisher } = this.#options
    if (!(publisher instanceof Cluster) || publisher.status !== 'ready') return
    const peers = publisher.nodes('master')
    const peer = peers.find(({ status }) => status === 'ready') ?? peers[0]
    if (peer === undefined) return
    const answer = SLOTS.safeParse(await peer.cluster('SLOTS').catch(() => null))
    const slots = JSON.stringify(answer.data?.map(([first, last, [host, port]]) => [first, last, host, port]))
    // An answer may come after the end.
    if (!answer.success || answer.data.length === 0 || slots === this.#slots || this.#isClosed) return
    this.#slots = slots
    const owners: string[] = []
    const nodes = new Map<string, { host: string; port: number }>()
    for (const [first, last, [host, port]] of answer.data) {
      if (host === null || host === '') continue
      nodes.set(`${host}:${port}`, { host, port })
      owners.length = Math.max(owners.length, last + 1)
      owners.fill(`${host}:${port}`, first, last + 1)
    }
    this.#owners = owners
    this.#follow(peer, nodes)
  }

  /** Connects to new nodes, moves subscriptions, and leaves nodes without slots of ours. */
  #follow(peer: Redis, nodes: ReadonlyMap<string, { host: string; port: number }>): void {
    const isJoining = this.#shards.size > 0
    /** Nodes with a slot of ours. */
    const used = new Set<string>()
    for (const [address, { host, port }] of nodes) {
      const known = this.#shards.get(address)
      if (known !== undefined && this.#owners[calculateSlot(known.canary)] === address) {
        used.add(address)
        continue
      }
      const canary = this.#canaryOf(address)
      if (canary === undefined) continue
      used.add(address)
      if (known === undefined) this.#open(address, listenAt(peer, host, port), canary, isJoining)
      else known.canary = canary
    }
    let hasMoved = false
    for (const [name, each] of this.#wanted) {
      const shard = this.of(name)
      if (shard === each.shard) continue
      hasMoved ||= each.shard !== undefined
      each.shard?.subscriptions.delete(name)
      lose(each.subscription)
      each.shard = shard
      shard?.subscriptions.add(name, each.subscription)
    }
    for (const [address, shard] of this.#shards) {
      if (used.has(address)) continue
      this.#shards.delete(address)
      this.#stale.delete(shard)
      shard.close()
    }
    if (hasMoved) this.#options.events.onGap()
  }

  #open(address: string, client: Redis, canary: string, isJoining: boolean): void {
    const { events } = this.#options
    const shard = new Shard({ client, canary, isSharded: true, isJoining, events })
    this.#shards.set(address, shard)
    // ioredis says so where a node ends a subscription by itself, and where it refuses one: the
    // slot is another node's.
    client.on('moved', () => {
      if (!this.#stale.has(shard)) {
        this.#stale.add(shard)
        shard.subscriptions.doubt()
        events.onGap()
      }
      this.#slotsTimer ??= setTimeout(() => {
        this.#slotsTimer = undefined
        void this.#readSlots()
      }, MOVED_MS).unref()
    })
  }

  /** A channel in a slot of the node. Undefined where no channel of ours is in one of its slots. */
  #canaryOf(address: string): string | undefined {
    const { canary } = this.#options
    const isOf = (text: string): boolean => this.#owners[calculateSlot(text)] === address
    // Text in braces alone decides on the slot. A prefix with braces puts all channels in one slot.
    if (calculateSlot(`${canary}:{0}`) !== calculateSlot('0')) return isOf(canary) ? canary : undefined
    for (let n = 0; n < MAX_TRIES; n++) if (isOf(String(n))) return `${canary}:{${n}}`
    return undefined
  }
}

const reopen = (client: Redis): void => {
  if (client.status === 'ready') client.disconnect(true)
}
