import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { share } from '../../src/clients/graphql/tabs.ts'
import type { GraphqlSink } from '../../src/clients/graphql/types.ts'

const REQUEST = { query: 'subscription { discussionEvents { seq } }', variables: { lastEventId: '0' } }
const event = (seq: number) => ({ data: { discussionEvents: { seq } } })

/** A tab, and the connection that it has by itself. */
function openTab() {
  const seqs: number[] = []
  let own: GraphqlSink | undefined
  const follow = (_request: object, sink: GraphqlSink) => {
    own = sink
    return () => (own = undefined)
  }
  const next = ({ data }: { data?: object | null }) =>
    seqs.push((data as ReturnType<typeof event>['data']).discussionEvents.seq)
  const close = share(follow, async () => 'name', REQUEST, {
    next,
    error: () => undefined,
    complete: () => undefined,
  })
  return { seqs, close, own: () => own }
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
  await vi.advanceTimersByTimeAsync(60_000)
  for (const seq of [2, 3]) tab.own()?.next(event(seq))
  expect(tab.seqs).toEqual([1, 2, 3])
  hear?.({ data: { at: 3 } })
  expect(tab.own()).toBeUndefined()
  tab.close()
})
