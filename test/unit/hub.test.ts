import { setImmediate, setTimeout } from 'node:timers/promises'

import fc from 'fast-check'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import type { Bus } from '../../src/core/bus.ts'
import { type Audience, encodeNews, type News } from '../../src/core/events.ts'
import { newId } from '../../src/core/ids.ts'
import type { Batch } from '../../src/live/streams/batch.ts'
import { isVisible, type StreamViewer } from '../../src/live/viewer.ts'
import { Hub } from '../../src/live/hub.ts'
import type { EventLog } from '../../src/live/event-log.ts'
import type { Seat, Sink } from '../../src/live/seat.ts'
import { effort } from '../harness/effort.ts'
import { SILENT } from '../harness/log.ts'
import { randomOf } from '../harness/random.ts'

const TENANT = newId()
const DISCUSSION = newId()
const KEY = { tenantId: TENANT, discussionId: DISCUSSION }
const READERS = [newId(), newId()]
const WINDOW = { replayHours: 24, replayEvents: 10_000 }
const ENDLESS = { end: () => undefined }

interface World {
  hub: Hub
  events: News[]
  /** Writes an event to the log and publishes it, more or less reliably. */
  commit(audience?: Audience, recipientId?: string | null): void
  subscriptions: () => number
  failures: { database: number }
  /** How often the database was asked for events. */
  reads(): number
  /** Changes the text of a stored event, as an erasure does, without a message. */
  rewrite(seq: number, text: string): void
}

interface Weather {
  chance: () => number
  lose: number
  double: number
  delay: number
  fail: number
  /** How long events gather after each write. */
  pauseMs: () => number
}

const CLEAR: Weather = { chance: () => 1, lose: 0, double: 0, delay: 0, fail: 0, pauseMs: () => 5 }

const turns = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await setImmediate()
}

/** A hub on a log in memory, and a bus that loses, doubles and delays messages at random. */
function createWorld({ chance, lose, double, delay, fail, pauseMs }: Weather = CLEAR): World {
  const events: News[] = []
  const listeners = new Set<(message: string) => void>()
  const send = (message: string): void => {
    // Some messages are only a little late, others come long after the database was asked for
    // their events.
    const late =
      chance() < delay ? (chance() < 0.3 ? setTimeout(chance() * 60) : turns(Math.floor(chance() * 12))) : turns(0)
    void late.then(() => listeners.forEach((listener) => listener(message)))
  }
  const bus: Bus = {
    publish: (_channel, message) => {
      if (chance() >= lose) send(message)
      if (chance() < double) send(message)
    },
    subscribe: async (_channel, listener) => {
      await turns(Math.floor(chance() * 3))
      const own = (message: string): void => listener(message)
      listeners.add(own)
      return () => listeners.delete(own)
    },
    onGap: () => () => undefined,
    isUp: () => true,
    close: () => Promise.resolve(),
  }
  const failures = { database: 0 }
  const rewritten = { times: 0 }
  let reads = 0
  const answer = async <T>(read: () => T): Promise<T> => {
    await turns(Math.floor(chance() * 4))
    if (chance() < fail) {
      failures.database++
      throw new Error('the database is away')
    }
    const result = read()
    await (chance() < 0.3 ? setTimeout(chance() * 20) : turns(Math.floor(chance() * 4)))
    return result
  }
  const database: EventLog = {
    heads: (keys) => answer(() => keys.map((key) => ({ ...key, seq: events.length, scrubs: rewritten.times }))),
    events: (_key, { after, upTo }, viewer, limit) =>
      answer(() => {
        reads++
        return events
          .slice(after, upTo)
          .filter((event) => viewer === null || isVisible(event, viewer))
          .slice(0, limit)
      }),
    missed: (_key, { after, upTo }, viewer) =>
      answer(() => {
        reads++
        const visible = events.slice(after, upTo).filter((event) => isVisible(event, viewer))
        return { visible: visible.length, firstAt: visible.length > 0 ? new Date() : null, isWhole: true }
      }),
  }
  const hub = new Hub({
    bus,
    events: database,
    live: () => Promise.resolve([]),
    log: SILENT,
    registry: new Registry(),
    repairMs: 20,
    pause: {
      get ms() {
        return pauseMs()
      },
      count: () => undefined,
    },
  })
  return {
    hub,
    events,
    failures,
    reads: () => reads,
    rewrite(seq, text) {
      events.splice(seq - 1, 1, { ...(events[seq - 1] as News), json: text })
      rewritten.times++
    },
    subscriptions: () => listeners.size,
    commit(audience = 'public', recipientId = null) {
      const seq = events.length + 1
      const news: News = { seq, type: 'comment_created', audience, recipientId, json: `{"seq":${seq},"data":{}}` }
      events.push(news)
      bus.publish('', encodeNews([news]))
    },
  }
}

