import fc from 'fast-check'
import { expect, test } from 'vitest'

import { excess, MAX_NOTE, MAX_TEXT } from '../../src/clients/widget/writing/length.ts'
import { charactersIn } from '../../src/core/input/texts.ts'
import { bodySchema, MAX_BODY_LENGTH } from '../../src/domains/comments/fields.ts'
import { reportInput } from '../../src/domains/moderation/reports.ts'

const text = fc
  .array(fc.constantFrom('a', '👍', '👩‍👩‍👧', ' ', '    ', '\t', '\n', '\r\n', 'é', '\u00A0'), { maxLength: 12 })
  .map((parts) => parts.join(''))

/** At both ends of a text that is nearly as long as it may be. */
const near = (most: number) =>
  fc.tuple(text, fc.integer({ min: -14, max: 14 }), text).map(([before, more, after]) => {
    return before + '👍'.repeat(most - charactersIn(before + after) + more) + after
  })

test('the widget lets a comment through exactly where the service takes it', () => {
  fc.assert(
    fc.property(near(MAX_TEXT), (written) => {
      expect(excess(written, MAX_TEXT) === 0).toBe(bodySchema.safeParse(written).success)
    }),
  )
})

test('the widget lets the note of a report through exactly where the service takes it', () => {
  fc.assert(
    fc.property(near(MAX_NOTE), (note) => {
      expect(excess(note.trim(), MAX_NOTE) === 0).toBe(reportInput.safeParse({ note }).success)
    }),
  )
})

test('the excess is the number of code points that must go', () => {
  expect(MAX_TEXT).toBe(MAX_BODY_LENGTH)
  for (const one of ['a', '👍']) {
    expect(excess(one.repeat(MAX_TEXT), MAX_TEXT)).toBe(0)
    expect(excess(`\n ${one.repeat(MAX_TEXT)}\n`, MAX_TEXT)).toBe(0)
    expect(excess(one.repeat(MAX_TEXT + 3), MAX_TEXT)).toBe(3)
  }
})
