import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Limits } from '../../src/core/limits.ts'
import { newId } from '../../src/core/ids.ts'
import type { StreamPlaces } from '../../src/core/stream-places.ts'
import { createRedisBus } from '../../src/data/bus/redis.ts'
import { createRedisLimits } from '../../src/data/limits/redis.ts'
import { createRedisPlaces } from '../../src/data/places/redis.ts'
import { type FakeRedis, startFakeRedis } from '../harness/fake-redis.ts'

/** Messages that the bus lost come from the database within this time. */
const SOON = { timeout: 5000, interval: 20 }
/** A heartbeat, and more: so that a fault is seen by all that comes regularly. */
const FAULT_MS = 2500
const PREFIX = 'engagement-test:'

const ERRORS = [
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'NOAUTH Authentication required.',
  'NOPERM this user has no permissions to run this command',
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  'MOVED 3999 127.0.0.1:1',
  'MOVED',
  'MOVED 3999',
  'ASK',
  'ASK 3999 127.0.0.1:1',
  'OOM command not allowed when used memory is larger than maxmemory',
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  'ERR junk',
].map((text) => `-${text}\r\n`)
const JUNK = [
  '$-1\r\n',
  '*-1\r\n',
  '*0\r\n',
  ':7\r\n',
  '+?\r\n',
  '*1\r\n*0\r\n',
  '*3\r\n$-1\r\n$-1\r\n$-1\r\n',
  'HTTP/1.1 400\r\n',
]
const REPLIES = [...ERRORS, ...JUNK]

/** How REDIS_URL names the fake, and the commands that each form sends. */
const FORMS = {
  'one Redis': {
    urls: (port: number) => [`redis://user:secret@127.0.0.1:${port}/3`],
    commands: ['auth', 'select', 'client', 'subscribe', 'unsubscribe', 'publish', 'evalsha', 'eval'],
  },
  sentinels: {
    urls: (port: number) => [`redis+sentinel://127.0.0.1:${port}/engagement`],
    commands: ['sentinel', 'client', 'info', 'subscribe', 'publish', 'eval'],
  },
  'a cluster': {
    urls: (port: number) => [`redis://:secret@127.0.0.1:${port}`, `redis://:secret@127.0.0.1:${port}`],
    commands: ['auth', 'cluster', 'client', 'ssubscribe', 'sunsubscribe', 'spublish', 'asking', 'eval'],
  },
}

/** What a process has of Redis. */
class Clients {
  readonly heard: string[] = []
  downs = 0
  ups = 0
  gaps = 0
  readonly bus
  readonly limits: Limits
  readonly places: StreamPlaces
  #sent = 0

  constructor(urls: readonly string[]) {
    const onDown = () => this.downs++
    this.bus = createRedisBus({ urls, prefix: PREFIX, onDown, onUp: () => this.ups++ })
    this.bus.onGap(() => this.gaps++)
    this.limits = createRedisLimits({ urls, prefix: PREFIX })
    this.places = createRedisPlaces({ urls, prefix: PREFIX, renewMs: 500 })
    void this.bus.subscribe('news', (message) => this.heard.push(message))
  }

  /** As the requests and the probe of a process do. */
  async use(): Promise<void> {
    this.bus.publish('news', String(++this.#sent))
    const leave = await this.bus.subscribe(`other:${this.#sent}`, () => undefined)
    leave()
    await this.limits.takeExactly('address', newId(), { perSecond: 10, burst: 10 })
    const giveBack = await this.places.take({ tenantId: newId(), perTenant: 10, quotas: [] })
    expect(giveBack).not.toBe(null)
    giveBack?.()
  }

  /** Everything works: a message arrives that was sent after this was asked. */
  async works(): Promise<void> {
    await vi.waitFor(() => {
      this.bus.publish('news', `probe ${++this.#sent}`)
      expect([this.bus.isUp(), this.heard.includes(`probe ${this.#sent - 1}`)]).toEqual([true, true])
    }, SOON)
  }

  async close(): Promise<void> {
    this.limits.close()
    await this.places.close()
    await this.bus.close()
  }
}

const uncaught: unknown[] = []
const note = (error: unknown): void => void uncaught.push(error)
const warn = vi.spyOn(console, 'warn')

beforeAll(() => {
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
  warn.mockImplementation(() => undefined)
})
afterAll(() => {
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
  warn.mockRestore()
})

type Moment = 'from the start' | 'on open connections' | 'on reconnection'

/** One reply to one command for a while, from a moment on. */
async function expectRecovery(urlsOf: (port: number) => string[], command: string, reply: string, moment: Moment) {
  const fake: FakeRedis = await startFakeRedis()
  const harm = () => (fake.script = (asked) => (asked === command ? reply : null))
  if (moment === 'from the start') harm()
  const clients = new Clients(urlsOf(fake.port))
  let downsBefore = 0
  try {
    if (moment !== 'from the start') {
      await clients.works()
      // A process that is starved may begin with one.
      downsBefore = clients.downs
      harm()
      if (moment === 'on reconnection') fake.cut()
    }
    const until = performance.now() + FAULT_MS
    while (performance.now() < until) {
      await clients.use()
      await pause(200)
    }
    fake.script = null
    await clients.works()
    // What cannot be read ends the connection, each time that it is asked for.
    if (!/^(\*|[^-$:+])/.test(reply)) expect(clients.downs - downsBefore).toBeLessThanOrEqual(1)
    await vi.waitFor(() => {
      expect(clients.ups).toBe(clients.downs)
      if (clients.downs > 0) expect(clients.gaps).toBeGreaterThan(0)
    }, SOON)
  } catch (error) {
    const what = `${command} is answered ${JSON.stringify(reply)} ${moment}`
    throw new Error(`${what}: ${(error as Error).message}`, { cause: error })
  } finally {
    await clients.close()
    await fake.close()
  }
}

/** So many at once: each mostly waits, but a cluster client gives up what takes a second. */
const AT_ONCE = 6

async function each<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...all]
  const failures: unknown[] = []
  const work = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      await run(one).catch((error: unknown) => failures.push((error as Error).message))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  expect(failures).toEqual([])
}

const MOMENTS: readonly Moment[] = ['from the start', 'on open connections', 'on reconnection']

/** Every so manieth case: all take a quarter of an hour. `TEST_EFFORT=full` runs all. */
const STEP = process.env.TEST_EFFORT === 'full' ? 1 : 8

describe.each(Object.entries(FORMS))('%s', (_form, { urls, commands }) => {
  test.each(MOMENTS.map((moment, n) => ({ moment, n })))(
    'any reply to any command $moment is one outage, and all works within 5 s of its end',
    { timeout: 600_000 },
    async ({ moment, n }) => {
      const cases = commands.flatMap((command) => REPLIES.map((reply) => ({ command, reply })))
      const tried = cases.filter((_case, index) => (index + 3 * n) % STEP === 0)
      await each(tried, ({ command, reply }) => expectRecovery(urls, command, reply, moment))
      expect(uncaught).toEqual([])
    },
  )
})
