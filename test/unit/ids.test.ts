import { afterEach, expect, test, vi } from 'vitest'

import { FIRST_ID, firstIdAt, isId, LAST_ID, newId } from '../../src/core/ids.ts'

afterEach(() => vi.useRealTimers())

const msOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

test('an id is a UUIDv7 of the present millisecond', () => {
  const before = Date.now()
  const id = newId()
  expect(isId(id)).toBe(true)
  expect([isId(FIRST_ID), isId(LAST_ID)]).toEqual([false, false])
  expect(id).toMatch(/^.{14}7.{4}[89ab]/)
  expect(msOf(id)).toBeGreaterThanOrEqual(before)
  expect(msOf(id)).toBeLessThanOrEqual(Date.now() + 1)
})

test('100 000 ids increase, and no two share their random bits', () => {
  const ids = Array.from({ length: 100_000 }, newId)
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids.map((id) => id.slice(19))).size).toBe(ids.length)
})

test('ids increase within one millisecond, beyond their counter, and when the clock goes back', () => {
  // Later than any id of the other tests.
  const at = Date.now() + 3_600_000
  vi.useFakeTimers({ now: at, toFake: ['Date'] })
  const ids = Array.from({ length: 10_000 }, newId)
  vi.setSystemTime(at - 60_000)
  ids.push(newId())
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids).size).toBe(ids.length)
  // 10 000 need at most five counters: the clock is not left far behind.
  expect(msOf(ids.at(-1) ?? '') - at).toBeLessThanOrEqual(5)
})

test('the first id at an instant is less than its ids, and greater than those of the millisecond before', () => {
  const at = Date.now() + 7_200_000
  vi.useFakeTimers({ now: at, toFake: ['Date'] })
  const id = newId()
  expect(firstIdAt(new Date(at)) <= id).toBe(true)
  expect(firstIdAt(new Date(at + 1)) > id).toBe(true)
})
