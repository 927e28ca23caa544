import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { Wheel } from '../../src/core/process/wheel.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_050 })
})

afterEach(() => {
  vi.useRealTimers()
})

test('each item is due once, at its last time or up to 0.1 s later, whatever was added, postponed and removed', () => {
  const step = fc.oneof(
    fc.record({ put: fc.integer({ min: 0, max: 20 }), inMs: fc.integer({ min: -1000, max: 200_000 }) }),
    fc.record({ out: fc.integer({ min: 0, max: 20 }) }),
    fc.record({ wait: fc.integer({ min: 0, max: 60_000 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const wanted = new Map<number, number>()
      const wheel = new Wheel<number>((item, now) => {
        const at = wanted.get(item)
        expect(at).toBeDefined()
        expect(now).toBeGreaterThanOrEqual(at ?? Infinity)
        expect(now - (at ?? 0)).toBeLessThanOrEqual(200)
        wanted.delete(item)
      })
      for (const one of steps) {
        if ('put' in one) {
          const at = Date.now() + one.inMs
          wheel.put(one.put, at)
          // An item in the past is due at once.
          wanted.set(one.put, Math.max(at, Date.now()))
        } else if ('out' in one) {
          wheel.delete(one.out)
          wanted.delete(one.out)
        } else vi.advanceTimersByTime(one.wait)
      }
      vi.advanceTimersByTime(200_200)
      expect([...wanted]).toEqual([])
      expect(vi.getTimerCount()).toBe(0)
    }),
  )
})

test('an item can postpone itself while it is due', () => {
  const seen: number[] = []
  const begun = Date.now()
  const wheel = new Wheel<string>((item, now) => {
    seen.push(now - begun)
    if (seen.length < 3) wheel.put(item, now + 1000)
  })
  wheel.put('heartbeat', begun + 1000)
  vi.advanceTimersByTime(10_000)
  expect(seen).toHaveLength(3)
  expect(seen.map((at) => Math.floor(at / 1000))).toEqual([1, 2, 3])
})

test('after a long pause of the process all overdue items are due at once', () => {
  const due = vi.fn()
  const wheel = new Wheel<number>(due)
  for (let n = 0; n < 1000; n++) wheel.put(n, Date.now() + n * 200)
  vi.setSystemTime(Date.now() + 300_000)
  vi.advanceTimersByTime(100)
  expect(due).toHaveBeenCalledTimes(1000)
})
