import { describe, expect, test } from 'vitest'

import { nextComment, nextDiscussionState } from '../../src/domains/moderation/transitions.ts'

const REFUSED = 'invalid_transition'

const outcomeOf = <T>(work: () => T): T | string => {
  try {
    return work()
  } catch (error) {
    return (error as { code: string }).code
  }
}

test.each([
  ['lock', { open: 'locked', locked: null, archived: REFUSED }],
  ['unlock', { open: null, locked: 'open', archived: REFUSED }],
  ['archive', { open: 'archived', locked: 'archived', archived: null }],
] as const)('%s leads to %o', (verb, expected) => {
  for (const state of ['open', 'locked', 'archived'] as const) {
    expect(outcomeOf(() => nextDiscussionState(verb, state))).toBe(expected[state])
  }
})

describe('a comment', () => {
  const plain = { isPinned: false, awaitsAnswer: false }

  test.each([
    ['approve', { pending: 'approved', approved: REFUSED, rejected: 'approved', deleted: REFUSED }],
    ['reject', { pending: 'rejected', approved: 'rejected', rejected: REFUSED, deleted: REFUSED }],
    ['pin', { pending: REFUSED, approved: 'approved', rejected: REFUSED, deleted: REFUSED }],
    ['unpin', { pending: REFUSED, approved: null, rejected: REFUSED, deleted: REFUSED }],
  ] as const)('%s leads to %o', (verb, expected) => {
    for (const status of ['pending', 'approved', 'rejected', 'deleted'] as const) {
      const outcome = outcomeOf(() => nextComment(verb, { ...plain, status }))
      expect(typeof outcome === 'object' && outcome !== null ? outcome.status : outcome).toBe(expected[status])
    }
  })

  test('that is pinned loses its pin by rejection, and keeps it when its reports are answered', () => {
    const pinned = { status: 'approved', isPinned: true } as const
    const rejected = nextComment('reject', { ...pinned, awaitsAnswer: false })
    expect(rejected).toEqual({ status: 'rejected', isPinned: false, answersReports: true })
    const answered = nextComment('approve', { ...pinned, awaitsAnswer: true })
    expect(answered).toEqual({ status: 'approved', isPinned: true, answersReports: true })
    expect(nextComment('pin', { ...pinned, awaitsAnswer: true })).toBeNull()
    expect(nextComment('unpin', { ...pinned, awaitsAnswer: true })).toMatchObject({
      isPinned: false,
      answersReports: false,
    })
  })
})
