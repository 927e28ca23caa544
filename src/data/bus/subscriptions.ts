import type { Redis } from 'ioredis'

/** The most channels of one SUBSCRIBE. */
const MAX_CHANNELS = 500

/** How long a subscription that nothing has refused may wait for its answer. */
const PATIENCE_MS = 1000

export interface Subscription {
  /** A lost one may have missed messages. */
  state: 'asked' | 'lost' | 'in force'
  /** Since when it is not in force; without an end of patience if Redis has refused it. */
  since: number
  /** Resolves once it is in force, which may take until Redis is back. */
  inForce: Promise<void>
  confirm: () => void
}

export function newSubscription(): Subscription {
  let confirm = (): void => undefined
  const inForce = new Promise<void>((resolve) => (confirm = resolve))
  return { state: 'asked', since: performance.now(), inForce, confirm }
}

/** What was in force is lost, and told of as missing after `since` and its patience. */
export function lose(subscription: Subscription, since = performance.now()): void {
  if (subscription.state !== 'in force') subscription.since = Math.min(subscription.since, since)
  else Object.assign(subscription, { state: 'lost', since })
}

interface Events {
  onError(error: Error): void
  onConfirmed(names: readonly string[]): void
}

/**
 * The subscriptions of a listening connection. Each is asked for again until Redis has confirmed
 * it: ioredis drops those that are refused on a new connection.
 */
export class Subscriptions {
  readonly #client: Redis
  readonly #isSharded: boolean
  readonly #events: Events
  readonly #all = new Map<string, Subscription>()

  constructor(client: Redis, isSharded: boolean, events: Events) {
    this.#client = client
    this.#isSharded = isSharded
    this.#events = events
  }

  add(name: string, subscription: Subscription): void {
    this.#all.set(name, subscription)
    this.#askFor([name])
  }

  delete(name: string): void {
    if (!this.#all.delete(name) || this.#client.status !== 'ready') return
    const left = this.#isSharded ? this.#client.sunsubscribe(name) : this.#client.unsubscribe(name)
    // Messages that still come find no listener.
    left.catch(() => undefined)
  }

  /** The connection is a new one, on which none is in force. */
  renew(): void {
    for (const each of this.#all.values()) if (each.state === 'in force') lose(each, -Infinity)
    this.askAgain()
  }

  /** The node has ended some, and does not say which. */
  doubt(): void {
    for (const each of this.#all.values()) if (each.state === 'in force') lose(each)
  }

  /** Asks for those that were refused or lost. */
  repair(): void {
    this.#askFor(this.#missing())
  }

  /** Asks for all. */
  askAgain(): void {
    this.#askFor([...this.#all.keys()])
  }

  /** Whether all are, but for those that have only been asked for. */
  get areInForce(): boolean {
    return this.#missing().length === 0
  }

  /** Whether one has been in force, and is not yet again. */
  get someAreLost(): boolean {
    return [...this.#all.values()].some(({ state }) => state === 'lost')
  }

  #missing(): string[] {
    const until = performance.now() - PATIENCE_MS
    const names: string[] = []
    for (const [name, { state, since }] of this.#all) if (state !== 'in force' && since < until) names.push(name)
    return names
  }

  #askFor(names: readonly string[]): void {
    if (this.#client.status !== 'ready') return
    // The channels of one SSUBSCRIBE must share a slot.
    const most = this.#isSharded ? 1 : MAX_CHANNELS
    for (let at = 0; at < names.length; at += most) {
      const some = names.slice(at, at + most)
      this.#follow(this.#isSharded ? this.#client.ssubscribe(...some) : this.#client.subscribe(...some), some)
    }
  }

  #follow(answer: Promise<unknown>, names: readonly string[]): void {
    answer.then(
      () => {
        for (const name of names) {
          const found = this.#all.get(name)
          if (found === undefined) continue
          found.state = 'in force'
          found.confirm()
        }
        this.#events.onConfirmed(names)
      },
      (error: Error) => {
        // The shards look where the slot is now.
        const isMoved = this.#isSharded && error.message.startsWith('MOVED')
        for (const name of names) {
          const found = this.#all.get(name)
          if (found !== undefined) lose(found, isMoved ? performance.now() : -Infinity)
        }
        if (!isMoved) this.#events.onError(error)
      },
    )
  }
}