class Listener implements Sink {
  readonly seqs: number[] = []
  readonly chance: () => number
  constructor(chance: () => number = () => 0) {
    this.chance = chance
  }
  get isFull(): boolean {
    return this.chance() > 0.7
  }
  deliver({ frames }: Batch): void {
    for (const { seq, bytes } of frames) {
      expect(bytes.toString()).toBe(`id: ${seq}\nevent: comment_created\ndata: {"seq":${seq},"data":{}}\n\n`)
      this.seqs.push(seq)
    }
  }
  ready(): Promise<void> {
    return turns(Math.floor(this.chance() * 3))
  }
}

const hubs: Hub[] = []
const open = (weather?: Weather): World => {
  const world = createWorld(weather)
  hubs.push(world.hub)
  return world
}

afterEach(async () => {
  await Promise.all(hubs.splice(0).map((hub) => hub.close({ graceMs: 0 })))
})

const join = (world: World, lastEventId: string | null, viewer: StreamViewer = { kind: 'tenant' }) =>
  world.hub.join({ ...KEY, stream: ENDLESS, viewer, lastEventId, window: WINDOW })

test('whatever the bus loses, doubles and reorders, each stream sees each event of its audience once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.constantFrom(0, 0.3, 1), fc.constantFrom(0, 0.1), async (seed, lose, fail) => {
      const chance = randomOf(seed)
      const pauseMs = (): number => (chance() < 0.5 ? 5 : chance() * 60)
      const world = open({ chance, lose, double: 0.3, delay: 0.5, fail, pauseMs })
      const streams: { viewer: StreamViewer; listener: Listener; from: number; seat: Seat; leftAt: number | null }[] =
        []
      const viewers: StreamViewer[] = [
        { kind: 'tenant' },
        { kind: 'public', readerId: null },
        ...READERS.map((readerId): StreamViewer => ({ kind: 'public', readerId })),
      ]
      const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T
      const joining: Promise<void>[] = []
      const someoneJoins = async (): Promise<void> => {
        const viewer = pick(viewers)
        const after = chance() < 0.3 ? null : String(Math.floor(chance() * (world.events.length + 1)))
        for (;;) {
          try {
            const { seat, lastEventId, complete } = await join(world, after, viewer)
            if (after !== null) expect({ complete, lastEventId }).toEqual({ complete: true, lastEventId: after })
            const listener = new Listener(chance)
            await turns(Math.floor(chance() * 5))
            seat.start(listener)
            streams.push({ viewer, listener, from: Number(lastEventId), seat, leftAt: null })
            return
          } catch (error) {
            expect(error).toMatchObject({ message: 'the database is away' })
          }
        }
      }
      for (let step = 0; step < 120; step++) {
        const dice = chance()
        if (dice < 0.6) {
          const audience = pick<Audience>(['public', 'public', 'tenant', 'recipient', 'own'])
          const isToOne = audience === 'public' ? chance() < 0.3 : audience !== 'tenant'
          world.commit(audience, isToOne ? pick(READERS) : null)
        } else if (dice < 0.75) joining.push(someoneJoins())
        else if (dice < 0.8) {
          const stream = pick(streams)
          if (stream !== undefined && stream.leftAt === null) {
            stream.leftAt = stream.seat.position
            stream.seat.leave()
          }
        }
        if (chance() < 0.5) await (chance() < 0.2 ? setTimeout(chance() * 20) : turns(Math.floor(chance() * 4)))
      }
      await Promise.all(joining)
      await vi.waitFor(() => {
        for (const { viewer, listener, from, leftAt } of streams) {
          const wanted = world.events
            .filter((event) => event.seq > from && isVisible(event, viewer))
            .map(({ seq }) => seq)
          const seen = listener.seqs
          if (leftAt === null) expect(seen).toEqual(wanted)
          else expect(seen).toEqual(wanted.filter((seq) => seq <= leftAt))
        }
      })
      await world.hub.close({ graceMs: 0 })
    }),
    { numRuns: effort(40, 8) },
  )
})

