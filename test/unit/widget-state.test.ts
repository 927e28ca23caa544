import { describe, expect, test } from 'vitest'

import type { Comment, StreamEvent } from '../../src/clients/browser/stream.ts'
import { applyEvent } from '../../src/clients/widget/events.ts'
import { ThreadState, TOP } from '../../src/clients/widget/state.ts'
import { addOwn } from '../../src/clients/widget/writing/own.ts'

let seq = 0

const commentOf = (id: string, more: Partial<Comment> = {}): Comment => ({
  id,
  discussionId: 'd',
  parentId: null,
  depth: 0,
  author: { id: 'r', externalId: 'bob', name: 'Bob', avatarUrl: null, profileUrl: null, badges: [] },
  body: id,
  bodyHtml: `<p>${id}</p>`,
  status: 'approved',
  pinnedAt: null,
  editedAt: null,
  deletedAt: null,
  revision: 1,
  replyCount: 0,
  reactionCounts: {},
  viewerReaction: null,
  authorMuted: null,
  decision: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  ...more,
})

const eventOf = (
  type: `comment_${'created' | 'edited' | 'pinned' | 'deleted' | 'approved' | 'rejected'}`,
  comment: Comment,
  data: object = {},
) =>
  ({
    id: 'e',
    type,
    discussionId: 'd',
    seq: ++seq,
    occurredAt: '2026-01-01T00:00:00.000Z',
    actor: { kind: 'system' },
    data: { comment, ...data },
  }) satisfies StreamEvent

/** A page of these comments, as the reader `ann` sees it. */
function pageOf(sort: 'newest' | 'oldest' | 'top', ...comments: Comment[]) {
  const state = new ThreadState(sort)
  state.exactCount = comments.length
  state.addPage(TOP, { data: comments, nextCursor: null, hasMore: false })
  const hear = (...args: Parameters<typeof eventOf>): void => applyEvent(state, eventOf(...args), 'ann')
  return { state, hear, top: state.list(TOP) }
}

const ann = { id: 'a', externalId: 'ann', name: 'Ann', avatarUrl: null, profileUrl: null, badges: [] }
const gone = { body: null, bodyHtml: null } as const

test('a comment that is pinned before its page is read waits: later pages no longer have it', () => {
  const state = new ThreadState('newest')
  state.exactCount = 4
  state.addPage(TOP, { data: [commentOf('4'), commentOf('3')], nextCursor: 'after 3', hasMore: true })
  applyEvent(state, eventOf('comment_edited', commentOf('2')), 'ann')
  const pinned = commentOf('1', { pinnedAt: '2026-01-01T00:00:00.000Z', replyCount: 2 })
  applyEvent(state, eventOf('comment_pinned', pinned), 'ann')
  const top = state.list(TOP)
  expect({ ...top, count: state.count }).toMatchObject({ ids: ['4', '3'], waiting: ['1'], count: 4 })
  state.showWaiting(top, Infinity)
  expect(top.ids).toEqual(['1', '4', '3'])
  state.addPage(TOP, { data: [commentOf('2')], nextCursor: null, hasMore: false })
  expect(top.ids).toEqual(['1', '4', '3', '2'])
  expect(state.comments.get('1')).toMatchObject({ pinnedAt: pinned.pinnedAt, replyCount: 2 })
})

test("another's new comment waits, and on request is shown below pinned comments", () => {
  const { state, hear, top } = pageOf(
    'newest',
    commentOf('1', { pinnedAt: '2026-01-01T00:00:00.000Z' }),
    commentOf('2'),
  )
  hear('comment_created', commentOf('3'))
  hear('comment_created', commentOf('4'))
  expect([top.ids, top.waiting, state.count]).toEqual([['1', '2'], ['3', '4'], 4])
  expect(state.showWaiting(top, 20)).toEqual(['3', '4'])
  expect([top.ids, top.waiting]).toEqual([['1', '4', '3', '2'], []])
})

