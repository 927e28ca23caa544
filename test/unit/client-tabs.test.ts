import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { shareDiscussionStream, shareSeveralStream } from '../../src/clients/browser/tabs.ts'
import { effort } from '../harness/effort.ts'
import { type FakePage, type FakeSource, stubPage } from '../harness/page.ts'
import { randomOf } from '../harness/random.ts'

const IDS = ['a', 'b']

// By the faked clock, unlike that of node:timers/promises.
const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

let page: FakePage
/** What the service has written in each discussion. */
let heads: Record<string, number>
/** How far each open source was sent to. */
let sent: Map<FakeSource, Record<string, number>>

beforeEach(() => {
  vi.useFakeTimers()
  // What waits for a random time waits for the same in each run.
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  page = stubPage()
  heads = { a: 0, b: 0 }
  sent = new Map()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

interface Channel {
  readonly name: string
  listener?: (message: { data: object | null }) => void
}

/**
 * Channels that deliver in order after a while, and one lock that the tabs get in turn. A tab that
 * dies is heard no more, and its lock goes to the next.
 */
function stubBrowser(lateMs: () => number = () => 0): { kill(tab: Tab): void } {
  const open = new Set<Channel>()
  class FakeChannel implements Channel {
    listener?: (message: { data: object | null }) => void
    readonly #tab = opening
    readonly name: string
    constructor(name: string) {
      this.name = name
      open.add(this)
    }
    addEventListener(_name: string, listener: NonNullable<Channel['listener']>) {
      this.listener = listener
    }
    postMessage(data: object | null) {
      if (this.#tab?.isDead === true) return
      const others = [...open].filter((each) => each !== this && each.name === this.name)
      const copy = structuredClone(data)
      line = line
        .then(() => pause(lateMs()))
        .then(() => others.forEach((each) => open.has(each) && each.listener?.({ data: copy })))
    }
    close() {
      open.delete(this)
    }
  }
  let line: Promise<unknown> = Promise.resolve()
  const waiting: { tab: Tab; run: () => Promise<unknown>; isOver: boolean }[] = []
  const next = (): void => {
    const [first] = waiting
    if (first === undefined) return
    void first.run().then(() => leave(first))
  }
  const leave = (one: (typeof waiting)[number]): void => {
    const at = waiting.indexOf(one)
    if (at >= 0) waiting.splice(at, 1)
    if (at === 0) next()
  }
  const request = (name: string, { signal }: { signal: AbortSignal }, run: () => Promise<unknown>) => {
    lockName = name
    const one = { tab: opening as Tab, run, isOver: false }
    waiting.push(one)
    signal.addEventListener('abort', () => waiting[0] !== one && leave(one))
    if (waiting.length === 1) queueMicrotask(next)
    return new Promise<void>(() => undefined)
  }
  vi.stubGlobal('BroadcastChannel', FakeChannel)
  vi.stubGlobal('navigator', { locks: { request } })
  return {
    kill: (tab) => {
      tab.isDead = true
      for (const one of waiting.filter((each) => each.tab === tab)) leave(one)
    },
  }
}

/** Of the last lock that was asked for. */
let lockName: string

/** The tab whose stream is being opened. */
let opening: Tab | undefined

interface Tab {
  isDead: boolean
  read: string[]
  close: () => void
  /** Its own sources that are open. */
  sources: () => FakeSource[]
}

const ticketOf = (tab: number) => ({
  streamUrl: `/stream?ticket=${tab}`,
  lastEventId: `00000001-${IDS.map((id) => heads[id]).join('.')}`,
  discussions: IDS.map((discussionId) => ({
    discussionId,
    externalId: discussionId,
    lastEventId: String(heads[discussionId]),
  })),
})

let opened = 0

function openTab(lastEventIds?: Record<string, string>): Tab {
  const number = ++opened
  const tab: Tab = {
    isDead: false,
    read: [],
    close: () => undefined,
    sources: () => page.sources.filter(({ url, readyState }) => readyState < 2 && url.includes(`ticket=${number}&`)),
  }
  opening = tab
  const stream = shareSeveralStream({
    name: 'x',
    lastEventIds,
    // A dead tab opens nothing any more.
    ticket: () => (tab.isDead ? new Promise(() => undefined) : ticketOf(number)),
    onReload: () => undefined,
    onError: () => undefined,
    onEvent: ({ discussionId, seq }) => tab.isDead || tab.read.push(`${discussionId}${seq}`),
  })
  tab.close = stream.close
  return tab
}

const settle = () => vi.advanceTimersByTimeAsync(0)

/** The service answers what is open, and sends what each source has not got. */
function serve(lose: (source: FakeSource) => boolean = () => false): void {
  for (const source of page.sources) {
    if (source.readyState === 2 || lose(source)) continue
    if (source.readyState === 0) {
      const [at = 0, bt = 0] = source.lastEventId?.slice(9).split('.').map(Number) ?? []
      if (!sent.has(source)) sent.set(source, { a: at, b: bt })
      source.connected()
    }
    const at = sent.get(source) ?? {}
    for (const id of IDS)
      while ((at[id] ?? 0) < (heads[id] ?? 0)) {
        at[id] = (at[id] ?? 0) + 1
        source.event(at[id], 'comment_created', id)
      }
  }
}

const openSources = (): number => page.sources.filter(({ readyState }) => readyState < 2).length
const upTo = (read: string[], id: string): string[] => read.filter((each) => each.startsWith(id))
const wanted = (id: string, from = 1): string[] =>
  Array.from({ length: (heads[id] ?? 0) - from + 1 }, (_, n) => `${id}${n + from}`)

test('three tabs have one stream, and each gets every event once', async () => {
  stubBrowser()
  const tabs = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' }), openTab()]
  await settle()
  serve()
  heads = { a: 3, b: 1 }
  serve()
  await vi.advanceTimersByTimeAsync(10)
  for (const { read } of tabs) expect(read).toEqual(['a1', 'a2', 'a3', 'b1'])
  expect(openSources()).toBe(1)
  tabs.forEach(({ close }) => close())
  expect(openSources()).toBe(0)
})

test('a tab that opens behind the leader catches up by a stream of its own, and closes it', async () => {
  stubBrowser()
  const leader = openTab({ a: '0', b: '0' })
  await settle()
  heads = { a: 2, b: 2 }
  serve()
  const late = openTab({ a: '1', b: '0' })
  await vi.advanceTimersByTimeAsync(10)
  expect(openSources()).toBe(2)
  serve()
  await vi.advanceTimersByTimeAsync(10)
  expect(late.read).toEqual(['a2', 'b1', 'b2'])
  expect(openSources()).toBe(1)
  ;[leader, late].forEach(({ close }) => close())
})

test('where the browser has no locks each tab has a stream', async () => {
  vi.stubGlobal('navigator', {})
  const tabs = [openTab(), openTab()]
  await settle()
  expect(openSources()).toBe(2)
  tabs.forEach(({ close }) => close())
  expect(vi.getTimerCount()).toBe(0)
})

test('a tab that hears nothing of its leader goes on by itself', async () => {
  const browser = stubBrowser()
  const [leader, other] = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })]
  await settle()
  serve()
  // As a frozen page that keeps its lock.
  leader.isDead = true
  heads = { a: 1, b: 0 }
  await vi.advanceTimersByTimeAsync(42_000)
  serve()
  expect(other.read).toEqual(['a1'])
  browser.kill(leader)
  ;[leader, other].forEach(({ close }) => close())
})

