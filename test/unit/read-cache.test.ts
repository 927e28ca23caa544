import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { roomOfBytes } from '../../src/core/cache.ts'
import { createReadCache, MAX_AGE_MS } from '../../src/core/read-cache.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => vi.useRealTimers())

const ROOM = roomOfBytes(100_000)
/** For two short entries. */
const LITTLE = roomOfBytes(500)

/** A cache in front of a counter: each read finds the next number. */
function counting(keep?: (value: number) => boolean, room = ROOM) {
  let n = 0
  const read = vi.fn(() => Promise.resolve(++n))
  return { read, cache: createReadCache({ room, read, ...(keep && { keep }) }) }
}

test('concurrent reads of one key are one read', async () => {
  const { cache, read } = counting()
  expect(await Promise.all([cache.get('a'), cache.get('a'), cache.get('b')])).toEqual([1, 1, 2])
  expect(read).toHaveBeenCalledTimes(2)
})

test('an entry is read again once it is too old, counted from the start of its read', async () => {
  const answers: ((value: number) => void)[] = []
  const cache = createReadCache({ room: ROOM, read: () => new Promise<number>((resolve) => answers.push(resolve)) })
  const first = cache.get('a')
  vi.advanceTimersByTime(MAX_AGE_MS - 1)
  answers[0]?.(1)
  expect(await first).toBe(1)
  expect(await cache.get('a')).toBe(1)
  vi.advanceTimersByTime(1)
  const second = cache.get('a')
  answers[1]?.(2)
  expect(await second).toBe(2)
})

test('a value that is dropped during its read is not kept', async () => {
  const { cache } = counting()
  const stale = cache.get('a')
  cache.forget('a')
  expect(await cache.get('a')).toBe(2)
  expect(await stale).toBe(1)
  expect(await cache.get('a')).toBe(2)
})

test('failures and refused values are read again', async () => {
  const { cache } = counting((value) => value > 1)
  expect(await cache.get('a')).toBe(1)
  expect(await cache.get('a')).toBe(2)
  expect(await cache.get('a')).toBe(2)
  const read = vi.fn().mockRejectedValueOnce(new Error('away')).mockResolvedValue(7)
  const failing = createReadCache({ room: ROOM, read })
  await expect(failing.get('a')).rejects.toThrow('away')
  expect(await failing.get('a')).toBe(7)
})

test('it holds as many entries as there is room for', async () => {
  const { cache, read } = counting(() => true, LITTLE)
  for (const key of ['a', 'b', 'c']) await cache.get(key)
  expect(await cache.get('c')).toBe(3)
  expect(await cache.get('a')).toBe(4)
  expect(read).toHaveBeenCalledTimes(4)
})

test('a key is new until a value was found for it, and stays known after it is dropped', async () => {
  const { cache } = counting((value) => value > 1)
  expect(cache.isNew('a')).toBe(true)
  const first = cache.get('a')
  // It is being read: another caller would cost nothing.
  expect(cache.isNew('a')).toBe(false)
  await first
  expect(cache.isNew('a')).toBe(true)
  await cache.get('a')
  cache.forget('a')
  cache.clear()
  expect(cache.isNew('a')).toBe(false)
})

test('a value takes the room that it needs, and what does not fit is read again', async () => {
  const read = vi.fn((key: string) => Promise.resolve(key.repeat(key === 'long' ? 10_000 : 1)))
  const cache = createReadCache({ room: roomOfBytes(5000), read })
  for (const key of ['short', 'long', 'long', 'short']) expect((await cache.get(key)).startsWith(key)).toBe(true)
  expect(read.mock.calls.map(([key]) => key)).toEqual(['short', 'long', 'long'])
})

describe('a group is forgotten', () => {
  const grouped = () => {
    let n = 0
    const read = vi.fn(() => Promise.resolve({ n: ++n }))
    const cache = createReadCache({
      room: roomOfBytes(1_000_000),
      read,
      groupOf: (key, value) => (value === undefined ? undefined : key.slice(0, 1)),
    })
    return { cache, read }
  }

  test('alone: those of others stay', async () => {
    const { cache, read } = grouped()
    for (const key of ['a1', 'a2', 'b1']) await cache.get(key)
    vi.advanceTimersByTime(1)
    cache.forgetGroup('a')
    vi.advanceTimersByTime(1)
    expect(cache.peek('a1')).toBeUndefined()
    expect(cache.peek('b1')).toEqual({ n: 3 })
    expect(await cache.get('a1')).toEqual({ n: 4 })
    expect(await cache.get('a1')).toEqual({ n: 4 })
    expect(read).toHaveBeenCalledTimes(4)
  })

  test('together with a read that has not ended, so that its group is not known yet', async () => {
    const { cache } = grouped()
    const before = cache.get('a1')
    vi.advanceTimersByTime(1)
    cache.forgetGroup('a')
    vi.advanceTimersByTime(1)
    expect(await cache.get('a1')).toEqual({ n: 2 })
    expect(await before).toEqual({ n: 1 })
    expect(await cache.get('a1')).toEqual({ n: 2 })
  })

  test('after a thousand others', async () => {
    const { cache } = grouped()
    await cache.get('a1')
    vi.advanceTimersByTime(1)
    cache.forgetGroup('a')
    for (let n = 0; n < 2000; n++) cache.forgetGroup(`other${n}`)
    vi.advanceTimersByTime(1)
    expect(await cache.get('a1')).toEqual({ n: 2 })
  })
})
