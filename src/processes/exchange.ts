import type { Socket } from 'node:net'

import { createBirpc } from 'birpc'
import { AggregatorRegistry } from 'prom-client'

import type { Settings } from '../core/settings.ts'
import type { StreamPlaces } from '../core/stream-places.ts'
import { createMemoryPlaces } from '../data/memory-places.ts'
import { createTokenStore, type TokenStore } from '../data/shared-limits.ts'
import { Listener, type ConnectionTaker } from './listener.ts'
import { type Child, CONNECTION, type Figures, type Hello, type BusMessage, type Parent } from './protocol.ts'

/** How long a process that is asked for its figures may take. */
const PATIENCE_MS = 2000

/** The messages from and to one process. */
export interface Port {
  send(message: object, socket?: Socket): void
  /** Whether so much is on its way that it would be unwise to send more. */
  isFull(): boolean
  onMessage(listener: (message: object) => void): void
}

/** One process, as its parent sees it. */
interface Member {
  readonly port: Port
  readonly calls: Pick<Child, 'hear' | 'missed'> & { figures(): Promise<Figures> }
  /** Whether news was not sent to it, which it has not heard yet. */
  hasMissed: boolean
  readonly channels: Set<string>
  readonly places: Map<number, () => void>
  /** What it has last told Prometheus. */
  figures: Figures
}

/**
 * What processes of one parent share: a port, the bus, token buckets, places of streams, figures.
 */
export class Exchange {
  readonly #members = new Set<Member>()
  readonly #listener: Listener
  readonly #tokens: TokenStore = createTokenStore()
  readonly #places: StreamPlaces = createMemoryPlaces()
  /** What is left of processes that have ended: a count that goes down is a count from zero. */
  #ended: Promise<Figures> = Promise.resolve([])
  #isClosing = false

  constructor({ MAX_CONNECTIONS, HEADERS_TIMEOUT_SECONDS }: Settings) {
    this.#listener = new Listener({ maxWaiting: MAX_CONNECTIONS, patienceMs: HEADERS_TIMEOUT_SECONDS * 1000 })
  }

  /** Closes the port once a process leaves it: they all do. */
  close(): void {
    this.#isClosing = true
  }

  /** Serves a process until it leaves. */
  join(port: Port, onReady: (hello: Hello) => void): { leave(): void; isAlive(): Promise<boolean> } {
    const channels = new Set<string>()
    const places = new Map<number, () => void>()
    const taker: ConnectionTaker = { take: (socket) => port.send(CONNECTION, socket) }
    /** Given back before they were there. */
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
        eventNames: ['hear', 'missed'],
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
      const heard = news.filter(([channel]) => member.channels.has(channel))
      if (heard.length === 0) continue
      // One that stands still must not fill the memory of the parent.
      if (member.port.isFull()) {
        member.hasMissed = true
        continue
      }
      if (member.hasMissed) member.calls.missed()
      member.hasMissed = false
      member.calls.hear(heard)
    }
  }

  async #sumUp(): Promise<string> {
    await Promise.all(
      [...this.#members].map(async (member) => {
        // One that is too busy to answer, or has just ended, counts as it was.
        member.figures = await member.calls.figures().catch(() => member.figures)
      }),
    )
    // Whoever has ended meanwhile is in one of the two, not in both.
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

/** Figures that only grow. */
const COUNTS: ReadonlySet<string> = new Set(['counter', 'histogram'])
