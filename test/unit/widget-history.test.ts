import fc from 'fast-check'
import { expect, test } from 'vitest'

import { differences, type Piece } from '../../src/clients/widget/history/differences.ts'

const without = (kind: Piece['kind'], pieces: readonly Piece[]): string =>
  pieces.flatMap((piece) => (piece.kind === kind ? [] : [piece.text])).join('')

const word = fc.constantFrom('one', 'two', 'three', ' ', '\n', ', ', '**', 'word', '漢字', '👩‍👧', '.')
const text = fc.array(word, { maxLength: 40 }).map((words) => words.join(''))

test('the pieces of two texts make both, and no piece is empty or like the one before', () => {
  fc.assert(
    fc.property(text, text, (earlier, later) => {
      const pieces = differences(earlier, later, 'en')
      expect(without('ins', pieces)).toBe(earlier)
      expect(without('del', pieces)).toBe(later)
      pieces.forEach(({ kind, text: shown }, n) => {
        expect(shown).not.toBe('')
        expect(kind).not.toBe(pieces[n - 1]?.kind)
      })
    }),
  )
})

test.each([
  ['equal texts', 'a b', 'a b', ['same a b']],
  ['a changed word', 'the red car', 'the blue car', ['same the ', 'del red', 'ins blue', 'same  car']],
  ['an added end', 'one', 'one two', ['same one', 'ins  two']],
  ['words without spaces', '私は学生です', '私は教師です', ['same 私は', 'del 学生', 'ins 教師', 'same です']],
])('%s', (_name, earlier, later, expected) => {
  expect(differences(earlier, later, 'ja').map(({ kind, text: shown }) => `${kind} ${shown}`)).toEqual(expected)
})

test('a long text that has changed in all places is shown as replaced', () => {
  const [earlier, later] = ['a', 'b'].map((letter) => `${letter} `.repeat(600))
  expect(differences(earlier ?? '', later ?? '', 'en')).toEqual([
    { kind: 'del', text: (earlier ?? '').trimEnd() },
    { kind: 'ins', text: (later ?? '').trimEnd() },
    { kind: 'same', text: ' ' },
  ])
})
