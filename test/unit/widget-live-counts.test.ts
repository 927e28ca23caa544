import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import type { EngagementCount } from '../../src/clients/widget/count.ts'
import { follow } from '../../src/clients/widget/live.ts'

const PAGE = { hidden: false, baseURI: 'https://news.example/', visibilityState: 'visible' }

/** What live counts read of an element. */
interface Count {
  discussion: string
  backend: string
  hasAttribute: (name: string) => boolean
  count?: number
  position?: number | undefined
  toldAt: number
  reload: () => void
}

let streams: FakeStream[]
let threads: object[]
let tickets: string[][]
/** The pages that the backend gives no ticket for. */
let withheld: Set<string>
let scroll: (elements: Count[]) => void

class FakeStream {
  readonly #heard = new Map<string, (event: { data: string }) => void>()
  isOpen = true
  constructor() {
    streams.push(this)
  }
  addEventListener(name: string, hear: (event: { data: string }) => void): void {
    this.#heard.set(name, hear)
    if (name === 'connected') queueMicrotask(() => hear({ data: '{}' }))
  }
  close(): void {
    this.isOpen = false
  }
  send(type: string, discussionId: string, seq: number): void {
    const data = { comment: { id: `${discussionId}-${seq}`, status: 'approved' } }
    this.#heard.get(type)?.({ data: JSON.stringify({ type, discussionId, seq, data }) })
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  ;[streams, threads, tickets, withheld] = [[], [], [], new Set()]
  const document = { ...PAGE, querySelectorAll: () => threads, addEventListener: () => undefined }
  vi.stubGlobal('document', Object.assign(document, { removeEventListener: () => undefined }))
  vi.stubGlobal('window', { addEventListener: () => undefined, removeEventListener: () => undefined })
  vi.stubGlobal('EventSource', FakeStream)
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      constructor(tell: (entries: object[]) => void) {
        scroll = (elements) => tell(elements.map((target) => ({ target, isIntersecting: true })))
      }
      observe(): void {}
    },
  )
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const liveCount = (discussion: string, count: number, position: number | undefined): Count => ({
  discussion,
  backend: '/engagement',
  hasAttribute: (name) => name === 'live',
  count,
  position,
  toldAt: 0,
  reload: () => undefined,
})

/** Follows these. Tickets are given at once, for all pages but `withheld`. */
async function followAll(elements: Count[]) {
  const ask = async (url: string) => {
    const names = new URL(url, PAGE.baseURI).searchParams.getAll('externalId')
    tickets.push(names)
    const found = names.filter((name) => !withheld.has(name))
    const discussions = found.map((name) => ({ discussionId: name, externalId: name, lastEventId: '0' }))
    return { streamUrl: 'https://service.example/stream', lastEventId: '', discussions }
  }
  const shown = elements as unknown as EngagementCount[]
  const change = await follow({
    elements: { [Symbol.iterator]: () => shown[Symbol.iterator]() } as unknown as ReadonlySet<EngagementCount>,
    ask: ask as never,
    recount: async () => undefined,
  })
  change()
  await vi.advanceTimersByTimeAsync(500)
  return change
}

describe('live counts', () => {
  test('leave alone an element that waits for the count of its new page', async () => {
    const followed = liveCount('a', 1, 10)
    const waiting = liveCount('a', 7, undefined)
    await followAll([followed, waiting])
    streams[0]?.send('comment_created', 'a', 11)
    expect([followed.count, followed.position]).toEqual([2, 11])
    expect([waiting.count, waiting.position]).toEqual([7, undefined])
  })

  test('take a count that the stream has passed from an element of the page that has heard it', async () => {
    const elements = [liveCount('a', 1, 10)]
    const change = await followAll(elements)
    streams[0]?.send('comment_created', 'a', 11)
    const late = liveCount('a', 1, 10)
    elements.push(late)
    change()
    await vi.advanceTimersByTimeAsync(500)
    expect([late.count, late.position]).toEqual([2, 11])
  })

  test('count reactions as heard, so that they are not replayed', async () => {
    const element = liveCount('a', 1, 10)
    await followAll([element])
    streams[0]?.send('reaction_toggled', 'a', 11)
    expect([element.count, element.position]).toEqual([1, 11])
  })

  test('keep the stream where the backend gives no ticket for a page with comments', async () => {
    withheld.add('b')
    const empty = liveCount('c', 0, 0)
    withheld.add('c')
    await followAll([liveCount('a', 1, 10), liveCount('b', 4, 9), empty])
    await vi.advanceTimersByTimeAsync(600_000)
    expect([tickets.length, streams.map(({ isOpen }) => isOpen)]).toEqual([1, [true]])
    // The first comment of the other page.
    withheld.delete('c')
    empty.position = 1
    await vi.advanceTimersByTimeAsync(120_000)
    expect([tickets.length, streams.map(({ isOpen }) => isOpen)]).toEqual([2, [false, true]])
  })

  test('of a reader who scrolls open a stream once they rest, and at most every 5 s', async () => {
    const elements = Array.from({ length: 200 }, (_, n) => liveCount(`page-${n}`, 1, 1))
    await followAll(elements)
    expect(tickets.length).toBe(1)
    for (let n = 50; n < 100; n++) {
      scroll(elements.slice(n, n + 1))
      await vi.advanceTimersByTimeAsync(400)
    }
    expect(tickets.length).toBe(1)
    for (let n = 100; n < 200; n++) {
      scroll(elements.slice(n, n + 1))
      await vi.advanceTimersByTimeAsync(600)
    }
    expect(tickets.length).toBeLessThanOrEqual(14)
  })

  test('leave a page to its thread, but not while that waits for the reader', async () => {
    const change = await followAll([liveCount('a', 1, 10)])
    const thread = { backend: '/engagement', discussion: 'a', isWaiting: true }
    threads.push(thread)
    change()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(streams.map(({ isOpen }) => isOpen)).toEqual([true])
    thread.isWaiting = false
    change()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(streams.map(({ isOpen }) => isOpen)).toEqual([false])
  })

  test('are asked for again, once, when the thread that told them has gone', async () => {
    const element = liveCount('a', 8, undefined)
    element.toldAt = performance.now() + 1
    element.reload = vi.fn<() => void>()
    threads.push({ backend: '/engagement', discussion: 'a', isWaiting: false })
    const change = await followAll([element])
    expect(element.reload).not.toHaveBeenCalled()
    threads.length = 0
    for (let n = 0; n < 3; n++) {
      change()
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(element.reload).toHaveBeenCalledTimes(1)
  })
})