describe('joining', () => {
  test.each<[string | null, complete: boolean]>([
    [null, true],
    ...['nonsense', '-1', '1e3', '99', '0x1', ' 1'].map((id): [string, boolean] => [id, false]),
  ])('at the position %j begins with the next event, and is complete: %s', async (id, complete) => {
    const world = open()
    world.commit()
    const { seat, ...beginning } = await join(world, id)
    expect(beginning).toEqual({ lastEventId: '1', replayed: 0, complete })
    const listener = new Listener()
    seat.start(listener)
    world.commit()
    await vi.waitFor(() => expect(listener.seqs).toEqual([2]))
  })

  test('counts in `replayed` only what the viewer may see', async () => {
    const world = open()
    world.commit('public')
    world.commit('tenant')
    world.commit('recipient', READERS[0] ?? null)
    expect(await join(world, '0', { kind: 'public', readerId: null })).toMatchObject({ replayed: 1 })
    expect(await join(world, '0', { kind: 'public', readerId: READERS[0] ?? null })).toMatchObject({ replayed: 2 })
    expect(await join(world, '0')).toMatchObject({ replayed: 3 })
    world.commit('own', READERS[0] ?? null)
    world.commit('public', READERS[0] ?? null)
    expect(await join(world, '0', { kind: 'public', readerId: READERS[0] ?? null })).toMatchObject({ replayed: 3 })
    expect(await join(world, '0', { kind: 'public', readerId: READERS[1] ?? null })).toMatchObject({ replayed: 2 })
    expect(await join(world, '0')).toMatchObject({ replayed: 4 })
  })

  test('with a position that this process does not know yet asks the database', async () => {
    const world = open({ ...CLEAR, chance: () => 0.5, lose: 1 })
    await join(world, null)
    world.commit()
    expect(await join(world, '1')).toMatchObject({ lastEventId: '1', complete: true, replayed: 0 })
  })

  test.each([12, 2000])('of %i hidden events none counts in the window', async (count) => {
    const world = open()
    for (let n = 0; n < count; n++) world.commit('tenant')
    world.commit()
    const window = { replayHours: 24, replayEvents: 10 }
    const viewer: StreamViewer = { kind: 'public', readerId: null }
    expect(await world.hub.join({ ...KEY, stream: ENDLESS, viewer, lastEventId: '0', window })).toMatchObject({
      complete: true,
      replayed: 1,
    })
  })

  test('beyond the window is incomplete', async () => {
    const world = open()
    for (let n = 0; n < 12; n++) world.commit()
    const window = { replayHours: 24, replayEvents: 10 }
    const joinAt = (lastEventId: string) =>
      world.hub.join({ ...KEY, stream: ENDLESS, viewer: { kind: 'tenant' }, lastEventId, window })
    expect(await joinAt('1')).toMatchObject({ complete: false, lastEventId: '12' })
    expect(await joinAt('2')).toMatchObject({ complete: true, replayed: 10 })
  })
})

