import { expect, test } from 'vitest'

import { partsOf } from '../../src/console/pages/moderation/marks.ts'
import { wordsIn } from '../../src/console/pages/moderation/search/words.ts'
import { type Before, inverseOf } from '../../src/console/pages/moderation/undo.ts'
import { hasLeft, orderOf, placesAfter } from '../../src/console/pages/moderation/view/order.ts'

const comment = (id: string, status: Before['status'], isPinned = false): Before => ({
  id,
  revision: 1,
  status,
  isPinned,
})
const PENDING = comment('1', 'pending')
const APPROVED = comment('2', 'approved')
const PINNED = comment('3', 'approved', true)
const REJECTED = comment('4', 'rejected')

test('a pin is undone by an unpin, and the other way round', () => {
  expect(inverseOf({ verb: 'pin', comments: [APPROVED] })).toEqual({
    steps: [{ verb: 'unpin', comments: [APPROVED] }],
    because: null,
  })
  expect(inverseOf({ verb: 'pin', comments: [] })).toEqual({ steps: [], because: null })
  expect(inverseOf({ verb: 'unpin', comments: [PINNED] }).steps).toEqual([{ verb: 'pin', comments: [PINNED] }])
})

test('a rejected comment that was approved is approved again, and pinned if it was', () => {
  expect(inverseOf({ verb: 'reject', comments: [APPROVED, PINNED] })).toEqual({
    steps: [
      { verb: 'approve', comments: [APPROVED, PINNED] },
      { verb: 'pin', comments: [PINNED] },
    ],
    because: null,
  })
  expect(inverseOf({ verb: 'approve', comments: [REJECTED] })).toEqual({
    steps: [{ verb: 'reject', comments: [REJECTED] }],
    because: null,
  })
})

test('a comment that waited cannot wait again: undo says so, and what to do instead', () => {
  const approved = inverseOf({ verb: 'approve', comments: [PENDING, REJECTED] })
  expect(approved.steps).toEqual([{ verb: 'reject', comments: [REJECTED] }])
  expect(approved.because).toMatch(/cannot wait again.*reject/)
  expect(inverseOf({ verb: 'reject', comments: [PENDING] })).toEqual({
    steps: [],
    because: expect.stringMatching(/cannot wait again.*approve/),
  })
})

test('answered reports stay answered', () => {
  expect(inverseOf({ verb: 'approve', comments: [APPROVED] })).toEqual({
    steps: [],
    because: expect.stringContaining('reports'),
  })
})

test('what was reviewed stays reviewed', () => {
  expect(inverseOf({ verb: 'review', comments: [APPROVED] })).toMatchObject({ steps: [] })
})

const VIEW = { status: 'pending', reason: null, readerId: null, discussionId: null, sort: null } as const

test('a queue is in the order of time, or in that of the latest answer that had a comment', () => {
  const places = placesAfter(placesAfter(new Map(), ['c', 'a', 'b']), ['b', 'd'])
  const ordered = (view: Parameters<typeof orderOf>[0]) => ['d', 'c', 'b', 'a'].sort(orderOf(view, places)).join('')
  expect(ordered(VIEW)).toBe('abcd')
  expect(ordered({ ...VIEW, status: 'unreviewed' })).toBe('dcba')
  expect(ordered({ ...VIEW, status: 'rejected', sort: 'oldest' })).toBe('abcd')
  expect(ordered({ ...VIEW, sort: 'most_reported' })).toBe('cbda')
})

test('a comment that is not in an answer has left the queue, or may be on a later page', () => {
  expect(hasLeft(VIEW, ['b', 'd'], true)('c')).toBe(true)
  expect(hasLeft(VIEW, ['b', 'd'], true)('e')).toBe(false)
  expect(hasLeft(VIEW, ['b', 'd'], false)('e')).toBe(true)
  expect(hasLeft(VIEW, [], true)('a')).toBe(false)
  expect(hasLeft({ ...VIEW, sort: 'busiest' }, ['b', 'd'], true)('c')).toBe(false)
})

test('a text is cut at its marks, which may overlap, lie outside of it, or have no place', () => {
  const marked = (text: string, ...marks: [start: number | null, end: number | null][]) =>
    partsOf(
      text,
      marks.map(([start, end]) => ({ start, end })),
    )
      .map((part) => (part.isMarked ? `[${part.text}]` : part.text))
      .join('')
  expect(marked('one two three')).toBe('one two three')
  expect(marked('one two three', [8, 13], [0, 3])).toBe('[one] two [three]')
  expect(marked('one two three', [0, 7], [4, 9])).toBe('[one two][ t]hree')
  expect(marked('one two three', [0, 9], [2, 5])).toBe('[one two t]hree')
  expect(marked('one', [2, 99], [50, 60], [null, null])).toBe('on[e]')
  expect(marked('😀 hold', [3, 7])).toBe('😀 [hold]')
  expect(marked('', [0, 1])).toBe('')
})

test('the words of a search are marked in a text: whole ones, the last one as a beginning, folded', () => {
  const found = (text: string, search: string) =>
    wordsIn(text, search).map(({ start, end }) => text.slice(start!, end!))
  expect(found('The Café in Zürich, cafés', 'cafe zur')).toEqual(['Café', 'Zürich'])
  expect(found('😀 cafe', 'CAF')).toEqual(['cafe'])
  expect(found('Cafe\u0301!', 'café')).toEqual(['Cafe\u0301'])
  expect(found('私は東京に行く', '東京')).toEqual(['東京'])
  expect(found('ağaç', 'agac')).toEqual(['ağaç'])
  expect(found('nothing', ' -- ')).toEqual([])
  expect(found('كتاب', '\u0640')).toEqual([])
})
