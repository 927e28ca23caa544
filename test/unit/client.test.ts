import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest'

import {
  backoffMs,
  type DiscussionStream,
  EVENT_TYPES,
  openDiscussionStream,
  type StreamEvent,
  type StreamOptions,
} from '../../src/clients/browser/stream.ts'
import { EVENT_TYPES as SERVICE_EVENT_TYPES, type EventType } from '../../src/core/events.ts'
import { type FakeSource, nextSource, usePage } from '../harness/page.ts'
import { last } from '../harness/processes.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

const page = usePage()
let stream: DiscussionStream
let seqs: number[]
const ticket = vi.fn<StreamOptions['ticket']>()
const onReload = vi.fn<StreamOptions['onReload']>()
const onState = vi.fn<NonNullable<StreamOptions['onState']>>()
const onError = vi.fn<NonNullable<StreamOptions['onError']>>()

beforeEach(() => {
  seqs = []
  ticket.mockReset().mockImplementation(() => Promise.resolve({ streamUrl: '/stream/d?ticket=t', lastEventId: '7' }))
  onReload.mockReset().mockResolvedValue(undefined)
  onState.mockReset()
  onError.mockReset()
})
afterEach(() => stream.close())

const settle = () => vi.advanceTimersByTimeAsync(0)

async function follow(options: Partial<StreamOptions> = {}): Promise<FakeSource> {
  const onEvent = ({ seq }: StreamEvent) => seqs.push(seq)
  stream = openDiscussionStream({ ticket, onEvent, onReload, onState, onError, ...options })
  await settle()
  return last(page.sources)
}

const next = (): Promise<FakeSource> => nextSource(page)

const states = () => onState.mock.calls.map(([state]) => state)

describe('the shipped module', () => {
  const file = readFileSync(join(import.meta.dirname, '../../dist/clients/browser/stream.js'))
  beforeEach(() => follow())

  test('has at most 3 KB gzipped', () => expect(gzipSync(file).length).toBeLessThanOrEqual(3 * 1024))

  test('imports nothing', () => expect(file.toString()).not.toMatch(/\bimport\b|\brequire\b/))

  test('knows every event of the service', () => {
    expect(EVENT_TYPES).toEqual(SERVICE_EVENT_TYPES)
    expectTypeOf<StreamEvent['type']>().toEqualTypeOf<EventType>()
  })
})

describe('a stream begins', () => {
  test("at the page's position", async () => {
    const source = await follow({ lastEventId: '3' })
    expect(source.url).toBe('https://www.example.com/stream/d?ticket=t&lastEventId=3')
    expect(states()).toEqual(['connecting'])
    source.connected()
    expect(states()).toEqual(['connecting', 'open'])
    expect(stream.state).toBe('open')
  })

  test("at the ticket's, if the page gives none", async () => {
    const source = await follow()
    expect(source.lastEventId).toBe('7')
    expect(stream.lastEventId).toBe('7')
  })

  test('and delivers each kind of event', async () => {
    const source = await follow()
    source.connected()
    EVENT_TYPES.forEach((type, index) => source.event(8 + index, type))
    expect(seqs).toHaveLength(EVENT_TYPES.length)
    expect(stream.lastEventId).toBe(String(7 + EVENT_TYPES.length))
  })
})

