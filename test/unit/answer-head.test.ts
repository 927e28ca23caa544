import { expect, test } from 'vitest'

import { headIn } from '../../src/outbound/answer-head.ts'

// With a search from the first line for each head, this took hours.
test('a head behind many informational ones is found in linear time', () => {
  const many = 'HTTP/1.1 100\n\n'.repeat(300_000)
  const head = headIn(Buffer.from(`${many}HTTP/1.1 503 No\r\nretry-after: 7\r\n\r\n`))
  expect(head).toEqual({ statusCode: 503, retryAfter: '7', headers: {} })
})
