import { Cluster, type Redis } from 'ioredis'

import { subscribedOf } from '../redis/inside.ts'

/** The most channels of one SUBSCRIBE. */
const MAX_CHANNELS = 500

/** How long a subscription that nothing has refused may wait for its answer. */
const PATIENCE_MS = 1000

interface Subscription {
  isInForce: boolean
  /** Since when it is not; without an end of patience if it was refused or lost. */
  since: number
  inForce: Promise<void>
  confirm: () => void
}

/**
 * The subscriptions of a listening client. Each is asked for again until Redis has confirmed it:
 * ioredis drops those that are refused on a new connection.
 */
export class Subscriptions {
  readonly #client: Redis | Cluster
  readonly #onError: (error: Error) => void
  readonly #onConfirmed: () => void
  readonly #all = new Map<string, Subscription>()

  constructor(client: Redis | Cluster, onError: (error: Error) => void, onConfirmed: () => void) {
    this.#client = client
    this.#onError = onError
    this.#onConfirmed = onConfirmed
  }

  /** Resolves once it is in force, which may take until Redis is back. */
  add(name: string): Promise<void> {
    const known = this.#all.get(name)
    if (known !== undefined) return known.inForce
    let confirm = (): void => undefined
    const inForce = new Promise<void>((resolve) => (confirm = resolve))
    this.#all.set(name, { isInForce: false, since: performance.now(), inForce, confirm })
    this.#askFor([name])
    return inForce
  }

  delete(name: string): void {
    if (this.#all.delete(name)) this.#leave(name)
  }

  /** The connection is a new one, on which none is in force. */
  renew(): void {
    this.#lose([...this.#all.keys()])
    this.repair()
  }

  /** Asks for those that were refused or lost. */
  repair(): void {
    const now = performance.now()
    if (this.#client instanceof Cluster && this.#client.status === 'ready') this.#look(this.#client, now)
    const missing = this.#missing(now)
    // A cluster client has a list of its own, in which a channel would come twice.
    if (this.#client instanceof Cluster) for (const name of missing) this.#leave(name)
    this.#askFor(missing)
  }

  /** Whether all are, but for those that have only been asked for. */
  get areInForce(): boolean {
    return this.#missing(performance.now()).length === 0
  }

  #missing(now: number): string[] {
    const names: string[] = []
    for (const [name, { isInForce, since }] of this.#all) if (!isInForce && now - since > PATIENCE_MS) names.push(name)
    return names
  }

  /** A cluster client subscribes again by itself, and tells nobody what was refused. */
  #look(cluster: Cluster, now: number): void {
    const channels = subscribedOf(cluster)
    for (const [name, each] of this.#all) {
      if (!channels.has(name) && each.isInForce) Object.assign(each, { isInForce: false, since: now })
    }
    this.#confirm([...this.#all.keys()].filter((name) => channels.has(name)))
  }

  #askFor(names: readonly string[]): void {
    const client = this.#client
    if (client.status !== 'ready') return
    if (client instanceof Cluster) for (const name of names) this.#follow(client.ssubscribe(name), [name])
    else {
      for (let at = 0; at < names.length; at += MAX_CHANNELS) {
        const some = names.slice(at, at + MAX_CHANNELS)
        this.#follow(client.subscribe(...some), some)
      }
    }
  }

  #follow(answer: Promise<unknown>, names: readonly string[]): void {
    answer.then(
      () => this.#confirm(names),
      (error: Error) => {
        this.#lose(names)
        this.#onError(error)
      },
    )
  }

  #confirm(names: readonly string[]): void {
    for (const name of names) {
      const found = this.#all.get(name)
      if (found === undefined) continue
      found.isInForce = true
      found.confirm()
    }
    this.#onConfirmed()
  }

  #lose(names: readonly string[]): void {
    for (const name of names) {
      const found = this.#all.get(name)
      if (found !== undefined) Object.assign(found, { isInForce: false, since: -Infinity })
    }
  }

  #leave(name: string): void {
    const client = this.#client
    if (client.status !== 'ready') return
    const left = client instanceof Cluster ? client.sunsubscribe(name) : client.unsubscribe(name)
    // Messages that still come find no listener.
    left.catch(() => undefined)
  }
}
