import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { createReadCache, MAX_AGE_MS } from '../../src/core/read-cache.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => vi.useRealTimers())

/** A cache in front of a counter: each read finds the next number. */
function counting(keep?: (value: number) => boolean) {
  let n = 0
  const read = vi.fn(() => Promise.resolve(++n))
  return { read, cache: createReadCache({ max: 2, read, ...(keep && { keep }) }) }
}

test('concurrent reads of one key are one read', async () => {
  const { cache, read } = counting()
  expect(await Promise.all([cache.get('a'), cache.get('a'), cache.get('b')])).toEqual([1, 1, 2])
  expect(read).toHaveBeenCalledTimes(2)
})

test('an entry is read again once it is too old, counted from the start of its read', async () => {
  const answers: ((value: number) => void)[] = []
  const cache = createReadCache({ max: 2, read: () => new Promise<number>((resolve) => answers.push(resolve)) })
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
  const failing = createReadCache({ max: 2, read })
  await expect(failing.get('a')).rejects.toThrow('away')
  expect(await failing.get('a')).toBe(7)
})

test('it holds at most `max` entries', async () => {
  const { cache, read } = counting()
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