test('a tab that is seen again and gets no answer of its leader goes on by itself at once', async () => {
  const browser = stubBrowser()
  const [leader, other] = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })]
  await settle()
  serve()
  await vi.advanceTimersByTimeAsync(10)
  // As a suspended page, which gets no event for that.
  leader.isDead = true
  heads = { a: 1, b: 0 }
  page.document.emit('visibilitychange')
  await vi.advanceTimersByTimeAsync(2000)
  serve()
  expect(other.read).toEqual(['a1'])
  browser.kill(leader)
  ;[leader, other].forEach(({ close }) => close())
})

test('a hidden leader checks its silent stream while another tab relies on it', async () => {
  stubBrowser()
  page.document.visibilityState = 'hidden'
  const leader = openTab({ a: '0', b: '0' })
  await settle()
  serve()
  await vi.advanceTimersByTimeAsync(20 * 60_000)
  expect(page.sources).toHaveLength(1)
  const other = openTab({ a: '0', b: '0' })
  await vi.advanceTimersByTimeAsync(21_000)
  expect(page.sources).toHaveLength(2)
  expect(leader.sources()).toEqual([page.sources[1]])
  ;[leader, other].forEach(({ close }) => close())
})

/** Tabs of one discussion. Each shows `shown` where it must load its data again. */
function openPages(count: number, lastEventId: string, shown: string) {
  return Array.from({ length: count }, () => {
    const read: number[] = []
    const onReload = vi.fn(() => shown)
    const stream = shareDiscussionStream({
      name: 'one',
      lastEventId,
      ticket: () => ({ streamUrl: '/stream/d?ticket=t', lastEventId }),
      onReload,
      onEvent: ({ seq }) => read.push(seq),
      onError: () => undefined,
    })
    return Object.assign(stream, { read, onReload })
  })
}

