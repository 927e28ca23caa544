import type { Socket } from 'node:net'

import { createBirpc } from 'birpc'
import { AggregatorRegistry } from 'prom-client'

import type { Settings } from '../core/settings/settings.ts'
import type { StreamPlaces } from '../core/stream-places.ts'
import { createMemoryPlaces } from '../data/places/memory.ts'
import { createTokenStore, type TokenStore } from '../data/limits/shared.ts'
import { Listener, type ConnectionTaker } from './listener.ts'
import { type Child, CONNECTION, type Figures, type Hello, type BusMessage, type Parent } from './protocol.ts'

/** How long a process may take to return its metrics. */
const PATIENCE_MS = 2000

/** The messages from and to one process. */
export interface Port {
  send(message: object, socket?: Socket): void
  /** Whether too many messages are under way to send more. */
  isFull(): boolean
  onMessage(listener: (message: object) => void): void
}

/** One process, as its parent sees it. */
interface Member {
  readonly port: Port
  readonly calls: Pick<Child, 'receive' | 'missed'> & { figures(): Promise<Figures> }
  /** Whether messages were dropped for it, of which it has not been notified yet. */
  hasMissed: boolean
  readonly channels: Set<string>
  readonly places: Map<number, () => void>
  /** The metrics that it returned last. */
  figures: Figures
}

/**
 * What processes of one parent share: a port, the bus, token buckets, places of streams, metrics.
 */
export class Exchange {
  readonly #members = new Set<Member>()
  readonly #listener: Listener
  readonly #tokens: TokenStore = createTokenStore()
  readonly #places: StreamPlaces = createMemoryPlaces()
  /**
   * Sums of ended processes: without them counters would go down, which Prometheus takes for a
   * restart.
   */
  #ended: Promise<Figures> = Promise.resolve([])
  #isClosing = false

  constructor({ MAX_CONNECTIONS, HEADERS_TIMEOUT_SECONDS }: Settings) {
    this.#listener = new Listener({ maxWaiting: MAX_CONNECTIONS, patienceMs: HEADERS_TIMEOUT_SECONDS * 1000 })
  }

  /** Closes the port once any process leaves it: then all are stopping. */
  close(): void {
    this.#isClosing = true
  }

  /** Serves a process until it leaves. */
  join(port: Port, onReady: (hello: Hello) => void): { leave(): void; isAlive(): Promise<boolean> } {
    const channels = new Set<string>()
    const places = new Map<number, () => void>()
    const taker: ConnectionTaker = { take: (socket) => port.send(CONNECTION, socket) }
    /** Places given back before they were granted. */
    const unwanted = new Set<number>()
    let hasLeft = false
    const calls = createBirpc<Child, Parent>(
      {
        listen: async (host, number) => {
          const listening = await this.#listener.listen(host, number)
          if ('port' in listening && !hasLeft) this.#listener.join(taker)
          return listening
        },
        confirm: () => this.#listener.confirm(taker),
        leave: async () => {
          if (this.#isClosing) await this.#listener.close()
          this.#listener.leave(taker)
        },
        ready: onReady,
        publish: (news) => this.#publish(member, news),
        subscribe: (channel) => void channels.add(channel),
        unsubscribe: (channel) => void channels.delete(channel),
        takeTokens: (request) => this.#tokens(request),
        takePlace: async (place, request) => {
          const giveBack = await this.#places.take(request)
          if (giveBack === null) return false
          if (hasLeft || unwanted.delete(place)) giveBack()
          else places.set(place, giveBack)
          return true
        },
        giveBack: (place) => {
          const giveBack = places.get(place)
          if (giveBack === undefined) unwanted.add(place)
          else giveBack()
          places.delete(place)
        },
        figures: () => this.#sumUp(),
      },
      {
        post: (message) => port.send(message as object),
        on: (listener) => port.onMessage(listener),
        eventNames: ['receive', 'missed'],
        timeout: PATIENCE_MS,
      },
    )
    const member: Member = { port, calls, channels, places, figures: [], hasMissed: false }
    this.#members.add(member)
    return {
      leave: () => {
        hasLeft = true
        this.#listener.forget(taker)
        calls.$close()
        this.#leave(member)
      },
      isAlive: () =>
        calls.ping().then(
          () => true,
          () => false,
        ),
    }
  }

  #publish(from: Member, news: readonly BusMessage[]): void {
    for (const member of this.#members) {
      if (member === from) continue
      const wanted = news.filter(([channel]) => member.channels.has(channel))
      if (wanted.length === 0) continue
      // A process that hangs must not fill the memory of the parent.
      if (member.port.isFull()) {
        member.hasMissed = true
        continue
      }
      if (member.hasMissed) member.calls.missed()
      member.hasMissed = false
      member.calls.receive(wanted)
    }
  }

  async #sumUp(): Promise<string> {
    await Promise.all(
      [...this.#members].map(async (member) => {
        // A process that is too busy to answer, or has just ended, keeps its last metrics.
        member.figures = await member.calls.figures().catch(() => member.figures)
      }),
    )
    // A process that ends meanwhile is counted in one of the two, not in both.
    for (let ended = this.#ended; ; ended = this.#ended) {
      const sum = await ended
      if (ended !== this.#ended) continue
      return AggregatorRegistry.aggregate([sum, ...[...this.#members].map(({ figures }) => figures)]).metrics()
    }
  }

  #leave(member: Member): void {
    this.#members.delete(member)
    for (const giveBack of member.places.values()) giveBack()
    const counts = member.figures.filter(({ type }) => COUNTS.has(String(type)))
    this.#ended = this.#ended.then((ended) => AggregatorRegistry.aggregate([ended, counts]).getMetricsAsJSON())
  }
}

/** Metrics that only grow. */
const COUNTS: ReadonlySet<string> = new Set(['counter', 'histogram'])
