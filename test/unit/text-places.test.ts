import fc from 'fast-check'
import { expect, test } from 'vitest'

import { placeFinder } from '../../src/domains/comments/text/places.ts'
import { wordStream } from '../../src/domains/comments/text/word-streams.ts'
import { compileWords } from '../../src/domains/comments/text/words.ts'

const filler = fc.array(fc.constantFrom('x', 'É', 'e\u0301', ' ', '\n', ', ', '🙂', 'ﬁ', '東', '\u200b', 'ß', '…'), {
  maxLength: 12,
})

test('the range of a word has this word, and it is found where it stands', () => {
  const form = {}
  fc.assert(
    fc.property(filler, filler, fc.constantFrom('needle', 'NÉEDLE', 'nee\u0301dle'), (before, after, word) => {
      const text = `${before.join('')} ${word} ${after.join('')}`
      const [place] = compileWords(['needle']).placesIn(text, 1)
      const range = place === undefined ? null : placeFinder(text)(form, place)
      const start = before.join('').length + 1
      expect(range).toEqual({ start, end: start + word.length })
    }),
    { numRuns: 500 },
  )
})

// Long runs are divided, and a place in each part is found. What may not be divided is in them.
test.each([
  ['letters', 'x'],
  ['accents', 'e\u0301'],
  ['punctuation', 'é,…'],
  ['Korean letters', '\u1112\u1161\u11ABㄱㅏ'],
  ['half-width kana', 'ﾊﾞ'],
  ['flags', '🇷🇺'],
  ['emoji', '👩🏽\u200D💻x'],
  ['signs', '½Ⓐ'],
  ['soft hyphens', 'ß\u00AD'],
])('a word is found in a run of %s without white space', (_what, unit) => {
  for (const entry of ['🖕', 'é🖕']) {
    for (const count of [10, 99, 100, 101, 250, 1000]) {
      const before = `${unit.repeat(count)},`
      const text = `${before}${entry}!${unit.repeat(count)}`
      const [place] = compileWords([entry]).placesIn(text, 1)
      expect(placeFinder(text)(place!.form, place!)).toEqual({
        start: before.length,
        end: before.length + entry.length,
      })
    }
  }
})

test('a range always folds to the part of the stream that it stands for', () => {
  const form = {}
  fc.assert(
    fc.property(filler, fc.nat(30), fc.nat(30), (parts, one, other) => {
      const text = parts.join('')
      const stream = wordStream(text, form).text
      const [from, to] = [Math.min(one, other), Math.max(one, other)]
      const range = to > from && to <= stream.length ? placeFinder(text)(form, { from, to }) : null
      if (range === null) return
      expect(wordStream(text.slice(range.start, range.end), form).text).toBe(stream.slice(from, to))
    }),
    { numRuns: 2000 },
  )
})