test('where the numbers of a discussion begin again, each tab loads its data again', async () => {
  stubBrowser()
  const tabs = openPages(3, '50', '2')
  await settle()
  page.sources[0]?.connected()
  await settle()
  // The discussion was deleted, and made again.
  page.sources[0]?.drop()
  page.sources[0]?.connected({ complete: false, lastEventId: '2' })
  await vi.advanceTimersByTimeAsync(10)
  const ofOthers = page.sources.slice(1)
  expect(ofOthers.map(({ lastEventId }) => lastEventId)).toEqual(['50', '50'])
  for (const source of ofOthers) source.connected({ complete: false, lastEventId: '2' })
  await vi.advanceTimersByTimeAsync(1000)
  for (const { onReload } of tabs) expect(onReload).toHaveBeenCalledTimes(1)
  const again = page.sources.slice(3)
  expect(again.map(({ lastEventId }) => lastEventId)).toEqual(['2', '2', '2'])
  for (const source of again) source.connected()
  await vi.advanceTimersByTimeAsync(42_000)
  expect(openSources()).toBe(1)
  for (const source of again) if (source.readyState === 1) source.event(3)
  await vi.advanceTimersByTimeAsync(10)
  for (const { read } of tabs) expect(read).toEqual([3])
  tabs.forEach(({ close }) => close())
})

test('a tab that comes back ahead of its leader has its position checked', async () => {
  stubBrowser()
  const [first, second] = openPages(2, '50', '2')
  await settle()
  page.sources[0]?.connected()
  page.document.emit('freeze')
  first?.close()
  const [fresh] = openPages(1, '2', '2')
  await settle()
  page.sources[1]?.connected()
  page.document.emit('resume')
  await vi.advanceTimersByTimeAsync(10)
  expect(page.sources.slice(1).map(({ lastEventId }) => lastEventId)).toEqual(['2', '50'])
  // The service knows the position.
  page.sources[2]?.connected()
  await vi.advanceTimersByTimeAsync(42_000)
  expect(openSources()).toBe(1)
  ;[second, fresh].forEach((tab) => tab?.close())
})

test.each([0, 0.9])('tabs go on alone at random times after the loss of their stream (%d)', async (chance) => {
  stubBrowser()
  vi.spyOn(Math, 'random').mockReturnValue(chance)
  const tabs = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })]
  await settle()
  serve()
  await settle()
  page.sources[0]?.drop()
  await vi.advanceTimersByTimeAsync(5000 * (1 + chance) - 1)
  expect(openSources()).toBe(1)
  await vi.advanceTimersByTimeAsync(10)
  expect(openSources()).toBe(2)
  tabs.forEach(({ close }) => close())
})