describe('events that an erasure has rewritten', () => {
  const textsOf = async (world: World): Promise<string[]> => {
    const { seat } = await join(world, '0')
    const texts: string[] = []
    seat.start({
      isFull: false,
      deliver: ({ frames }) => void texts.push(...frames.map(({ json }) => json)),
      ready: () => Promise.resolve(),
    })
    await vi.waitFor(() => expect(texts).toHaveLength(world.events.length))
    seat.leave()
    return texts
  }

  test('are replayed in their new form, once the hub is notified', async () => {
    const world = open()
    const { seat } = await join(world, null)
    const listener = new Listener()
    seat.start(listener)
    for (let n = 0; n < 3; n++) world.commit()
    await vi.waitFor(() => expect(listener.seqs).toEqual([1, 2, 3]))
    world.rewrite(2, '{"blank":2}')
    world.hub.forgetEvents(newId())
    world.hub.forgetEvents(TENANT)
    expect(await textsOf(world)).toEqual(['{"seq":1,"data":{}}', '{"blank":2}', '{"seq":3,"data":{}}'])
  })

  test('are replayed in their new form within the repair interval, if the message is lost', async () => {
    const world = open()
    const { seat } = await join(world, null)
    const listener = new Listener()
    seat.start(listener)
    for (let n = 0; n < 3; n++) world.commit()
    await vi.waitFor(() => expect(listener.seqs).toEqual([1, 2, 3]))
    world.rewrite(1, '{"blank":1}')
    await vi.waitFor(async () =>
      expect(await textsOf(world)).toEqual(['{"blank":1}', '{"seq":2,"data":{}}', '{"seq":3,"data":{}}']),
    )
    world.commit()
    await vi.waitFor(() => expect(listener.seqs).toEqual([1, 2, 3, 4]))
  })
})

test('the topic of a discussion without listeners is dropped, with its subscription', async () => {
  const world = open()
  const { seat } = await join(world, null)
  expect(world.subscriptions()).toBe(1)
  seat.leave()
  await vi.waitFor(() => expect(world.hub.topicCount).toBe(0))
  expect(world.subscriptions()).toBe(0)
})

test('a slow replay of 10 000 events joins the live ones without a gap', async () => {
  const world = open()
  for (let n = 0; n < 10_000; n++) world.commit()
  const { seat, replayed } = await join(world, '0')
  expect(replayed).toBe(10_000)
  const listener = new Listener(() => 0.5)
  seat.start(listener)
  for (let n = 0; n < 500; n++) {
    world.commit()
    if (n % 10 === 0) await setImmediate()
  }
  await vi.waitFor(() => expect(listener.seqs).toEqual(world.events.map(({ seq }) => seq)))
})

test('a storm of returning clients is served from memory, with a handful of reads', async () => {
  const world = open()
  for (let n = 0; n < 200; n++) world.commit()
  const listeners = await Promise.all(
    Array.from({ length: effort(5000, 1000) }, async (_, n) => {
      const viewer: StreamViewer = n % 2 === 0 ? { kind: 'tenant' } : { kind: 'public', readerId: null }
      // Some have got a later position from another process.
      const after = n % 7 === 0 ? 200 : 100 + (n % 90)
      const { seat, complete, replayed } = await join(world, String(after), viewer)
      expect({ complete, replayed }).toEqual({ complete: true, replayed: 200 - after })
      const seqs: number[] = []
      const deliver = ({ frames }: Batch): void => frames.forEach(({ seq }) => seqs.push(seq))
      seat.start({ isFull: false, deliver, ready: () => Promise.resolve() })
      return { seqs, after }
    }),
  )
  world.commit()
  await vi.waitFor(() => expect(listeners.every(({ seqs }) => seqs.at(-1) === 201)).toBe(true))
  for (const { seqs, after } of listeners) {
    expect(seqs).toEqual(Array.from({ length: 201 - after }, (_, index) => after + 1 + index))
  }
  expect(world.reads()).toBeLessThanOrEqual(3)
})

