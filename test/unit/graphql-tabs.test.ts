import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { createGraphqlClient } from '../../src/clients/graphql/client.ts'
import { share } from '../../src/clients/graphql/tabs.ts'
import type { FollowSink } from '../../src/clients/graphql/follow.ts'
import type { GraphqlRequest } from '../../src/clients/graphql/types.ts'

const REQUEST = { query: 'subscription { discussionEvents { seq } }', variables: { lastEventId: '0' } }
const event = (seq: number) => ({ data: { discussionEvents: { seq } } })

/** A tab, and the connection that it has by itself. */
function openTab(nameOf = async (): Promise<string | undefined> => 'name') {
  const seqs: number[] = []
  const states: string[] = []
  const positions: unknown[] = []
  let own: FollowSink | undefined
  const follow = ({ variables }: GraphqlRequest, sink: FollowSink) => {
    positions.push(variables?.lastEventId)
    own = sink
    return () => void (own === sink && (own = undefined))
  }
  const next = ({ data }: { data?: object | null }) =>
    seqs.push((data as ReturnType<typeof event>['data']).discussionEvents.seq)
  const close = share(follow, nameOf, REQUEST, {
    next,
    error: () => undefined,
    complete: () => undefined,
    state: (state) => states.push(state),
  })
  closes.push(close)
  return { seqs, states, positions, close, own: () => own }
}

const settle = () => vi.advanceTimersByTimeAsync(0)

const closes: (() => void)[] = []

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  closes.splice(0).forEach((close) => close())
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test.each([
  ['whose browser has no locks', 'name'],
  ['that does not know its reader', undefined],
])('a tab %s goes on by itself after each event', async (_which, name) => {
  vi.stubGlobal('navigator', {})
  const tab = openTab(async () => name)
  await settle()
  for (const seq of [1, 2]) tab.own()?.next(event(seq))
  expect(tab.seqs).toEqual([1, 2])
  tab.close()
  expect(tab.own()).toBeUndefined()
})

/** Channels that deliver at once, and locks that the tabs get in turn. */
function stubBrowser(): void {
  const open = new Set<Channel>()
  class Channel {
    listener: ((message: { data: object | null }) => void) | undefined
    readonly name: string
    constructor(name: string) {
      this.name = name
      open.add(this)
    }
    addEventListener(_name: string, listener: typeof this.listener) {
      this.listener = listener
    }
    postMessage(data: object | null) {
      for (const other of open)
        if (other !== this && other.name === this.name) other.listener?.({ data: structuredClone(data) })
    }
    close() {
      open.delete(this)
    }
  }
  const locks = new Map<string, Promise<unknown>>()
  const request = (name: string, _options: object, run: () => Promise<void>) => {
    const lock = Promise.resolve(locks.get(name)).then(run)
    locks.set(name, lock)
    return lock
  }
  vi.stubGlobal('BroadcastChannel', Channel)
  vi.stubGlobal('navigator', { locks: { request } })
}

/** Two tabs, of which the first leads and is connected. */
async function openTwo(): Promise<[leader: ReturnType<typeof openTab>, other: ReturnType<typeof openTab>]> {
  stubBrowser()
  const [leader, other] = [openTab(), openTab()]
  await settle()
  leader.own()?.alive?.()
  return [leader, other]
}

test('a tab whose leader has loaded its page again loads its own again, and misses nothing', async () => {
  const [leader, other] = await openTwo()
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
})

test('a tab behind events that are not for it needs no connection of its own for long', async () => {
  const [leader, other] = await openTwo()
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
})

test('a tab whose leader has no connection follows by itself, until the leader has one', async () => {
  stubBrowser()
  const leader = openTab()
  await settle()
  const other = openTab()
  await vi.advanceTimersByTimeAsync(4900)
  expect(other.own()).toBeUndefined()
  await vi.advanceTimersByTimeAsync(5200)
  for (const seq of [1, 2]) other.own()?.next(event(seq))
  expect(other.seqs).toEqual([1, 2])
  leader.own()?.alive?.()
  for (const seq of [1, 2, 3]) leader.own()?.next(event(seq))
  expect(other.own()).toBeUndefined()
  expect([leader.seqs, other.seqs]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ])
})

test('while the service refuses the leader over a cap, the others wait longer', async () => {
  stubBrowser()
  const [leader, other] = [openTab(), openTab()]
  await settle()
  leader.own()?.refused?.()
  await vi.advanceTimersByTimeAsync(39_000)
  expect(other.own()).toBeUndefined()
  await vi.advanceTimersByTimeAsync(42_000)
  expect(other.own()).toBeDefined()
})

test('a tab keeps its own connection until the service has said that it knows the position', async () => {
  const [leader, other] = await openTwo()
  for (const seq of [1, 2, 3]) leader.own()?.next(event(seq))
  // The discussion was deleted, and made again.
  leader.own()?.reloaded?.(1)
  expect(other.positions).toEqual(['3'])
  other.own()?.state?.('open', REQUEST)
  leader.own()?.next(event(2))
  other.own()?.reloaded?.(2)
  other.own()?.alive?.()
  leader.own()?.next(event(3))
  expect(other.own()).toBeUndefined()
  expect(other.seqs).toEqual([1, 2, 3, 3])
})

