import { setImmediate } from 'node:timers/promises'

import { buildSchema, parse } from 'graphql'
import { describe, expect, test } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { Batch } from '../../src/live/streams/batch.ts'
import { type Frame, frameOf } from '../../src/live/streams/frames.ts'
import { Backlog } from '../../src/live/source-queue.ts'
import type { Sink } from '../../src/live/seat.ts'
import { SourceStream } from '../../src/live/source-stream.ts'
import { resultsOf } from '../../src/api/graphql-sse/results.ts'
import { BrokenOff, SharedConnection } from '../../src/api/graphql-sse/shared-connection.ts'
import { Subscription } from '../../src/api/graphql-sse/subscription.ts'
import { executeMasked } from '../harness/execute.ts'
import { SILENT } from '../harness/log.ts'

const frame = (seq: number, bytes: number): Frame =>
  frameOf({
    seq,
    type: 'comment_created',
    audience: 'public',
    recipientId: null,
    json: JSON.stringify({ data: {}, padding: 'x'.repeat(bytes) }),
  })
const batch = (seq: number, bytes = 10): Batch => new Batch([frame(seq, bytes)])

interface Fed {
  source: SourceStream
  overflows: () => number
  hasLeft: () => boolean
  /** Where events go, once it has begun. */
  sink: () => Sink | undefined
}

function fed(): Fed {
  let [overflows, hasLeft, sink] = [0, false, undefined as Sink | undefined]
  const source = new SourceStream({ idleMs: 1000, onOverflow: () => overflows++ })
  source.sit({
    start: (taker) => void (sink = taker),
    leave: () => void (hasLeft = true),
  })
  return { source, overflows: () => overflows, hasLeft: () => hasLeft, sink: () => sink }
}

test('yields delivered events, in order, to present and later waiters', async () => {
  const { source, sink } = fed()
  const frames = source.iterate(new Backlog())
  const waiting = [frames.next(), frames.next()]
  sink()?.deliver(batch(1))
  sink()?.deliver(new Batch([frame(2, 10), frame(3, 10)]))
  expect((await Promise.all(waiting)).map(({ value }) => value?.seq)).toEqual([1, 2])
  expect((await frames.next()).value?.seq).toBe(3)
})

test.each(['before the first event', 'while one is waited for'])('ends on `return` %s', async (when) => {
  const { source, hasLeft } = fed()
  const frames = source.iterate(new Backlog())
  const waiting = when.startsWith('while') ? frames.next() : undefined
  await frames.return?.()
  expect(hasLeft()).toBe(true)
  expect(await (waiting ?? frames.next())).toEqual({ done: true, value: undefined })
})

test('ends with its source, even before the first event', async () => {
  const { source } = fed()
  source.end()
  expect(await source.iterate(new Backlog()).next()).toEqual({ done: true, value: undefined })
})

test('queues of one connection hold 1 MiB together; the one that exceeds it fails', async () => {
  const backlog = new Backlog()
  const all = [fed(), fed(), fed(), fed()]
  const iterators = all.map(({ source }) => source.iterate(backlog))
  for (const frames of iterators) void frames.next()
  for (const { sink } of all) for (let seq = 1; seq <= 3; seq++) sink()?.deliver(batch(seq, 80_000))
  expect(all.map(({ overflows }) => overflows())).toEqual([0, 0, 0, 0])
  for (let seq = 4; seq <= 7; seq++) all[3]?.sink()?.deliver(batch(seq, 80_000))
  expect(all.map(({ overflows }) => overflows())).toEqual([0, 0, 0, 1])
  expect(all.map(({ hasLeft }) => hasLeft())).toEqual([false, false, false, true])
  await expect(iterators[3]?.next()).rejects.toMatchObject({ code: 'unavailable' })
  expect((await iterators[0]?.next())?.value?.seq).toBe(2)
  // What it held is free for the others.
  for (let seq = 4; seq <= 6; seq++) all[0]?.sink()?.deliver(batch(seq, 80_000))
  expect(all.map(({ overflows }) => overflows())).toEqual([0, 0, 0, 1])
})

test('replays on one connection wait for room, and take turns', async () => {
  const backlog = new Backlog()
  const all = [fed(), fed(), fed()]
  const iterators = all.map(({ source }) => source.iterate(backlog))
  const taking = iterators.map((frames) => frames.next())
  const feeding = all.map(async ({ sink }) => {
    for (let seq = 1; seq <= 20; seq++) {
      await sink()?.ready()
      sink()?.deliver(batch(seq, 60_000))
    }
  })
  await Promise.all(taking)
  const rest = await Promise.all(
    iterators.map(async (frames) => {
      const seqs: number[] = []
      while (seqs.length < 19) {
        const { value } = await frames.next()
        seqs.push(value?.seq ?? 0)
      }
      return seqs
    }),
  )
  await Promise.all(feeding)
  for (const seqs of rest) expect(seqs).toEqual(Array.from({ length: 19 }, (_, index) => index + 2))
  expect(all.map(({ overflows }) => overflows())).toEqual([0, 0, 0])
})

describe('answers on a shared connection', () => {
  const schema = buildSchema('type Query { n: Int } type Subscription { n: Int }')
  const app = { settings: {}, log: SILENT } as App
  const subscription = new Subscription(
    { schema, document: parse('subscription { n }'), execute: executeMasked },
    { app, requestId: 'r', address: null, caller: null },
  )

  async function begun() {
    const { source, sink } = fed()
    const shared = new SharedConnection()
    const results = resultsOf(source, subscription, shared)
    const first = results.next()
    sink()?.deliver(batch(1))
    expect(await first).toEqual({ done: false, value: { data: { n: null } } })
    return { source, sink, shared, results }
  }

  test('end without complete where the client does not take them in time', async () => {
    const { sink, results } = await begun()
    for (let seq = 2; seq <= 15; seq++) sink()?.deliver(batch(seq, 80_000))
    await expect(results.next()).rejects.toBeInstanceOf(BrokenOff)
  })

  test('end without complete where the service ends them, after the operations under way', async () => {
    const { source, shared, results } = await begun()
    let finish = (): void => undefined
    const operation = shared.run(() => new Promise<void>((resolve) => (finish = resolve)))
    const order: string[] = []
    const end = results.next().finally(() => order.push('end'))
    source.end()
    // Time enough for an end that waits for nothing.
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    order.push('finish')
    finish()
    await operation
    await expect(end).rejects.toBeInstanceOf(BrokenOff)
    expect(order).toEqual(['finish', 'end'])
  })

  test('complete where their client ends them', async () => {
    const { results } = await begun()
    const next = results.next()
    await results.return?.()
    expect(await next).toEqual({ done: true, value: undefined })
  })
})
