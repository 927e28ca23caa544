import { expect, test } from 'vitest'

import type { EventType } from '../../src/core/events.ts'
import { newId } from '../../src/core/ids.ts'
import { type Frame, frameOf, visibleTo } from '../../src/domains/stream/frames.ts'
import { Ring } from '../../src/domains/stream/ring.ts'
import { withoutText } from '../../src/domains/stream/withdrawal.ts'

const COMMENT = newId()

function frame(seq: number, type: EventType, status: string, comment: object = {}): Frame {
  const body = status === 'approved' ? 'text' : null
  const data = {
    comment: {
      id: COMMENT,
      parentId: null,
      author: { id: 'ann' },
      body,
      bodyHtml: body,
      status,
      revision: 1,
      ...comment,
    },
  }
  return frameOf({ seq, type, audience: 'public', recipientId: null, json: JSON.stringify({ seq, data }) })
}

const newRing = (): Ring => new Ring({ bytes: 0, maxBytes: 1_000_000 })

/** What a ticket's stream would read, by seq: whether there is a text, and an author. */
const read = (ring: Ring): unknown[] =>
  visibleTo(ring.after(0) ?? [], { kind: 'public', readerId: null }).map(({ seq, json, bytes }) => {
    expect(bytes.toString()).toContain(`\ndata: ${json}\n\n`)
    const { body, bodyHtml, author } = JSON.parse(json).data.comment
    return [seq, body, bodyHtml, author === null ? null : 'author']
  })

test('what is kept of a comment loses its text when it leaves the view, and has it again when it comes back', () => {
  const ring = newRing()
  ring.push(frame(1, 'comment_created', 'approved'))
  ring.push(frame(2, 'comment_created', 'approved', { id: newId(), parentId: COMMENT }))
  ring.push(frame(3, 'comment_rejected', 'rejected'))
  const reply = [2, 'text', 'text', 'author']
  expect(read(ring)).toEqual([[1, null, null, 'author'], reply, [3, null, null, 'author']])
  expect(visibleTo(ring.after(0) ?? [], { kind: 'tenant' })).toEqual(ring.after(0))
  ring.push(frame(4, 'comment_approved', 'approved'))
  expect(read(ring)).toEqual([
    [1, 'text', 'text', 'author'],
    reply,
    [3, null, null, 'author'],
    [4, 'text', 'text', 'author'],
  ])
  // Approved again with another text, it is that alone.
  ring.push(frame(5, 'comment_rejected', 'rejected'))
  ring.push(frame(6, 'comment_approved', 'approved', { revision: 2 }))
  expect(read(ring).map((event) => (event as unknown[]).slice(0, 2))).toEqual([
    [1, null],
    [2, 'text'],
    [3, null],
    [4, null],
    [5, null],
    [6, 'text'],
  ])
  ring.push(frame(7, 'comment_deleted', 'deleted', { author: null }))
  expect(read(ring)).toEqual([
    [1, null, null, null],
    reply,
    [3, null, null, null],
    [4, null, null, null],
    [5, null, null, null],
    [6, null, null, null],
    [7, null, null, null],
  ])
})

test('what was read before a withdrawal and is taken in after it has no text either', () => {
  const ring = newRing()
  ring.push(frame(3, 'comment_rejected', 'rejected'))
  ring.prepend([frame(1, 'comment_created', 'approved'), frame(2, 'comment_pinned', 'approved')])
  expect(read(ring).map((event) => (event as unknown[]).slice(0, 2))).toEqual([
    [1, null],
    [2, null],
    [3, null],
  ])
})

test('what was read after a withdrawal of which there is no news yet stays without its text', () => {
  const ring = newRing()
  ring.push(frame(2, 'comment_approved', 'approved'))
  const created = frame(1, 'comment_created', 'approved')
  const json = withoutText(created.json, 'rejected')
  ring.prepend([frameOf({ ...created, withdrawn: json })])
  expect(read(ring)).toEqual([
    [1, null, null, 'author'],
    [2, 'text', 'text', 'author'],
  ])
})