test('a leader whose token is for another reader tells the others nothing more', async () => {
  stubBrowser()
  let reader = 'ann'
  const [leader, other] = [openTab(async () => reader), openTab(async () => 'ann')]
  await settle()
  leader.own()?.alive?.()
  leader.own()?.next(event(1))
  await expect(leader.own()?.accepted?.()).resolves.toBeUndefined()
  reader = 'bob'
  const connection = leader.own()
  await expect(connection?.accepted?.()).rejects.toThrow('another reader')
  await settle()
  leader.own()?.alive?.()
  leader.own()?.next(event(2))
  expect([leader.seqs, leader.positions, other.seqs]).toEqual([[1, 2], ['0', '1'], [1]])
})

test('an error of the leader is not told to the others', async () => {
  const [leader, other] = await openTwo()
  expect(() => leader.own()?.next({ errors: [{ message: 'gone' }], data: null })).toThrow('null')
  expect(other.seqs).toEqual([])
})

test('a tab that is led tells the state of the connection that its leader has', async () => {
  stubBrowser()
  const leader = openTab()
  await settle()
  leader.own()?.state?.('connecting', REQUEST)
  leader.own()?.state?.('open', REQUEST)
  leader.own()?.alive?.()
  const other = openTab()
  await settle()
  expect(other.own()).toBeUndefined()
  expect(other.states).toEqual(['connecting', 'open'])
  leader.own()?.state?.('connecting', REQUEST)
  leader.own()?.state?.('open', REQUEST)
  expect([leader.states, other.states]).toEqual([
    ['connecting', 'open', 'connecting', 'open'],
    ['connecting', 'open', 'connecting', 'open'],
  ])
})

/** A tab whose client shares, and the connections that it has had. */
function openClient(lastEventId: string | null, reload = async () => '1') {
  const seqs: unknown[] = []
  const connections: { position: unknown; send: (bytes: string) => Promise<void> }[] = []
  const answer: typeof fetch = async (_url, init) => {
    let controller: ReadableStreamDefaultController | undefined
    const body = new ReadableStream({ start: (given) => void (controller = given) })
    init?.signal?.addEventListener('abort', () => controller?.error(init.signal?.reason))
    connections.push({
      position: JSON.parse(init?.body as string).variables.lastEventId,
      send: async (bytes) => {
        if (init?.signal?.aborted !== true) controller?.enqueue(new TextEncoder().encode(bytes))
        await settle()
      },
    })
    return new Response(body)
  }
  const client = createGraphqlClient({
    url: 'https://service.example/graphql',
    token: () => ({ token: 't', expiresAt: '2100-01-01T00:00:00Z', readerId: 'ann' }),
    share: true,
    fetch: answer,
    reload,
    onError: () => undefined,
  })
  const close = client.subscribe<{ discussionEvents: { seq: number } }>(
    { ...REQUEST, variables: { lastEventId } },
    { next: ({ data }) => seqs.push(data?.discussionEvents.seq), error: () => undefined, complete: () => undefined },
  )
  closes.push(close)
  return { seqs, connections, last: () => connections.at(-1) }
}

const PING = ':\n\n'
const next = (result: object) => `event: next\ndata: ${JSON.stringify(result)}\n\n`
const TOO_OLD = next({ errors: [{ message: 'too old', extensions: { code: 'not_replayable' } }] })
const opened = () => vi.dynamicImportSettled().then(settle)

test.each([
  ['with the first heartbeat', [PING + TOO_OLD, '']],
  ['after the first heartbeat', [PING, TOO_OLD]],
])('a tab whose discussion begins again loads again, though its leader tells events (%s)', async (_when, chunks) => {
  stubBrowser()
  const leader = openClient('100')
  await opened()
  let reloaded = (_position: string): void => undefined
  const other = openClient('100', () => new Promise((resolve) => (reloaded = resolve)))
  await opened()
  expect(other.connections).toEqual([])
  await leader.last()?.send(PING + TOO_OLD)
  await vi.advanceTimersByTimeAsync(1000)
  expect([leader.last()?.position, other.last()?.position]).toEqual(['1', '100'])
  await other.last()?.send(chunks[0] as string)
  await leader.last()?.send(PING + next(event(2)))
  await other.last()?.send(chunks[1] as string)
  await leader.last()?.send(next(event(3)))
  reloaded('1')
  await vi.advanceTimersByTimeAsync(1000)
  expect(other.last()?.position).toBe('1')
  await other.last()?.send(PING + next(event(2)) + next(event(3)))
  await leader.last()?.send(next(event(4)))
  expect([leader.seqs, other.seqs]).toEqual([
    [2, 3, 4],
    [2, 3, 4],
  ])
})

test('a subscription without a position is not shared, and asks for none', async () => {
  stubBrowser()
  const tabs = [openClient(null), openClient(null)]
  await opened()
  await tabs[0]?.last()?.send(PING + next(event(7)))
  expect(tabs.map(({ connections, seqs }) => [connections[0]?.position, seqs])).toEqual([
    [null, [7]],
    [null, []],
  ])
})
