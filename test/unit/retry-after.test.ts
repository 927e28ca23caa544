import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { pauseOf } from '../../src/worker/retry-after.ts'

const NOW = new Date('2026-11-26T12:00:00.000Z')
const answer = (statusCode: number | null, retryAfter: string | null) => ({
  statusCode,
  retryAfter,
  headers: {},
  body: Buffer.alloc(0),
  error: null,
  durationMs: 1,
})
const pause = (retryAfter: string | null, statusCode = 429): number | null =>
  pauseOf(answer(statusCode, retryAfter), NOW)

describe('Retry-After', () => {
  test.each([
    ['60', 60_000],
    [' 60 ', 60_000],
    ['0', 1000],
    ['0.25', 1000],
    ['1.5', 1500],
    ['60.0', 60_000],
    ['86400', 86_400_000],
    ['86401', 86_400_000],
    ['9'.repeat(400), 86_400_000],
    ['Thu, 26 Nov 2026 12:01:00 GMT', 60_000],
    ['Thursday, 26-Nov-26 12:01:00 GMT', 60_000],
    ['Thu Nov 26 12:01:00 2026', 60_000],
    ['Sun Nov  6 08:49:37 1994', 1000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 86_400_000],
  ])('%s pauses', (text, ms) => {
    expect(pause(text)).toBe(ms)
    expect(pause(text, 503)).toBe(ms)
  })

  test.each([
    null,
    '',
    '-1',
    '1.',
    '.5',
    '1e3',
    '60s',
    'soon',
    '2026-11-26T12:01:00Z',
    'Thu, 26 Nov 2026 12:01:00',
    'Xxx, 99 Xxx 2026 99:99:99 GMT',
  ])('%s does not pause', (text) => expect(pause(text)).toBeNull())

  test('counts for 429 and 503 alone', () => {
    for (let status = 100; status < 600; status++) {
      expect(pause('60', status) !== null, String(status)).toBe(status === 429 || status === 503)
    }
    expect(pauseOf(answer(null, '60'), NOW)).toBeNull()
  })

  test('of any text pauses for 1 s to 24 h, or not at all', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const ms = pause(text)
        expect(ms === null || (ms >= 1000 && ms <= 86_400_000)).toBe(true)
      }),
    )
  })
})
