import fc from 'fast-check'
import { expect, test } from 'vitest'

import { nameOrNull } from '../../src/core/input/texts.ts'
import { effort } from '../harness/effort.ts'

test.each([
  ['marks of direction', 'Ann \u202Etxet\u202C', 'Ann txet'],
  ['isolates', '\u2066Ann\u2069 \u200FB\u061C', 'Ann B'],
  ['a space of no width', 'A\u200Bnn\uFEFF', 'Ann'],
  ['joiners between letters that join nothing', 'A\u200Dn\u200Cn', 'Ann'],
  ['a soft hyphen', 'A\u00ADnn', 'Ann'],
  ['letters of Korean that show nothing', 'A\u3164n\u115Fn', 'Ann'],
  ['a joiner of graphemes', 'A\u034Fnn', 'Ann'],
  ['a blank pattern of Braille', '\u2800Ann', 'Ann'],
  ['hidden tags', 'Ann\u{E0041}\u{E0042}', 'Ann'],
  ['a choice of a form beside a letter', 'A\uFE0Fnn', 'Ann'],
  ['a choice of a form beside a digit', '1\uFE0F2\uFE0E', '12'],
  ['line ends', 'Ann\nof\tRome\r\n', 'Ann of Rome'],
  ['controls', 'A\u0007nn\u009F', 'Ann'],
])('a name has no %s', (_what, name, shown) => expect(nameOrNull(name)).toBe(shown))

test.each([
  ['Persian', 'می\u200Cخواهم'],
  ['Persian with vowels', 'مَی\u200Cخواهم'],
  ['Sinhala', 'ශ්\u200Dරී ලංකා'],
  ['Malayalam', 'രാജന്\u200D'],
  ['Hindi', 'क्\u200Dष'],
  ['Japanese', '葛\u{E0100}城'],
  ['emoji', 'Ann 👩🏽\u200D💻 ❤\uFE0F 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1\uFE0F⃣ 👨\u200D👩\u200D👧'],
  ['keys', '1\uFE0F\u20E3 #\u20E3 *\uFE0E\u20E3'],
  ['accents', 'Zoë Nguyễn שָׁלוֹם'],
])('a name keeps what %s needs', (_script, name) => expect(nameOrNull(name)).toBe(name))

test.each([null, '', ' \u200B\u202E ', '\u3164', '\u{E0041}'])('%j is no name', (name) => {
  expect(nameOrNull(name)).toBeNull()
})

test('a name that was taken is taken as it is, and is no longer', () => {
  const unit = fc.oneof(
    fc.constantFrom(
      ...Array.from('aیك👩💻🏴葛\u0D4D '),
      '\u200C',
      '\u200D',
      '\uFE0F',
      '\u202E',
      '\u{E0067}',
      '\u{E007F}',
      '\u180B',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  )
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
      const name = nameOrNull(text)
      expect(nameOrNull(name)).toBe(name)
      expect(name ?? '').not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C\u200B\uFEFF\p{Cc}]/u)
      expect((name ?? '').length).toBeLessThanOrEqual(text.length)
    }),
    { numRuns: effort(2000) },
  )
})
