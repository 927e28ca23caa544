import { setTimeout as pause } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import type { Bus } from '../../src/core/bus.ts'
import { createRedisBus } from '../../src/data/bus/redis.ts'
import { type FakeRedis, startFakeRedis } from '../harness/fake-redis.ts'

const SOON = { timeout: 10_000, interval: 20 }
const HEARTBEAT_MS = 2000

const FORMS = {
  'one Redis': (port: number) => [`redis://127.0.0.1:${port}`],
  sentinels: (port: number) => [`redis+sentinel://127.0.0.1:${port}/engagement`],
  'a cluster': (port: number) => [`redis://127.0.0.1:${port}`, `redis://127.0.0.1:${port}`],
}

/** A bus on a fake Redis, for each test. */
function withBus(urlsOf: (port: number) => string[], prefix = 'test:') {
  let fake: FakeRedis
  let bus: Bus
  let heard: string[]
  let downs: number
  let gaps: number

  beforeEach(async () => {
    ;[heard, downs, gaps] = [[], 0, 0]
    fake = await startFakeRedis()
    bus = createRedisBus({ urls: urlsOf(fake.port), prefix, onDown: () => downs++, onUp: () => undefined })
    bus.onGap(() => gaps++)
    await bus.subscribe('news', (message) => heard.push(message))
    await vi.waitFor(() => expect(bus.isUp()).toBe(true), SOON)
  })
  afterEach(async () => {
    await bus.close()
    await fake.close()
  })
  return {
    fake: () => fake,
    bus: () => bus,
    heard: () => heard,
    told: () => ({ downs, gaps }),
  }
}

describe.each(Object.entries(FORMS))('%s', (form, urlsOf) => {
  const { fake, bus, heard, told } = withBus(urlsOf)

  const connections = (): number =>
    fake().commands.filter((command) => command === 'subscribe' || command === 'ssubscribe').length

  test('a Redis that takes messages and delivers none is an outage, and the connections are opened again', async () => {
    const before = connections()
    fake().script = (command) => (command.endsWith('publish') ? ':1\r\n' : null)
    await vi.waitFor(() => expect(bus().isUp()).toBe(false), SOON)
    await vi.waitFor(() => expect(connections()).toBeGreaterThan(before), SOON)
    expect(told()).toEqual({ downs: 1, gaps: 0 })
    fake().script = null
    // A second one where one of the two connections ends later than the other.
    await vi.waitFor(() => expect([bus().isUp(), told().gaps > 0]).toEqual([true, true]), SOON)
    bus().publish('news', 'back')
    await vi.waitFor(() => expect(heard()).toEqual(['back']), SOON)
  })

  test('a Redis that delivers all but the canaries is an outage', async () => {
    const isCanary = (args: readonly string[]): boolean => args[0]?.includes('canary') === true
    fake().script = (command, args) => (command.endsWith('publish') && isCanary(args) ? ':1\r\n' : null)
    await vi.waitFor(() => {
      bus().publish('news', 'of others')
      expect(bus().isUp()).toBe(false)
    }, SOON)
    expect(heard()).toContain('of others')
  })

  test('at rest a process sends one message, and on a cluster asks for the slots, at each heartbeat', async () => {
    await pause(HEARTBEAT_MS)
    const before = fake().commands.length
    await pause(3 * HEARTBEAT_MS)
    const kinds = new Map<string, number>()
    for (const command of fake().commands.slice(before)) kinds.set(command, (kinds.get(command) ?? 0) + 1)
    const expected = form === 'a cluster' ? ['client', 'cluster', 'spublish'] : ['publish']
    expect([...kinds.keys()].sort()).toEqual(expected)
    expect(Math.max(...kinds.values())).toBeLessThanOrEqual(9)
  })
})

describe('a node of a cluster', () => {
  const { fake, bus, heard, told } = withBus(FORMS['a cluster'])

  test('that ends subscriptions by itself gets them again, without an outage', async () => {
    fake().unsubscribe()
    await vi.waitFor(() => {
      bus().publish('news', 'again')
      expect(heard()).toContain('again')
    }, SOON)
    await vi.waitFor(() => expect([bus().isUp(), told()]).toEqual([true, { downs: 0, gaps: 1 }]), SOON)
  })
})

describe('a prefix in braces, which puts all channels in one slot of a cluster', () => {
  const { bus, heard } = withBus(FORMS['a cluster'], '{test}:')

  test('has a canary in that slot', async () => {
    bus().publish('news', 'one')
    await vi.waitFor(() => expect(heard()).toEqual(['one']), SOON)
  })
})