test('while the service refuses the stream over a cap, one tab asks for all', async () => {
  const browser = stubBrowser()
  const tabs = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })] as const
  await settle()
  const [source] = page.sources
  source?.connected()
  await settle()
  for (let n = 0; n < 4; n++) {
    source?.drop()
    await vi.advanceTimersByTimeAsync(n === 0 ? 3000 : 30_000)
    source?.emit('connection-timeout', { lastEventId: '00000001-0.0' })
    await settle()
  }
  source?.drop()
  expect(page.sources).toHaveLength(1)
  // The leader is suspended.
  tabs[0].isDead = true
  source?.close()
  await vi.advanceTimersByTimeAsync(80_000)
  expect(tabs[1].sources()).toHaveLength(1)
  browser.kill(tabs[0])
  tabs.forEach(({ close }) => close())
})

test('a message of another form, or of another version, changes nothing', async () => {
  stubBrowser()
  const tabs = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })] as const
  await settle()
  serve()
  await settle()
  const event = { type: 'comment_created', discussionId: 'a', seq: 9 }
  const told = { state: 'open', before: 0, event }
  opening = undefined
  const ofScript = new BroadcastChannel('engagement 1 x')
  const messages = [
    'hello',
    7,
    {},
    { ...told, state: 'closed' },
    { ...told, before: 9 },
    { ...told, before: undefined, at: { a: '9' } },
    { ...told, event: null },
    { ...told, event: { ...event, seq: '9' } },
    { ...told, event: { ...event, seq: 1e300 } },
    { ...told, event: { ...event, type: 'other' } },
  ]
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
  for (const message of messages) ofScript.postMessage(message)
  const earlier = new BroadcastChannel('engagement x')
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
  earlier.postMessage(told)
  await vi.advanceTimersByTimeAsync(10)
  expect(tabs[1].read).toEqual([])
  expect(openSources()).toBe(1)
  expect(lockName).toBe('engagement 1 x')
  // The same, in the right form.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
  ofScript.postMessage(told)
  await vi.advanceTimersByTimeAsync(10)
  expect(tabs[1].read).toEqual(['a9'])
  tabs.forEach(({ close }) => close())
})

test('a tab whose leader has lost its stream goes on by itself until the leader has one', async () => {
  stubBrowser()
  const tabs = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })]
  await settle()
  serve()
  await settle()
  const [led] = page.sources
  led?.drop()
  heads = { a: 1, b: 0 }
  await vi.advanceTimersByTimeAsync(4000)
  expect(openSources()).toBe(1)
  // The timers of a hidden leader may be late.
  await vi.advanceTimersByTimeAsync(6000)
  expect(openSources()).toBe(2)
  const isOfLeader = (source: FakeSource) => source === led
  serve(isOfLeader)
  expect(tabs.map(({ read }) => read)).toEqual([[], ['a1']])
  serve()
  await vi.advanceTimersByTimeAsync(10)
  expect(openSources()).toBe(1)
  expect(tabs.map(({ read }) => read)).toEqual([['a1'], ['a1']])
  tabs.forEach(({ close }) => close())
})

test.each([
  [
    'refuses channels',
    () => {
      vi.stubGlobal('BroadcastChannel', function refuse() {
        throw new DOMException('not here', 'SecurityError')
      })
    },
  ],
  [
    'refuses locks',
    () => {
      const request = () => Promise.reject(new DOMException('not here', 'SecurityError'))
      vi.stubGlobal('navigator', { locks: { request } })
    },
  ],
])('where the browser %s each tab has a stream', async (_what, refuse) => {
  stubBrowser()
  refuse()
  const tabs = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })]
  await settle()
  expect(openSources()).toBe(2)
  heads = { a: 1, b: 1 }
  serve()
  for (const { read } of tabs) expect(read).toEqual(['a1', 'b1'])
  page.document.emit('freeze')
  expect(openSources()).toBe(0)
  page.document.emit('resume')
  await settle()
  expect(openSources()).toBe(2)
  await vi.advanceTimersByTimeAsync(10)
  tabs.forEach(({ close }) => close())
  expect(vi.getTimerCount()).toBe(0)
})