describe('while events gather', () => {
  // The pause lasts until the clock is advanced.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test('those close together go out in one write; a single one goes out at once', async () => {
    const world = open()
    const { seat } = await join(world, null)
    const sizes: number[] = []
    const deliver = ({ frames }: Batch): void => void sizes.push(frames.length)
    seat.start({ isFull: false, deliver, ready: () => Promise.resolve() })
    world.commit()
    await turns(3)
    expect(sizes).toEqual([1])
    for (let n = 0; n < 16; n++) world.commit()
    await turns(3)
    expect(sizes).toEqual([1])
    vi.advanceTimersByTime(5)
    expect(sizes).toEqual([1, 16])
    seat.leave()
  })

  test('joining clients get each event once, and do not end the pause of the others', async () => {
    const world = open({ ...CLEAR, pauseMs: () => 50 })
    const writes: number[][] = []
    const { seat } = await join(world, null)
    const deliver = ({ frames }: Batch): void => void writes.push(frames.map(({ seq }) => seq))
    seat.start({ isFull: false, deliver, ready: () => Promise.resolve() })
    for (let n = 0; n < 3; n++) {
      world.commit()
      await turns(30)
    }
    expect(seat.position).toBe(1)
    const joined = await Promise.all(
      ['0', '1', '2', '3', null].map(async (lastEventId) => {
        const listener = new Listener()
        const late = await join(world, lastEventId)
        late.seat.start(listener)
        return { listener, late: late.seat, after: Number(lastEventId ?? 3) }
      }),
    )
    await turns(30)
    const heard = (): number[][] => joined.map(({ listener }) => listener.seqs)
    expect(heard()).toEqual([[1, 2, 3], [2, 3], [3], [], []])
    expect(joined.map(({ late }) => late.position)).toEqual([3, 3, 3, 3, 3])
    world.commit()
    await turns(30)
    expect(writes).toEqual([[1]])
    vi.advanceTimersByTime(50)
    await turns(30)
    expect(writes).toEqual([[1], [2, 3, 4]])
    expect(heard()).toEqual([[1, 2, 3, 4], [2, 3, 4], [3, 4], [4], [4]])
    world.commit()
    await turns(30)
    vi.advanceTimersByTime(50)
    expect(writes).toEqual([[1], [2, 3, 4], [5]])
    expect(heard()).toEqual([
      [1, 2, 3, 4, 5],
      [2, 3, 4, 5],
      [3, 4, 5],
      [4, 5],
      [4, 5],
    ])
  })

  test('no event waits longer than the pause, and one after a pause does not wait', async () => {
    const world = open({ ...CLEAR, pauseMs: () => 50 })
    const { seat } = await join(world, null)
    let now = 0
    const pass = (ms: number): void => {
      for (const until = now + ms; now < until;) {
        now++
        vi.advanceTimersByTime(1)
      }
    }
    const committedAt: number[] = []
    const waits: number[] = []
    const deliver = ({ frames }: Batch): void =>
      frames.forEach(({ seq }) => waits.push(now - Number(committedAt[seq - 1])))
    seat.start({ isFull: false, deliver, ready: () => Promise.resolve() })
    for (const waitMs of [0, 20, 20, 20, 20, 1, 1, 200, 49, 1, 50, 51, 7]) {
      pass(waitMs)
      committedAt.push(now)
      world.commit()
      await turns(30)
    }
    pass(50)
    expect(waits).toEqual([0, 30, 10, 40, 20, 19, 18, 0, 1, 50, 50, 49, 42])
  })
})

test('the hub ends every session at a shutdown, and refuses new ones', async () => {
  const { hub } = open()
  const end = vi.fn()
  const session = { tenantId: TENANT, credential: null, endsAt: Infinity, end }
  for (let n = 0; n < 4; n++) hub.sessions.enter({ ...session })
  const endAll = vi.spyOn(hub.sessions, 'endAll')
  await hub.close({ graceMs: 8 })
  expect(endAll.mock.calls).toEqual([[8]])
  expect(end).toHaveBeenCalledTimes(4)
  expect(() => hub.sessions.enter(session)).toThrow(expect.objectContaining({ code: 'unavailable' }))
})

test('a replay to a client that is always ready yields to others after each piece', async () => {
  const world = open()
  const long = 'x'.repeat(70_000)
  for (let n = 1; n <= 12; n++) {
    world.commit()
    world.rewrite(n, JSON.stringify(long))
  }
  let others = 0
  const seen: number[] = []
  let isOver = false
  const work = async (): Promise<void> => {
    while (!isOver) {
      await setImmediate()
      others++
    }
  }
  const sink: Sink = {
    isFull: false,
    ready: () => Promise.resolve(),
    deliver: ({ frames }) => void seen.push(...frames.map(() => others)),
  }
  const { seat } = await join(world, '0')
  const working = work()
  seat.start(sink)
  await vi.waitFor(() => expect(seen).toHaveLength(12))
  isOver = true
  await working
  // Each piece is one event; something else ran between any two.
  expect(new Set(seen).size).toBe(12)
  seat.leave()
})
