import { expect, test } from 'vitest'

import type { EventType } from '../../src/core/events.ts'
import { newId } from '../../src/core/ids.ts'
import { NO_TEXT, tellNow } from '../../src/core/withdrawal.ts'
import { Broadcast } from '../../src/live/streams/batch.ts'
import { type Frame, frameOf, visibleTo } from '../../src/live/streams/frames.ts'
import type { StreamViewer } from '../../src/live/viewer.ts'
import { Ring } from '../../src/live/ring.ts'

const COMMENT = newId()

const PUBLIC: StreamViewer = { kind: 'public', readerId: null }
const KEY: StreamViewer = { kind: 'tenant' }
const MODERATOR: StreamViewer = { kind: 'moderator' }

function json(seq: number, status: string, comment: object = {}): string {
  const body = status === 'approved' || status === 'pending' ? 'text' : null
  const author = status === 'deleted' || status === 'withheld' ? null : { id: 'ann' }
  const told = { id: COMMENT, parentId: null, author, body, bodyHtml: body, status, revision: 1, ...comment }
  return JSON.stringify({ seq, actor: { kind: 'moderator' }, data: { comment: told } })
}

const frame = (seq: number, type: EventType, status: string, comment: object = {}): Frame => {
  const audience = status === 'pending' ? 'tenant' : 'public'
  return frameOf({ seq, type, audience, recipientId: null, json: json(seq, status, comment) })
}

const newRing = (): Ring => new Ring({ bytes: 0, maxBytes: 1_000_000 })

/** What a replay shows, by seq: whether there is a text, and an author. */
const read = (ring: Ring, viewer: StreamViewer = PUBLIC): unknown[] =>
  visibleTo(ring.after(0) ?? [], viewer).map(({ seq, json: text, bytes }) => {
    expect(bytes.toString()).toContain(`\ndata: ${text}\n\n`)
    const { body, bodyHtml, author } = JSON.parse(text).data.comment
    return [seq, body, bodyHtml, author === null ? null : 'author']
  })
const texts = (ring: Ring, viewer: StreamViewer = PUBLIC) =>
  read(ring, viewer).map((event) => (event as unknown[]).slice(0, 2))

test.each([
  // Sent as, present state, whether the text is shown.
  ['approved', 1, 'approved', 1, true],
  ['approved', 2, 'approved', 2, true],
  ['approved', 1, 'approved', 2, false],
  ['approved', 1, 'pending', 1, false],
  ['approved', 1, 'rejected', 1, false],
  ['approved', 1, 'deleted', 1, false],
  ['approved', 1, 'deleted', 0, false],
  ['pending', 1, 'pending', 1, true],
  ['pending', 1, 'approved', 1, true],
  ['pending', 1, 'pending', 2, false],
  ['pending', 1, 'rejected', 1, false],
  ['rejected', 1, 'approved', 1, true],
  ['rejected', 1, 'rejected', 1, false],
  ['withheld', 1, 'rejected', 1, false],
  ['withheld', 1, 'pending', 2, false],
  ['approved', 1, 'withheld', 1, false],
] as const)('told as %s, text %i; now %s, text %i: told again is %s', (then, revision, status, latest, isTold) => {
  const text = json(1, then, { revision, body: 'text', bodyHtml: '<p>"status":"deleted","revision":9</p>' })
  const told = tellNow(text, { status, revision: latest })
  if (isTold) return expect(told).toBe(text)
  const { comment } = JSON.parse(text).data
  // The author of a comment that was public goes with the text.
  const isGone = status === 'deleted' || (then === 'approved' && status !== 'approved')
  const author = isGone ? null : comment.author
  expect(JSON.parse(told)).toEqual({
    seq: 1,
    actor: { kind: 'moderator' },
    data: { comment: { ...comment, ...NO_TEXT, author } },
  })
})

test('an event about no comment is sent as it was written', () => {
  const text = '{"data":{"discussion":{"state":"open"}}}'
  expect(tellNow(text, null)).toBe(text)
  expect(tellNow(text, { status: 'deleted', revision: 0 })).toBe(text)
})

