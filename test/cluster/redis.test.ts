import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Bus } from '../../src/core/bus.ts'
import { createRedisBus } from '../../src/data/bus/redis.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import {
  hasRedisServer,
  type OwnCluster,
  type OwnSentinels,
  startRedisCluster,
  startSentinels,
} from '../harness/redis.ts'

const PREFIX = 'engagement-test:'
const CHANNELS = Array.from({ length: 30 }, (_, n) => `discussion:${n}`)
const skipped = hasRedisServer ? '' : ' (skipped: needs redis-server)'

/** The bus of a publishing process, and that of one which follows all channels. */
class Pair {
  readonly news = new Map<string, number[]>()
  readonly outages: string[] = []
  gaps = 0
  readonly #publisher: Bus
  readonly #follower: Bus
  #published = 0

  constructor(urls: readonly string[]) {
    const make = (name: string): Bus =>
      createRedisBus({
        urls,
        prefix: PREFIX,
        onDown: ({ message }) => this.outages.push(`${name}: ${message}`),
        onUp: () => undefined,
      })
    this.#publisher = make('publisher')
    this.#follower = make('follower')
    this.#follower.onGap(() => this.gaps++)
  }

  async follow(): Promise<void> {
    await Promise.all(
      CHANNELS.map((channel) => {
        this.news.set(channel, [])
        return this.#follower.subscribe(channel, (message) => this.news.get(channel)?.push(Number(message)))
      }),
    )
  }

  get isUp(): boolean {
    return this.#publisher.isUp() && this.#follower.isUp()
  }

  /** The channels that deliver a message within so many milliseconds. */
  async through(channels: readonly string[], withinMs = 1000): Promise<string[]> {
    const n = ++this.#published
    for (const channel of channels) this.#publisher.publish(channel, String(n))
    const heard = () => channels.filter((channel) => this.news.get(channel)?.includes(n))
    await vi
      .waitFor(() => expect(heard()).toEqual(channels), { timeout: withinMs, interval: 10 })
      .catch(() => undefined)
    return heard()
  }

  async close(): Promise<void> {
    await this.#publisher.close()
    await this.#follower.close()
  }
}