describe('a connection that is lost', () => {
  test('is reopened by the browser once the server has answered; it needs no ticket', async () => {
    const source = await follow()
    source.connected()
    source.drop()
    expect(stream.state).toBe('connecting')
    await vi.advanceTimersByTimeAsync(10 * SECOND)
    source.connected()
    source.event(8)
    expect(ticket).toHaveBeenCalledTimes(1)
    expect(page.sources).toHaveLength(1)
    expect(seqs).toEqual([8])
    expect(onError).not.toHaveBeenCalled()
  })

  test.each<[string, (source: FakeSource) => void]>([
    ['before the server answered', (source) => source.drop()],
    ['twice without an answer between', (source) => (source.connected(), source.drop(), source.drop())],
    ['for good, as by an expired ticket', (source) => (source.connected(), source.refuse())],
  ])('%s: continues with a new ticket from its position', async (_name, lose) => {
    const source = await follow()
    source.event(9)
    lose(source)
    expect(source.readyState).toBe(2)
    const again = await next()
    expect(again).not.toBe(source)
    expect(again.lastEventId).toBe('9')
    expect(ticket).toHaveBeenCalledTimes(2)
    expect(onError).toHaveBeenCalledTimes(1)
    source.event(10)
    expect(seqs).toEqual([9])
  })

  test('of a server that sends no first frame is dropped after 30 s', async () => {
    const source = await follow()
    await vi.advanceTimersByTimeAsync(31 * SECOND)
    expect(source.readyState).toBe(2)
    expect(page.sources).toHaveLength(2)
  })

  test('in silence, while the browser reconnects, is dropped after a minute', async () => {
    const source = await follow()
    source.connected()
    source.drop()
    await vi.advanceTimersByTimeAsync(59 * SECOND)
    expect(page.sources).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2 * SECOND)
    expect(page.sources).toHaveLength(2)
  })

  test("after the server's last frame: continues after numbers that were not for this page", async () => {
    const source = await follow()
    source.connected()
    source.event(8)
    source.emit('connection-timeout', { lastEventId: '12' })
    source.refuse()
    expect((await next()).lastEventId).toBe('12')
  })

  test("over a cap waits for the server's `retry:`, and gets its place when one is free", async () => {
    const source = await follow()
    source.emit('connection-timeout', { lastEventId: '99' })
    source.drop()
    await vi.advanceTimersByTimeAsync(45 * SECOND)
    expect(ticket).toHaveBeenCalledTimes(1)
    source.emit('connection-timeout', { lastEventId: null })
    source.drop()
    await vi.advanceTimersByTimeAsync(45 * SECOND)
    source.connected()
    expect(stream.state).toBe('open')
    expect(stream.lastEventId).toBe('7')
    expect(page.sources).toHaveLength(1)
  })
})

describe('attempts', () => {
  test('are spread over 0 to 1, 2, 4, … 30 s', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (failures, chance) => {
        const wait = backoffMs(failures, chance)
        const most = failures < 5 ? SECOND * 2 ** failures : 30 * SECOND
        expect(wait).toBe(chance * most)
      }),
    )
  })

  test('are that far apart, however the ticket fails, and start over after a complete stream', async () => {
    const at: number[] = []
    ticket.mockImplementation(() => {
      at.push(Date.now())
      if (at.length % 2 === 0) throw new Error('no')
      return Promise.reject(new Error('no'))
    })
    stream = openDiscussionStream({ ticket, onEvent: () => undefined, onReload, onError })
    await vi.advanceTimersByTimeAsync(80 * SECOND)
    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0))
    expect(gaps.slice(0, 7)).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000])
    expect(onError).toHaveBeenCalledTimes(at.length)
    ticket.mockResolvedValue({ streamUrl: '/stream/d', lastEventId: '0' })
    await vi.advanceTimersByTimeAsync(15 * SECOND)
    const source = last(page.sources)
    source.connected()
    source.refuse()
    await vi.advanceTimersByTimeAsync(500)
    expect(page.sources).toHaveLength(2)
  })

  test('continue after an invalid ticket, from the position of the first valid one', async () => {
    ticket.mockResolvedValueOnce({ status: 403 } as never)
    stream = openDiscussionStream({ ticket, onEvent: () => undefined, onReload, onError })
    await settle()
    expect(onError.mock.calls).toEqual([[new TypeError('the ticket has no streamUrl')]])
    expect(page.sources).toEqual([])
    expect((await next()).lastEventId).toBe('7')
  })

  test('do not wait for a ticket that never comes', async () => {
    ticket.mockReturnValueOnce(new Promise(() => undefined))
    stream = openDiscussionStream({ ticket, onEvent: () => undefined, onReload, onError })
    await vi.advanceTimersByTimeAsync(31 * SECOND)
    expect(ticket).toHaveBeenCalledTimes(2)
    expect(page.sources).toHaveLength(1)
  })
})