test("a kept event loses its comment's text when the comment leaves the view, and has it again when it returns", () => {
  const ring = newRing()
  ring.push(frame(1, 'comment_created', 'approved'))
  ring.push(frame(2, 'comment_created', 'approved', { id: newId(), parentId: COMMENT }))
  ring.push(frame(3, 'comment_rejected', 'withheld'))
  const reply = [2, 'text', 'text', 'author']
  for (const viewer of [PUBLIC, KEY]) {
    expect(read(ring, viewer)).toEqual([[1, null, null, null], reply, [3, null, null, null]])
  }
  expect(visibleTo(ring.after(0) ?? [], MODERATOR)).toEqual(ring.after(0))
  ring.push(frame(4, 'comment_approved', 'approved'))
  expect(read(ring)).toEqual([
    [1, 'text', 'text', 'author'],
    reply,
    [3, null, null, null],
    [4, 'text', 'text', 'author'],
  ])
  // Approved again with another text, it is that alone.
  ring.push(frame(5, 'comment_rejected', 'withheld'))
  ring.push(frame(6, 'comment_approved', 'approved', { revision: 2 }))
  expect(texts(ring)).toEqual([
    [1, null],
    [2, 'text'],
    [3, null],
    [4, null],
    [5, null],
    [6, 'text'],
  ])
  ring.push(frame(7, 'comment_deleted', 'deleted', { revision: 2 }))
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

test("a kept event loses its comment's text when the author edits it", () => {
  const ring = newRing()
  ring.push(frame(1, 'comment_created', 'approved'))
  ring.push(frame(2, 'comment_edited', 'approved', { revision: 2 }))
  for (const viewer of [PUBLIC, KEY]) {
    expect(texts(ring, viewer)).toEqual([
      [1, null],
      [2, 'text'],
    ])
  }
  expect(texts(ring, MODERATOR)).toEqual([
    [1, 'text'],
    [2, 'text'],
  ])
})

test('a key gets a waiting comment with its text until it is rejected; the rejection itself is replayed without', () => {
  const ring = newRing()
  ring.push(frame(1, 'comment_created', 'pending'))
  expect(texts(ring, KEY)).toEqual([[1, 'text']])
  ring.push(frame(2, 'comment_rejected', 'rejected', { body: 'text', bodyHtml: 'text' }))
  expect(texts(ring, KEY)).toEqual([
    [1, null],
    [2, null],
  ])
})

test('live, keys get every event as it was written; late, as in a replay', () => {
  const ring = newRing()
  const frames = [frame(1, 'comment_created', 'approved'), frame(2, 'comment_edited', 'approved', { revision: 2 })]
  for (const each of frames) ring.push(each)
  expect(new Broadcast(frames).for(KEY)?.frames).toEqual(frames)
  expect(new Broadcast(frames, { isLate: true }).for(KEY)?.frames).toEqual(visibleTo(frames, KEY))
  expect(new Broadcast(frames, { isLate: true }).for(MODERATOR)?.frames).toEqual(frames)
})

test('an event read before a withdrawal and kept after it has no text either', () => {
  const ring = newRing()
  ring.push(frame(3, 'comment_rejected', 'rejected'))
  ring.prepend([frame(1, 'comment_created', 'approved'), frame(2, 'comment_pinned', 'approved')])
  expect(texts(ring)).toEqual([
    [1, null],
    [2, null],
    [3, null],
  ])
})

test('an event read after a withdrawal whose message has not arrived yet stays without its text', () => {
  const ring = newRing()
  ring.push(frame(2, 'comment_approved', 'approved'))
  const created = frame(1, 'comment_created', 'approved')
  const withdrawn = tellNow(created.json, { status: 'rejected', revision: 1 })
  ring.prepend([frameOf({ ...created, withdrawn })])
  expect(read(ring)).toEqual([
    [1, null, null, null],
    [2, 'text', 'text', 'author'],
  ])
})

test('an approval that is read late, after the next rejection, restores no text', () => {
  const ring = newRing()
  const late = (each: Frame): Frame =>
    frameOf({ ...each, withdrawn: tellNow(each.json, { status: 'rejected', revision: 1 }) })
  ring.push(frame(1, 'comment_created', 'approved'))
  ring.push(frame(2, 'comment_rejected', 'rejected'))
  ring.push(late(frame(3, 'comment_approved', 'approved')))
  expect(texts(ring)).toEqual([
    [1, null],
    [2, null],
    [3, null],
  ])
})

test('a text that waited, was approved and waits again by reports is told to keys as it is by the database', () => {
  const ring = newRing()
  ring.push(frame(1, 'comment_created', 'pending'))
  ring.push(frame(2, 'comment_edited', 'pending', { revision: 2 }))
  ring.push(frame(3, 'comment_approved', 'approved', { revision: 2 }))
  const held = JSON.parse(json(4, 'withheld'))
  const byReports = JSON.stringify({ ...held, actor: { kind: 'system' }, type: 'comment_edited' })
  ring.push(frameOf({ ...frame(4, 'comment_edited', 'withheld'), withdrawn: null, json: byReports }))
  expect(texts(ring, KEY)).toEqual([
    [1, null],
    [2, 'text'],
    [3, null],
    [4, null],
  ])
})
