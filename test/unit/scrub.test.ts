import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { NO_TEXT } from '../../src/core/withdrawal.ts'
import { scrubEvent } from '../../src/domains/erasure/scrub.ts'

const [me, other] = [newId(), newId()]
const reader = (id: string) => ({
  id,
  externalId: `external-${id}`,
  name: 'Name',
  avatarUrl: null,
  profileUrl: null,
  badges: [],
})
const actor = (readerId: string) => ({ kind: 'reader', readerId, externalId: `external-${readerId}` })
const comment = (id: string) => ({
  id: newId(),
  author: reader(id),
  body: `by ${id}`,
  bodyHtml: '<p>',
  status: 'approved',
})

function scrub(who: object, data: object, isOnTheirComment = false) {
  const isToThem = (data as { recipient?: { readerId: string } }).recipient?.readerId === me
  const texts = { actor: JSON.stringify(who), data: JSON.stringify(data) }
  const after = scrubEvent(texts, { readerId: me, isOnTheirComment, isToThem })
  if (after === null) return null
  const { hasLostRecipient } = after
  return { actor: JSON.parse(after.actor) as unknown, data: JSON.parse(after.data) as unknown, hasLostRecipient }
}

test('their comment loses author and text, and keeps the rest', () => {
  const mine = comment(me)
  expect(scrub(actor(me), { comment: mine })).toEqual({
    actor: { kind: 'reader' },
    data: { comment: { ...mine, author: null, ...NO_TEXT } },
    hasLostRecipient: false,
  })
})

test("a moderator's change of their comment keeps the moderator", () => {
  expect(scrub({ kind: 'moderator' }, { comment: comment(me) })).toMatchObject({ actor: { kind: 'moderator' } })
})

test("a notification to them keeps the other's comment, and has no recipient", () => {
  const data = { comment: comment(other), parentCommentId: newId(), recipient: { readerId: me, externalId: 'x' } }
  expect(scrub(actor(other), data)).toEqual({
    actor: actor(other),
    data: { ...data, recipient: null },
    hasLostRecipient: true,
  })
})

test('a notification about their reply keeps its recipient', () => {
  const data = { comment: comment(me), parentCommentId: newId(), recipient: { readerId: other, externalId: 'x' } }
  expect(scrub(actor(me), data)).toMatchObject({ hasLostRecipient: false, data: { recipient: data.recipient } })
})

test('a reaction of theirs keeps its type, and no longer says who', () => {
  const data = { commentId: newId(), type: 'like', previousType: null, reactionCounts: { like: 1 }, reader: reader(me) }
  expect(scrub(actor(me), data)).toMatchObject({ actor: { kind: 'reader' }, data: { ...data, reader: null } })
})

test("another's reaction to their comment no longer says who", () => {
  const data = { commentId: newId(), type: 'like', previousType: null, reactionCounts: {}, reader: reader(other) }
  expect(scrub(actor(other), data, true)).toMatchObject({ actor: { kind: 'reader' }, data: { ...data, reader: null } })
  expect(scrub(actor(other), data, false)).toBeNull()
})

test("others' texts stay unchanged, even if they contain the reader's id", () => {
  expect(scrub(actor(other), { comment: { ...comment(other), body: `see ${me}` } })).toBeNull()
  expect(scrub({ kind: 'system' }, { commentId: me, type: null, reader: null })).toBeNull()
})

test('a scrubbed event has nothing left to remove', () => {
  const once = scrub(actor(me), { comment: comment(me) })
  expect(scrub(once?.actor as object, once?.data as object)).toBeNull()
})