test('many waiting comments are shown a page at a time, the newest first, each in its place', () => {
  for (const sort of ['newest', 'top'] as const) {
    const { state, hear, top } = pageOf(sort, commentOf('1'))
    for (const id of ['2', '3', '4', '5', '6']) hear('comment_created', commentOf(id))
    expect(state.showWaiting(top, 2)).toEqual(['5', '6'])
    expect([top.ids, top.waiting]).toEqual([
      ['6', '5', '1'],
      ['2', '3', '4'],
    ])
    hear('comment_created', commentOf('7'))
    state.showWaiting(top, 2)
    expect(top.ids).toEqual(['7', '6', '5', '4', '1'])
    state.showWaiting(top, 2)
    expect([top.ids, top.waiting]).toEqual([['7', '6', '5', '4', '3', '2', '1'], []])
  }
})

test('with the oldest first, the newest that wait are shown first, at the end, and the others above them', () => {
  const { state, hear, top } = pageOf('oldest', commentOf('1'))
  top.hasMore = true
  for (const id of ['4', '5', '6', '7']) hear('comment_created', commentOf(id))
  expect(state.showWaiting(top, 2)).toEqual(['6', '7'])
  expect(top.ids).toEqual(['1', '6', '7'])
  expect(state.showWaiting(top, 2)).toEqual(['4', '5'])
  expect(top.ids).toEqual(['1', '4', '5', '6', '7'])
  state.addPage(TOP, { data: ['2', '3'].map((id) => commentOf(id)), nextCursor: null, hasMore: false })
  expect(top.ids).toEqual(['1', '2', '3', '4', '5', '6', '7'])
})

test('with the oldest first, further pages stand above new comments that are shown already', () => {
  const { state, hear, top } = pageOf(
    'oldest',
    commentOf('9', { pinnedAt: '2026-01-01T00:00:00.000Z' }),
    commentOf('1'),
  )
  top.hasMore = true
  hear('comment_created', commentOf('8'))
  state.showWaiting(top, 20)
  // Its pin is gone, its place is not.
  hear('comment_edited', commentOf('9'))
  state.addPage(TOP, { data: ['2', '3'].map((id) => commentOf(id)), nextCursor: null, hasMore: false })
  expect(top.ids).toEqual(['9', '1', '2', '3', '8'])
})

test('with the oldest first, a new comment is shown at the end at once, if the end is shown', () => {
  const { state, hear, top } = pageOf('oldest', commentOf('1'))
  hear('comment_created', commentOf('2'))
  expect([top.ids, top.waiting]).toEqual([['1', '2'], []])
  top.hasMore = true
  hear('comment_created', commentOf('3'))
  expect([top.ids, top.waiting, state.count]).toEqual([['1', '2'], ['3'], 3])
})

test("the reader's own comment is shown at once and once, whichever comes first: the answer or the event", () => {
  const own = commentOf('2', { author: ann })
  for (const isEventFirst of [true, false]) {
    const { state, hear, top } = pageOf('newest', commentOf('1'))
    if (isEventFirst) hear('comment_created', own)
    state.add(own)
    if (!isEventFirst) hear('comment_created', own)
    expect([top.ids, top.waiting, state.count]).toEqual([['2', '1'], [], 2])
  }
})

test('replies are counted at their parent once, loaded or not', () => {
  const { state, hear } = pageOf('newest', commentOf('1'))
  // One more, beyond the page.
  state.exactCount = 2
  const reply = commentOf('2', { parentId: '1', depth: 1 })
  hear('comment_created', reply)
  expect([state.comments.get('1')?.replyCount, state.list('1').waiting]).toEqual([1, ['2']])
  hear('comment_rejected', { ...reply, ...gone, status: 'rejected' })
  expect([state.comments.get('1')?.replyCount, state.list('1').waiting, state.count]).toEqual([0, [], 2])
  hear('comment_approved', reply)
  expect([state.comments.get('1')?.replyCount, state.count]).toEqual([1, 3])
  hear('comment_deleted', commentOf('unknown', { ...gone, parentId: '1', status: 'deleted' }))
  expect([state.comments.get('1')?.replyCount, state.count]).toEqual([0, 2])
})

test('an approval of a comment that was approved before, which only its author gets, counts nothing', () => {
  const { state, hear } = pageOf('newest', commentOf('1', { author: ann }))
  hear('comment_approved', commentOf('1', { author: ann }), { wasApproved: true })
  hear('comment_approved', commentOf('unknown', { author: ann }), { wasApproved: true })
  expect(state.count).toBe(1)
})

