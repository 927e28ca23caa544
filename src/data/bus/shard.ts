import type { Redis } from 'ioredis'

import { close } from '../redis/client.ts'
import { newSubscription, Subscriptions } from './subscriptions.ts'

/**
 * A shard is down that has received no canary since the heartbeat before the last. Counted in
 * heartbeats: a process that stood still has sent nothing.
 */
const HEARTBEATS_AWAY = 2

export interface ShardEvents {
  onMessage(channel: string, message: string): void
  /** Publishes a canary. */
  send(canary: string): void
  /** Messages may have been lost. */
  onGap(): void
  onError(error: Error): void
  /** A subscription is in force, or a canary came back, that was not before. */
  onChange(): void
}

interface ShardOptions {
  client: Redis
  /** The channel on which this process receives its own messages. */
  canary: string
  /** A node of a cluster, with sharded pub/sub. */
  isSharded: boolean
  /** It has the first heartbeats to connect, before it counts as down. */
  isJoining: boolean
  events: ShardEvents
}

/** A Redis, or a node of a cluster, that some channels are received from. */
export class Shard {
  readonly client: Redis
  readonly subscriptions: Subscriptions
  readonly #events: ShardEvents
  #canary: string
  #isUp: boolean
  #isOpen = false
  #beatsWithoutCanary = 0

  constructor({ client, canary, isSharded, isJoining, events }: ShardOptions) {
    this.client = client
    this.#canary = canary
    this.#isUp = isJoining
    this.#events = events
    this.subscriptions = new Subscriptions(client, isSharded, {
      onError: events.onError,
      onConfirmed: (names) => {
        if (!this.#isUp && names.includes(this.#canary)) this.call()
        events.onChange()
      },
    })
    client.on(isSharded ? 'smessage' : 'message', (channel: string, message: string) => {
      // Messages of other processes say nothing of those of this one.
      if (channel === this.#canary) this.#onCanary()
      else events.onMessage(channel, message)
    })
    // A cluster moves slots away from a node before it ends: there the canary decides.
    client.on('error', (error) => void (isSharded || events.onError(error)))
    client.on('close', () => {
      if (!this.#isOpen) return
      this.#isOpen = false
      this.#isUp = false
      events.onGap()
    })
    client.on('ready', () => {
      this.#isOpen = true
      this.#beatsWithoutCanary = 0
      this.subscriptions.renew()
    })
    this.subscriptions.add(canary, newSubscription())
  }

  /** Whether a canary of late went the whole way: taken by Redis, and received. */
  get isUp(): boolean {
    return this.#isUp
  }

  get canary(): string {
    return this.#canary
  }

  set canary(name: string) {
    if (name === this.#canary) return
    this.subscriptions.delete(this.#canary)
    this.#canary = name
    this.subscriptions.add(name, newSubscription())
  }

  /** Down until it receives a canary. */
  fail(error?: Error): void {
    this.#isUp = false
    // Another connection would get the same answer.
    if (error?.name === 'ReplyError') this.#beatsWithoutCanary = 0
  }

  call(): void {
    this.#events.send(this.#canary)
  }

  /** Whether the connections have to be opened again: what was sent did not come back. */
  beat(): boolean {
    this.#beatsWithoutCanary++
    const isDeaf = this.#beatsWithoutCanary >= HEARTBEATS_AWAY
    if (isDeaf) {
      this.#isUp = false
      this.#beatsWithoutCanary = 0
    }
    this.subscriptions.repair()
    this.call()
    return isDeaf
  }

  close(): void {
    close(this.client)
  }

  #onCanary(): void {
    this.#beatsWithoutCanary = 0
    if (this.#isUp) return
    this.#isUp = true
    this.#events.onChange()
  }
}