describe('a stream that only seems open', () => {
  test('is reopened after 4 to 6 minutes of silence, only while the page is visible', async () => {
    const source = await follow()
    source.connected()
    page.document.visibilityState = 'hidden'
    await vi.advanceTimersByTimeAsync(20 * MINUTE)
    expect(page.sources).toHaveLength(1)
    page.document.visibilityState = 'visible'
    page.document.emit('visibilitychange')
    await settle()
    expect(page.sources).toHaveLength(2)
    const again = last(page.sources)
    again.connected()
    await vi.advanceTimersByTimeAsync(3 * MINUTE)
    again.event(8)
    await vi.advanceTimersByTimeAsync(3.9 * MINUTE)
    expect(again.readyState).toBe(1)
    await vi.advanceTimersByTimeAsync(2.5 * MINUTE)
    expect(again.readyState).toBe(2)
  })

  test('is reopened when the machine has slept', async () => {
    const source = await follow()
    source.connected()
    vi.setSystemTime(Date.now() + 2 * MINUTE)
    await vi.advanceTimersByTimeAsync(20 * SECOND)
    expect(page.sources).toHaveLength(2)
  })

  test('is reopened with each network, but not while the page is away', async () => {
    const source = await follow()
    source.connected()
    page.window.emit('online')
    await settle()
    expect(source.readyState).toBe(2)
    expect(page.sources).toHaveLength(2)
    page.window.emit('pagehide')
    page.window.emit('online')
    await settle()
    expect(page.sources).toHaveLength(2)
  })

  test.each([
    ['window', 'pagehide', 'pageshow'],
    ['document', 'freeze', 'resume'],
  ] as const)('is put away and taken out again with its page (%s: %s, %s)', async (target, away, back) => {
    const source = await follow()
    source.connected()
    page[target].emit(back)
    await settle()
    expect(page.sources).toHaveLength(1)
    page[target].emit(away)
    expect(source.readyState).toBe(2)
    expect(vi.getTimerCount()).toBe(0)
    page[target].emit(back)
    await settle()
    expect(page.sources).toHaveLength(2)
  })
})

describe('beyond the replay window', () => {
  test('the page loads its data again, and the stream continues after them', async () => {
    let loaded: (lastEventId: string) => void = () => undefined
    onReload.mockReturnValue(new Promise((resolve) => (loaded = resolve)))
    const source = await follow({ lastEventId: '3' })
    source.connected({ complete: false, lastEventId: '5000' })
    source.event(5001)
    expect(onReload.mock.calls).toEqual([['5000']])
    expect(source.readyState).toBe(2)
    await vi.advanceTimersByTimeAsync(10 * SECOND)
    expect(page.sources).toHaveLength(1)
    loaded('5003')
    const again = await next()
    expect(again.lastEventId).toBe('5003')
    again.connected()
    for (const seq of [5003, 5004]) again.event(seq)
    expect(seqs).toEqual([5004])
  })

  test('it continues from now, even backwards, if the page gives no position', async () => {
    const source = await follow({ lastEventId: '900' })
    source.connected({ complete: false, lastEventId: '40' })
    expect((await next()).lastEventId).toBe('40')
  })

  /** For 200 s, each connection begins after events that are lost. */
  async function tellGaps(): Promise<void> {
    for (let n = 0; n < 200; n++) {
      const source = last(page.sources)
      if (source.readyState === 0) source.connected({ complete: false, lastEventId: '5000' })
      await vi.advanceTimersByTimeAsync(SECOND)
    }
  }

  test('a failed reload is repeated, at the pace of attempts', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999)
    onReload.mockRejectedValue(new Error('the page is away'))
    await follow({ lastEventId: '3' })
    await tellGaps()
    // After 1, 3, 7, 15, 31, 61, … s
    expect(onReload.mock.calls.length).toBeGreaterThan(8)
    expect(onReload.mock.calls.length).toBeLessThan(13)
    expect(last(page.sources).lastEventId).toBe('3')
  })

  test('stale data do not cause endless reloads', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999)
    onReload.mockResolvedValue('4')
    await follow({ lastEventId: '3' })
    await tellGaps()
    expect(onReload.mock.calls.length).toBeLessThan(13)
  })
})