test('a withdrawn comment leaves its place; one that returns is shown there', () => {
  const { state, hear, top } = pageOf('newest', commentOf('1'), commentOf('2'))
  hear('comment_edited', commentOf('1', { ...gone, status: 'pending' }))
  expect([top.ids, state.comments.get('1'), state.count]).toMatchObject([['1', '2'], { ...gone, status: 'pending' }, 1])
  hear('comment_approved', commentOf('1'))
  expect([top.ids, state.comments.get('1')?.body, state.count]).toEqual([['1', '2'], '1', 2])
})

test("the reader's own comment that must wait again is shown only to them", () => {
  const own = commentOf('1', { author: ann })
  const taken = eventOf('comment_edited', { ...own, ...gone, status: 'pending' })
  for (const [me, body] of [
    ['ann', '1'],
    ['bob', null],
    ['', null],
  ] as const) {
    const { state } = pageOf('newest', own)
    applyEvent(state, taken, me)
    expect(state.comments.get('1')).toMatchObject({ status: 'pending', body })
  }
})

test('a waiting comment is not subtracted a second time when it is deleted', () => {
  const { state, hear } = pageOf('newest', commentOf('1', { replyCount: 1 }), commentOf('2'), commentOf('3'))
  hear('comment_edited', commentOf('1', { ...gone, status: 'pending', replyCount: 1 }))
  hear('comment_deleted', commentOf('1', { ...gone, status: 'deleted', replyCount: 1 }))
  hear('comment_deleted', commentOf('2', { ...gone, status: 'deleted' }))
  state.comments.clear()
  expect(state.count).toBe(1)
})

test('one that is not loaded is not subtracted a second time either', () => {
  for (const [withdrawal, status] of [
    ['comment_edited', 'pending'],
    ['comment_rejected', 'rejected'],
  ] as const) {
    const { state, hear } = pageOf('newest')
    state.exactCount = 3
    const comment = { ...gone, replyCount: 1 }
    hear(withdrawal, commentOf('1', { ...comment, status }))
    expect(state.count).toBe(2)
    hear('comment_deleted', commentOf('1', { ...comment, status: 'deleted' }))
    expect(state.count).toBe(2)
    hear('comment_rejected', commentOf('2', { ...comment, status: 'rejected' }))
    hear('comment_approved', commentOf('2', { replyCount: 1 }))
    hear('comment_deleted', commentOf('2', { ...comment, status: 'deleted' }))
    expect(state.count).toBe(1)
  }
})

test('a reply that stays as a tombstone counts at its parent as long as it has a reply in view', () => {
  const tree = [
    commentOf('1', { replyCount: 1 }),
    commentOf('2', { parentId: '1', depth: 1, replyCount: 1 }),
    commentOf('3', { parentId: '2', depth: 2 }),
  ] as const
  const tombstone = { ...tree[1], ...gone, status: 'deleted' } as const
  for (const isLoaded of [true, false]) {
    const { state, hear } = pageOf('newest', tree[0])
    if (isLoaded) state.addPage('1', { data: [tree[1]], nextCursor: null, hasMore: false })
    const replies = () => state.comments.get('1')?.replyCount
    hear('comment_deleted', tombstone)
    expect(replies()).toBe(1)
    if (!isLoaded) continue
    hear('comment_rejected', { ...tree[2], ...gone, status: 'rejected' })
    expect(replies()).toBe(0)
    hear('comment_approved', tree[2])
    expect(replies()).toBe(1)
  }
})

test('an announced reply that becomes a tombstone stays announced, because it has replies', () => {
  const { state, hear } = pageOf('newest', commentOf('1'))
  const reply = commentOf('2', { parentId: '1', depth: 1 })
  hear('comment_created', reply)
  hear('comment_created', commentOf('3', { parentId: '2', depth: 2 }))
  hear('comment_deleted', { ...reply, ...gone, status: 'deleted', replyCount: 1 })
  expect([state.list('1').waiting, state.comments.get('1')?.replyCount]).toEqual([['2'], 1])
})

test('events of comments that are not loaded change nothing, except new comments', () => {
  const { state, hear, top } = pageOf('newest', commentOf('1'))
  hear('comment_edited', commentOf('9', { revision: 2 }))
  expect([top.waiting, state.count, state.comments.has('9')]).toEqual([[], 1, false])
})

