import fc from 'fast-check'
import { expect, test } from 'vitest'

import { isBase64url, isCompactJws } from '../../src/core/input/base64url.ts'

const LETTERS = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
const texts = fc.string({ unit: fc.constantFrom(...LETTERS, '=', '+', '/', ' ', '\n', '.', 'é'), maxLength: 12 })

test('a text is taken exactly if it is what its bytes are written as', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        texts,
        fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')),
      ),
      (text) => {
        expect(isBase64url(text)).toBe(Buffer.from(text, 'base64url').toString('base64url') === text)
      },
    ),
    { numRuns: 5000 },
  )
})

test('of each last letter with spare bits, one in sixteen or in four is taken', () => {
  const taken = (length: number) => LETTERS.filter((letter) => isBase64url('A'.repeat(length) + letter)).length
  expect([0, 1, 2, 3].map(taken)).toEqual([0, 4, 16, 64])
})

test('a compact JWS has three such parts', () => {
  expect(isCompactJws('AAAA.AA.AAA')).toBe(true)
  for (const text of ['AAAA.AA', 'AAAA.AA.AAA.', 'AAAA.AB.AAA', 'AAAA.AA.AAB', 'AAAB.AA.AAA=', '.AA AA.', 'A.AA.AA'])
    expect([text, isCompactJws(text)]).toEqual([text, false])
})
