import fc from 'fast-check'
import { expect, test } from 'vitest'

import { decodeNews, encodeNews, type News } from '../../src/core/events.ts'

test('a message with any text is decoded unchanged', () => {
  // JSON leaves U+2028 and U+2029 as they are, though some take them for the end of a line.
  const body = 'one\u2028two\u2029three\nfour\r\u0085five'
  const news = [1, 2].map((seq): News => ({
    seq,
    type: 'comment_created',
    audience: 'public',
    recipientId: null,
    json: JSON.stringify({ seq, data: { body } }),
  }))
  expect(decodeNews(encodeNews(news))).toEqual(news)
})

const LINE = '1 comment_created public - {"seq":1,"data":{}}'

test('any other text is dropped, whatever it resembles', () => {
  expect(decodeNews(LINE)).toHaveLength(1)
  const cut = fc.tuple(fc.nat(LINE.length), fc.nat(LINE.length), fc.string()).map(([from, count, put]) => {
    const whole = LINE.slice(0, from) + put + LINE.slice(from + count)
    return whole === LINE ? '' : whole
  })
  fc.assert(
    fc.property(fc.oneof(fc.string(), cut), (message) => {
      for (const { seq, type, audience, json } of decodeNews(message)) {
        expect(Number.isSafeInteger(seq)).toBe(true)
        expect([type, audience]).toEqual([
          expect.stringMatching(/^\w+$/),
          expect.stringMatching(/^(public|tenant|recipient)$/),
        ])
        expect(JSON.parse(json)).toMatchObject({ seq, data: {} })
      }
    }),
    { numRuns: 2000 },
  )
})

test.each([
  ['an unknown type', LINE.replace('comment_created', 'toString')],
  ['an unknown audience', LINE.replace('public', 'anyone')],
  ['a position beyond all numbers', LINE.replaceAll('1', '9'.repeat(400))],
  ['another position in its JSON', LINE.replace('"seq":1', '"seq":2')],
  ['JSON that is cut off', `${LINE.slice(0, -2)}}`],
  ['no data', LINE.replace('{}', 'null')],
  ['the end of a line', LINE.replace('{}', '{"body":"\r"}')],
])('a message with %s is dropped', (_, message) => {
  expect(decodeNews(message)).toEqual([])
})