describe.skipIf(!hasRedisServer)(`a Redis Cluster of three nodes${skipped}`, () => {
  let cluster: OwnCluster
  let proxy: Proxy
  let pair: Pair
  let dead: string[]
  let live: string[]

  beforeAll(async () => {
    cluster = await startRedisCluster()
    const [, second] = cluster.nodes
    if (second === undefined) throw new Error('there are too few nodes')
    proxy = await startProxy({ host: '127.0.0.1', port: second.port })
    for (const { command } of cluster.nodes) await command('CONFIG', 'SET', 'cluster-announce-ip', '127.0.0.1')
    await second.command('CONFIG', 'SET', 'cluster-announce-port', String(proxy.port))
    for (const { command } of cluster.nodes) {
      const nodes = async () => String(await command('CLUSTER', 'NODES'))
      await vi.waitFor(async () => expect(await nodes()).toContain(`:${proxy.port}@`), { timeout: 10_000 })
    }
    const nodes = await Promise.all(CHANNELS.map((channel) => cluster.nodeOf(PREFIX + channel)))
    dead = CHANNELS.filter((_channel, n) => nodes[n] === cluster.nodes[1])
    live = CHANNELS.filter((channel) => !dead.includes(channel))
    // The middle one is reached only through the proxy.
    pair = new Pair(cluster.nodes.filter((node) => node !== second).map(({ url }) => url))
    await vi.waitFor(() => expect(pair.isUp).toBe(true), { timeout: 10_000 })
    await pair.follow()
  })
  afterAll(async () => {
    await pair.close()
    await cluster.stop()
    await proxy.close()
  })

  /** For so long, again and again. */
  async function staysLive(channels: readonly string[], forMs: number): Promise<void> {
    for (const until = performance.now() + forMs; performance.now() < until; await pause(50)) {
      expect(await pair.through(channels)).toEqual(channels)
    }
  }
  const isBack = (): Promise<void> =>
    vi.waitFor(
      async () => {
        expect(await pair.through(CHANNELS)).toEqual(CHANNELS)
        expect(pair.isUp).toBe(true)
      },
      { timeout: 10_000 },
    )

  test('a node joins and takes over a slot: the bus stays up', async () => {
    await isBack()
    // A client does not count a node as down within 4 s of its first sight.
    await staysLive(live, 4500)
    const outages = pair.outages.length
    const [channel = ''] = live
    const joining = cluster.join(PREFIX + channel)
    let downs = 0
    const watching = setInterval(() => (downs += pair.isUp ? 0 : 1), 5)
    try {
      const node = await joining
      // Two refreshes of the slots, and two heartbeats.
      for (const until = performance.now() + 8000; performance.now() < until; await pause(100)) {
        await pair.through(CHANNELS, 200)
      }
      const moved = await node.command('PUBSUB', 'SHARDCHANNELS', `${PREFIX}discussion:*`)
      expect(moved).toEqual([PREFIX + channel])
      expect(await pair.through(CHANNELS)).toEqual(CHANNELS)
      expect(downs).toBe(0)
      expect(pair.outages.slice(outages)).toEqual([])
      await node.stop()
      // Its time to connect is over: now it counts as down.
      await vi.waitFor(
        async () => {
          await pair.through(CHANNELS, 20)
          expect(pair.isUp).toBe(false)
        },
        { timeout: 8000 },
      )
      // Each of the two reports it at heartbeats, not at each failed message.
      expect(pair.outages.length - outages).toBeLessThanOrEqual(6)
      await node.start()
      await isBack()
    } finally {
      clearInterval(watching)
    }
  })

  test('a node vanishes silently: channels of the others stay live, and its own are back when it is', async () => {
    await isBack()
    const outages = pair.outages.length
    proxy.silence(true)
    await staysLive(live, 4000)
    expect(await pair.through(dead, 200)).toEqual([])
    expect(pair.isUp).toBe(false)
    // After this, a node answers that does not know the earlier connections.
    proxy.forget()
    proxy.silence(false)
    await isBack()
    expect(pair.outages.length - outages).toBeLessThanOrEqual(4)
  })

  test('a node is killed: its channels are back when it is', async () => {
    await cluster.nodes[1]?.stop()
    // By then the others have marked it as failed.
    await staysLive(live, 2000)
    expect(await pair.through(dead, 200)).toEqual([])
    await vi.waitFor(() => expect(pair.isUp).toBe(false), { timeout: 5000 })
    await cluster.nodes[1]?.start()
    await isBack()
    expect(pair.gaps).toBeGreaterThan(0)
  })
})

describe.skipIf(!hasRedisServer)(`Redis under three sentinels${skipped}`, () => {
  let sentinels: OwnSentinels
  let pair: Pair

  beforeAll(async () => {
    sentinels = await startSentinels()
    pair = new Pair([sentinels.url])
    await vi.waitFor(() => expect(pair.isUp).toBe(true), { timeout: 10_000 })
    await pair.follow()
  })
  afterAll(async () => {
    await pair.close()
    await sentinels.stop()
  })

  test('the primary freezes: the bus is back within 10 s of its replacement', async () => {
    expect(await pair.through(CHANNELS)).toEqual(CHANNELS)
    sentinels.primary.freeze()
    await vi.waitFor(async () => expect(await sentinels.primaryPort()).toBe(sentinels.replica.port), {
      timeout: 20_000,
      interval: 100,
    })
    await vi.waitFor(async () => expect(await pair.through(CHANNELS)).toEqual(CHANNELS), { timeout: 10_000 })
    sentinels.primary.wake()
    expect(pair.gaps).toBeGreaterThan(0)
  })
})
