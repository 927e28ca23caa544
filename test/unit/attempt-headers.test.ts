import { expect, test } from 'vitest'

import { answeredHeaders, readHeaders, sentHeaders } from '../../src/domains/webhooks/attempt-headers.ts'

const asTheyAre = (text: string): string => text

test('of what was sent the names and our values are kept, without signatures', () => {
  const own = { authorization: 'Bearer s3cret', 'user-agent': 'Ours/2' }
  const sent = {
    authorization: 'Bearer s3cret',
    'User-Agent': 'Ours/2',
    'X-Service-Event': 'comment_created',
    'X-Service-Signature': 't=1,v1=00,kid=11',
    'X-Service-Signature-Previous': 't=1,v1=00,kid=22',
    'webhook-signature': 'v1,AA',
  }
  expect(sentHeaders(sent, own)).toEqual({
    authorization: '[redacted]',
    'User-Agent': '[redacted]',
    'X-Service-Event': 'comment_created',
  })
})

test('of an answer at most 30 headers and 2 KiB are kept, and no cookie', () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`x-${n}`, 'a']))
  expect(Object.keys(answeredHeaders(many, asTheyAre))).toHaveLength(30)

  const long = { date: 'now', 'x-long': 'é'.repeat(3000), 'x-after': 'b' }
  const kept = answeredHeaders(long, asTheyAre)
  expect(Object.keys(kept)).toEqual(['date', 'x-long'])
  const bytes = Buffer.byteLength(Object.entries(kept).flat().join(''))
  expect(bytes).toBeGreaterThan(2044)
  expect(bytes).toBeLessThanOrEqual(2048)
  expect(kept['x-long']).toMatch(/^é+$/)

  const cookies = { 'set-cookie': ['a=1', 'b=2'], vary: 'Origin' }
  expect(answeredHeaders(cookies, asTheyAre)).toEqual({ 'set-cookie': '[redacted]', vary: 'Origin' })
})

test('an answer that repeats a secret of the request, or has controls, is kept without them', () => {
  const redact = (text: string): string => text.replaceAll('s3cret', '[header]')
  expect(answeredHeaders({ 'x-echo': 'it is s3cret', 'x-tab': 'a\tb' }, redact)).toEqual({
    'x-echo': 'it is [header]',
    'x-tab': 'a\uFFFDb',
  })
})

test('the secrets are taken out of all headers of an answer at once', () => {
  let calls = 0
  const redact = (text: string): string => {
    calls++
    return text.replaceAll('s3cret', '[header]')
  }
  const given = { 'x-s3cret': 'a\nb', 'x-none': undefined, 'x-many': ['s3cret', 'c'], 'set-cookie': ['s3cret=1'] }
  expect(answeredHeaders(given, redact)).toEqual({
    'x-[header]': 'a b',
    'x-none': '',
    'x-many': '[header], c',
    'set-cookie': '[redacted]',
  })
  expect(calls).toBe(1)
})

test('an attempt of an earlier release has none', () => {
  expect(readHeaders(null)).toBeNull()
  expect(readHeaders({ sent: { a: 'b' }, answered: {} })).toEqual({ sent: { a: 'b' }, answered: {} })
})