test('a page that freezes gives the stream to another tab', async () => {
  stubBrowser()
  const [first, second] = [openTab({ a: '0', b: '0' }), openTab({ a: '0', b: '0' })]
  await settle()
  serve()
  // The tabs of this test are one page for the events of freezing: both leave, and both come back.
  page.document.emit('freeze')
  await settle()
  expect(openSources()).toBe(0)
  heads = { a: 2, b: 1 }
  page.document.emit('resume')
  await settle()
  serve()
  await vi.advanceTimersByTimeAsync(10)
  for (const { read } of [first, second]) expect(read).toEqual(['a1', 'a2', 'b1'])
  ;[first, second].forEach(({ close }) => close())
})

test('a stream of one discussion is shared likewise', async () => {
  stubBrowser()
  const tabs = openPages(2, '3', '3')
  await settle()
  const [source] = page.sources
  source?.connected()
  source?.event(4)
  await vi.advanceTimersByTimeAsync(10)
  expect(tabs.map(({ read }) => read)).toEqual([[4], [4]])
  expect(tabs.map(({ lastEventId }) => lastEventId)).toEqual(['4', '4'])
  expect(page.sources).toHaveLength(1)
  tabs.forEach(({ close }) => close())
})

test('whatever happens to tabs and streams, each tab gets each event once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const chance = randomOf(seed)
      vi.mocked(Math.random).mockImplementation(chance)
      heads = { a: 0, b: 0 }
      page.sources.length = 0
      sent = new Map()
      const browser = stubBrowser(() => chance() * 30)
      const tabs: { tab: Tab; from: Record<string, number> }[] = []
      const open = (): void => {
        // A page shows what was written some time ago.
        const from = Object.fromEntries(IDS.map((id) => [id, Math.floor((heads[id] ?? 0) * chance())]))
        const positions = Object.fromEntries(Object.entries(from).map(([id, at]) => [id, String(at)]))
        tabs.push({ tab: openTab(positions), from })
      }
      open()
      const dead = new Set<Tab>()
      for (let step = 0; step < 80; step++) {
        const dice = chance()
        const one = tabs[Math.floor(chance() * tabs.length)]?.tab
        if (dice < 0.4) {
          const id = chance() < 0.5 ? 'a' : 'b'
          heads[id] = (heads[id] ?? 0) + 1
        } else if (dice < 0.5 && tabs.length < 8) open()
        else if (dice < 0.55 && one !== undefined && dead.size < tabs.length - 1) {
          dead.add(one)
          if (chance() < 0.5) one.close()
          else {
            browser.kill(one)
            one.sources().forEach((source) => source.close())
          }
        } else if (dice < 0.62)
          page.sources.filter(({ readyState }) => readyState === 1).forEach((source) => source.drop())
        else if (dice < 0.66)
          page.sources.filter(({ readyState }) => readyState < 2).forEach((source) => source.refuse())
        serve(() => chance() < 0.3)
        await vi.advanceTimersByTimeAsync(chance() * 60)
      }
      for (let n = 0; n < 12; n++) {
        await vi.advanceTimersByTimeAsync(20_000)
        serve()
      }
      expect(openSources()).toBe(1)
      for (const { tab, from } of tabs) {
        if (dead.has(tab)) continue
        for (const id of IDS) expect(upTo(tab.read, id)).toEqual(wanted(id, (from[id] ?? 0) + 1))
      }
      tabs.forEach(({ tab }) => tab.close())
    }),
    { numRuns: effort(60, 15) },
  )
})