test("the reader's own waiting comment is not counted until it is approved", () => {
  const { state, hear, top } = pageOf('newest', commentOf('1'))
  state.add(commentOf('2', { author: ann, status: 'pending' }))
  expect([top.ids, state.count]).toEqual([['2', '1'], 1])
  hear('comment_approved', commentOf('2', { author: ann }))
  expect([top.ids, state.count, state.comments.get('2')?.status]).toEqual([['2', '1'], 2, 'approved'])
})

test("a reaction of the reader's own shows in all their windows, another's is only counted", () => {
  const { state } = pageOf('newest', commentOf('1'))
  const react = (reader: typeof ann, type: string, reactionCounts: Record<string, number>): void =>
    applyEvent(
      state,
      {
        ...eventOf('comment_created', commentOf('1')),
        type: 'reaction_toggled',
        data: { commentId: '1', type, previousType: null, reactionCounts, reader },
      },
      'ann',
    )
  react({ ...ann, externalId: 'bob' }, 'like', { like: 1 })
  expect(state.comments.get('1')?.viewerReaction).toBeNull()
  react(ann, 'love', { like: 1, love: 1 })
  expect(state.comments.get('1')).toMatchObject({ reactionCounts: { like: 1, love: 1 }, viewerReaction: 'love' })
})

test("the reader's own deleted comment leaves a tombstone if it has replies, and nothing without", () => {
  const { state, top } = pageOf('newest', commentOf('1', { replyCount: 1 }), commentOf('2'))
  state.remove('1')
  state.remove('2')
  expect([top.ids, state.comments.get('1')]).toMatchObject([['1'], { status: 'deleted', body: null, author: null }])
})

describe("the reader's own comments that wait, where the code for writers comes late", () => {
  const isOwn = ({ author }: Comment): boolean => author?.externalId === ann.externalId
  const heldOf = (...own: Comment[]) => {
    const page = pageOf('newest', commentOf('1'))
    page.state.hold(own)
    return { ...page, come: () => addOwn({ state: page.state, isOwn }) }
  }
  const waiting = (id: string, more: Partial<Comment> = {}) =>
    commentOf(id, { status: 'pending', author: ann, ...more })

  test('are in their lists, the newest first', () => {
    const { state, top, come } = heldOf(
      waiting('4', { parentId: 'unknown' }),
      waiting('3'),
      waiting('2', { parentId: '1' }),
    )
    expect(top.ids).toEqual(['1'])
    come()
    come()
    expect([top.ids, state.list('1').ids, state.list('unknown').ids, state.count]).toEqual([['3', '1'], ['2'], [], 1])
    state.addPage(TOP, { data: [commentOf('unknown')], nextCursor: null, hasMore: false })
    come()
    expect(state.list('unknown').ids).toEqual(['4'])
  })

  test('are public if an event has approved them meanwhile, and no longer count once they are deleted', () => {
    const { state, hear, top, come } = heldOf(waiting('2'))
    hear('comment_approved', commentOf('2', { author: ann }))
    come()
    expect([state.comments.get('2')?.status, top.ids, top.waiting, state.count]).toEqual([
      'approved',
      ['2', '1'],
      [],
      2,
    ])
    hear('comment_deleted', commentOf('2', { ...gone, author: null, status: 'deleted' }))
    expect(state.count).toBe(1)
  })

  test('are gone if an event has deleted them meanwhile', () => {
    const { state, hear, top, come } = heldOf(waiting('2'))
    hear('comment_deleted', commentOf('2', { ...gone, author: null, status: 'deleted' }))
    come()
    expect([top.ids, top.waiting, state.count]).toEqual([['1'], [], 1])
  })

  test('are rejected if an event has rejected them meanwhile, also below a comment that is not loaded', () => {
    const { state, hear, come } = heldOf(waiting('3', { parentId: 'unknown' }), waiting('2'))
    for (const id of ['2', '3']) hear('comment_rejected', commentOf(id, { ...gone, author: null, status: 'rejected' }))
    come()
    expect(['2', '3'].map((id) => state.comments.get(id))).toMatchObject([
      { status: 'rejected', body: '2' },
      { status: 'rejected', body: '3' },
    ])
    expect(state.count).toBe(1)
  })
})
