import { expect, test } from 'vitest'

import { type Before, inverseOf } from '../../src/console/pages/moderation/undo.ts'

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