describe('a callback', () => {
  const failures: [string, () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('mine')
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ]

  test.each(failures)('of events that %s is reported, and gets the later events', async (_name, fail) => {
    const source = await follow({
      onEvent: ({ seq }) => {
        seqs.push(seq)
        return seq === 8 ? fail() : undefined
      },
    })
    source.connected()
    for (const seq of [8, 9]) source.event(seq)
    await settle()
    expect(seqs).toEqual([8, 9])
    expect(onError.mock.calls).toEqual([[new Error('mine')]])
    expect(page.sources).toHaveLength(1)
  })

  test.each(failures)('of states or errors that %s does no harm', async (_name, fail) => {
    onState.mockImplementation(fail)
    onError.mockImplementation(fail)
    const source = await follow()
    source.connected()
    source.refuse()
    const again = await next()
    again.connected()
    again.event(8)
    expect(seqs).toEqual([8])
  })

  test.each(['ticket', 'onEvent', 'onReload', 'onState', 'onError'] as const)(
    '%s may close the stream, and none is called afterwards',
    async (name) => {
      let calls = 0
      const close = (): never => {
        calls++
        stream.close()
        throw new Error('mine')
      }
      const none = () => undefined
      const quiet = { ticket, onEvent: none, onReload: none, onState: none, onError: none }
      // The first ticket and state come before there is a stream to close.
      const ways: Record<typeof name, Partial<StreamOptions>> = {
        ticket: { ticket: () => Promise.resolve().then(close) },
        onEvent: { onEvent: close },
        onReload: { onReload: close },
        onState: { onState: (state) => (state === 'open' ? close() : undefined) },
        onError: { onError: close },
      }
      stream = openDiscussionStream({ ...quiet, ...ways[name] })
      await settle()
      const [source] = page.sources
      source?.connected(name === 'onReload' ? { complete: false, lastEventId: '9' } : {})
      for (const seq of [8, 9]) source?.event(seq)
      if (name === 'onError') source?.refuse()
      page.window.emit('online')
      await vi.advanceTimersByTimeAsync(10 * MINUTE)
      expect(calls).toBe(1)
      expect(stream.state).toBe('closed')
      expect(page.sources).toHaveLength(name === 'ticket' ? 0 : 1)
    },
  )
})

test('a stream that is closed while it waits for a ticket opens nothing', async () => {
  let give: (answer: { streamUrl: string; lastEventId: string }) => void = () => undefined
  ticket.mockReturnValue(new Promise((resolve) => (give = resolve)))
  stream = openDiscussionStream({ ticket, onEvent: () => undefined, onReload, onState })
  stream.close()
  stream.close()
  give({ streamUrl: '/stream/d', lastEventId: '0' })
  await settle()
  expect(page.sources).toEqual([])
  expect(states()).toEqual(['connecting', 'closed'])
})

/** What a transport may do to a connection that is replayed from its position. */
const misdeed = fc.oneof(
  fc.record({ kind: fc.constant('deliver' as const), count: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant('repeat' as const), back: fc.integer({ min: 1, max: 12 }) }),
  fc.record({
    kind: fc.constantFrom('drop', 'refuse', 'online', 'freeze', 'goodbye', 'wait', 'refuseTicket', 'late'),
  }),
)

test('whatever the transport does, each event is delivered once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(misdeed, { maxLength: 60 }), async (misdeeds) => {
      const received: number[] = []
      const begun = page.sources.length
      await follow({ lastEventId: '0', onEvent: ({ seq }) => received.push(seq) })
      let heard: { source: FakeSource; at: number } | undefined
      let old: FakeSource | undefined
      /** The present connection, answered by the service from its position. */
      const connection = async () => {
        while (last(page.sources).readyState === 2 || page.sources.length === begun) {
          await vi.advanceTimersByTimeAsync(SECOND)
        }
        const source = last(page.sources)
        if (heard?.source !== source) {
          old = heard?.source
          heard = { source, at: Number(source.lastEventId) }
        }
        if (source.readyState === 0) source.connected()
        return heard
      }
      for (const each of misdeeds) {
        const now = await connection()
        if (each.kind === 'deliver') for (let n = 0; n < each.count; n++) now.source.event(++now.at)
        else if (each.kind === 'repeat') for (let n = each.back; n >= 0; n--) now.source.event(Math.max(1, now.at - n))
        else if (each.kind === 'drop') now.source.drop()
        else if (each.kind === 'refuse') now.source.refuse()
        else if (each.kind === 'online') page.window.emit('online')
        else if (each.kind === 'goodbye') now.source.emit('connection-timeout', { lastEventId: String(now.at) })
        else if (each.kind === 'wait') await vi.advanceTimersByTimeAsync(MINUTE)
        else if (each.kind === 'late') old?.event(now.at + 5)
        else if (each.kind === 'refuseTicket') ticket.mockRejectedValueOnce(new Error('no'))
        else for (const name of ['freeze', 'resume']) page.document.emit(name)
        await settle()
      }
      const end = await connection()
      end.source.event(++end.at)
      expect(received).toEqual(Array.from({ length: end.at }, (_, index) => index + 1))
      stream.close()
    }),
    { numRuns: 300 },
  )
})
