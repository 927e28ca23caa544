import { CHANNELS } from '../core/bus.ts'
import { type App, perApp } from '../core/context.ts'
import type { News } from '../core/events.ts'
import { counter, gaugeOf, metricsOf } from '../core/metrics.ts'
import { beaconOf, itemOf, RECOVER } from './grip-items.ts'
import { Publisher } from './grip-publisher.ts'
import { type DiscussionKey, type Head, databaseLog } from './event-log.ts'

/** How often a proxy asks for a held stream again, in case it was never sent an event. */
export const RENEW_SECONDS = 30
/** How long a discussion is compared with the database after a hold of it was answered. */
const WATCH_MS = 2 * RENEW_SECONDS * 1000

type Sender = Pick<Publisher, 'push' | 'size' | 'close'>

interface Watch {
  key: DiscussionKey
  until: number
  /** The position at the last look, announced by now. */
  seq: number
  /** The position up to which beacons were sent. */
  told: number
}

/**
 * Streams that GRIP proxies hold (docs/operations/grip.md). The process that writes an event
 * publishes it to them. If no process has published an event, proxies learn of it from a beacon, or
 * when they ask.
 */
export class Grip {
  readonly #publishers: readonly Sender[]
  readonly #heads: (keys: readonly DiscussionKey[]) => Promise<Head[]>
  readonly #watched = new Map<string, Watch>()

  constructor(publishers: readonly Sender[], heads: (keys: readonly DiscussionKey[]) => Promise<Head[]>) {
    this.#publishers = publishers
    this.#heads = heads
  }

  /** Items that wait for a proxy. */
  get waiting(): number {
    return this.#publishers.reduce((sum, { size }) => sum + size, 0)
  }

  /** Call it only after the commit of the event. */
  publish(key: DiscussionKey, news: News): void {
    this.#push(itemOf(key, news))
  }

  /**
   * Makes held streams ask for missing events: at the start, for those that an earlier process did
   * not publish, and at the stop.
   */
  recover(): void {
    this.#push(RECOVER)
  }

  /** Notes that a stream of the discussion is held at position `seq`. */
  watch(key: DiscussionKey, seq: number, now = Date.now()): void {
    const channel = CHANNELS.discussion(key)
    const watch = this.#watched.get(channel)
    if (watch === undefined) this.#watched.set(channel, { key, until: now + WATCH_MS, seq, told: seq })
    else watch.until = now + WATCH_MS
  }

  /**
   * Sends a beacon for each discussion that has moved on: the process that wrote the event may have
   * died before it published it or learned of the commit. Events since the previous look may still
   * be on their way.
   */
  async repair(now = Date.now()): Promise<void> {
    for (const [channel, { until }] of this.#watched) if (until < now) this.#watched.delete(channel)
    if (this.#watched.size === 0) return
    for (const head of await this.#heads([...this.#watched.values()].map(({ key }) => key))) {
      const watch = this.#watched.get(CHANNELS.discussion(head))
      if (watch === undefined) continue
      if (watch.seq > watch.told) this.#push(beaconOf(head, watch.seq))
      watch.told = watch.seq
      watch.seq = head.seq
    }
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#publishers.map((publisher) => publisher.close(graceMs)))
  }

  #push(item: string): void {
    for (const publisher of this.#publishers) publisher.push(item)
  }
}

/** The publisher to proxies of this process; null without GRIP_URL. */
export const gripOf = perApp((app: App): Grip | null => {
  const { GRIP_URL: urls, GRIP_TOKEN: token } = app.settings
  if (urls === undefined) return null
  const sent = counter(metricsOf(app), 'grip_items_total')
  const onSent = (items: number): void => sent.inc(items)
  const grip = new Grip(
    urls.map((url) => new Publisher({ url, token, log: app.log, onSent })),
    databaseLog(app.db).heads,
  )
  gaugeOf(metricsOf(app), 'grip_items_waiting', () => grip.waiting)
  return grip
})
