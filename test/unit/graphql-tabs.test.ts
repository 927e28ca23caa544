import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { share } from '../../src/clients/graphql/tabs.ts'
import type { FollowSink } from '../../src/clients/graphql/follow.ts'

const REQUEST = { query: 'subscription { discussionEvents { seq } }', variables: { lastEventId: '0' } }
const event = (seq: number) => ({ data: { discussionEvents: { seq } } })

/** A tab, and the connection that it has by itself. */
function openTab() {
  const seqs: number[] = []
  const states: string[] = []
  let own: FollowSink | undefined
  const follow = (_request: object, sink: FollowSink) => {
    own = sink
    return () => (own = undefined)
  }
  const next = ({ data }: { data?: object | null }) =>
    seqs.push((data as ReturnType<typeof event>['data']).discussionEvents.seq)
  const close = share(follow, async () => 'name', REQUEST, {
    next,
    error: () => undefined,
    complete: () => undefined,
    state: (state) => states.push(state),
  })
  return { seqs, states, close, own: () => own }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a tab whose browser has no locks goes on by itself after each event', () => {
  vi.stubGlobal('navigator', {})
  const tab = openTab()
  for (const seq of [1, 2]) tab.own()?.next(event(seq))
  expect(tab.seqs).toEqual([1, 2])
  tab.close()
  expect(tab.own()).toBeUndefined()
})

test('a tab that hears nothing of the leader goes on by itself until it hears of it again', async () => {
  let hear: ((message: { data: object }) => void) | undefined
  class Channel {
    addEventListener(_name: string, listener: typeof hear) {
      hear = listener
    }
    postMessage() {}
    close() {}
  }
  vi.stubGlobal('BroadcastChannel', Channel)
  // The lock is another tab's.
  vi.stubGlobal('navigator', { locks: { request: () => new Promise(() => undefined) } })
  const tab = openTab()
  await vi.advanceTimersByTimeAsync(0)
  hear?.({ data: { at: 0, result: event(1) } })
  expect(tab.own()).toBeUndefined()
  await vi.advanceTimersByTimeAsync(80_000)
  for (const seq of [2, 3]) tab.own()?.next(event(seq))
  expect(tab.seqs).toEqual([1, 2, 3])
  hear?.({ data: { at: 3 } })
  expect(tab.own()).toBeUndefined()
  tab.close()
})

/** Channels that deliver at once, and one lock that the tabs get in turn. */
function stubBrowser(): void {
  const open = new Set<{ listener: ((message: { data: object | null }) => void) | undefined }>()
  class Channel {
    listener: ((message: { data: object | null }) => void) | undefined
    constructor() {
      open.add(this)
    }
    addEventListener(_name: string, listener: typeof this.listener) {
      this.listener = listener
    }
    postMessage(data: object | null) {
      for (const other of open) if (other !== this) other.listener?.({ data: structuredClone(data) })
    }
    close() {
      open.delete(this)
    }
  }
  let lock: Promise<unknown> = Promise.resolve()
  const request = (_name: string, _options: object, run: () => Promise<void>) => (lock = lock.then(run))
  vi.stubGlobal('BroadcastChannel', Channel)
  vi.stubGlobal('navigator', { locks: { request } })
}

test('a tab whose leader has loaded its page again loads its own again, and misses nothing', async () => {
  stubBrowser()
  const [leader, other] = [openTab(), openTab()]
  await vi.advanceTimersByTimeAsync(0)
  leader.own()?.next(event(1))
  expect(other.seqs).toEqual([1])
  expect(other.own()).toBeUndefined()
  // Both have slept; what came until 100 is not replayed.
  leader.own()?.reloaded?.(100)
  leader.own()?.next(event(101))
  expect(other.seqs).toEqual([1])
  other.own()?.reloaded?.(100)
  other.own()?.next(event(101))
  expect(other.own()).toBeUndefined()
  leader.own()?.next(event(102))
  expect([leader.seqs, other.seqs]).toEqual([
    [1, 101, 102],
    [1, 101, 102],
  ])
  leader.close()
  other.close()
})

test('a tab behind events that are not for it needs no connection of its own for long', async () => {
  stubBrowser()
  const [leader, other] = [openTab(), openTab()]
  await vi.advanceTimersByTimeAsync(0)
  // The page of the leader has been loaded after these events.
  leader.own()?.reloaded?.(3)
  expect(other.own()).toBeDefined()
  other.own()?.passed?.(3)
  expect(other.own()).toBeUndefined()
  // What the leader has not got, the others need not get.
  leader.own()?.passed?.(5)
  leader.own()?.next(event(6))
  expect(other.own()).toBeUndefined()
  expect([leader.seqs, other.seqs]).toEqual([[6], [6]])
  leader.close()
  other.close()
})

test('a tab whose leader has no connection follows by itself, until the leader has one', async () => {
  stubBrowser()
  const leader = openTab()
  await vi.advanceTimersByTimeAsync(0)
  const other = openTab()
  await vi.advanceTimersByTimeAsync(1900)
  expect(other.own()).toBeUndefined()
  await vi.advanceTimersByTimeAsync(200)
  for (const seq of [1, 2]) other.own()?.next(event(seq))
  expect(other.seqs).toEqual([1, 2])
  leader.own()?.alive?.()
  expect(other.own()).toBeUndefined()
  leader.own()?.next(event(1))
  leader.own()?.next(event(2))
  leader.own()?.next(event(3))
  expect([leader.seqs, other.seqs]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ])
  leader.close()
  other.close()
})

test('an error of the leader is not told to the others', async () => {
  stubBrowser()
  const [leader, other] = [openTab(), openTab()]
  await vi.advanceTimersByTimeAsync(0)
  leader.own()?.alive?.()
  expect(() => leader.own()?.next({ errors: [{ message: 'gone' }], data: null })).toThrow('null')
  expect(other.seqs).toEqual([])
  leader.close()
  other.close()
})

test('a tab that is led tells the state of the connection that its leader has', async () => {
  stubBrowser()
  const leader = openTab()
  await vi.advanceTimersByTimeAsync(0)
  leader.own()?.state?.('connecting', REQUEST)
  leader.own()?.state?.('open', REQUEST)
  leader.own()?.alive?.()
  const other = openTab()
  await vi.advanceTimersByTimeAsync(0)
  expect(other.own()).toBeUndefined()
  expect(other.states).toEqual(['open'])
  leader.own()?.state?.('connecting', REQUEST)
  leader.own()?.state?.('open', REQUEST)
  expect([leader.states, other.states]).toEqual([
    ['connecting', 'open', 'connecting', 'open'],
    ['open', 'connecting', 'open'],
  ])
  leader.close()
  other.close()
})
