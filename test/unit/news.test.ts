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
    json: JSON.stringify({ body }),
  }))
  expect(decodeNews(encodeNews(news))).toEqual(news)
})
