import fc from 'fast-check'
import { expect, test } from 'vitest'

import type { PageComment } from '../../src/clients/widget/backend.ts'
import { bodyOf, draftOf } from '../../src/clients/widget/writing/mentions.ts'
import { newId } from '../../src/core/ids.ts'
import { escapeText } from '../../src/domains/comments/text/markdown.ts'

/** A comment as the service answers it: names stand in its HTML alone. */
const commentOf = (body: string, names: Record<string, string>): PageComment =>
  ({
    body,
    bodyHtml: Object.entries(names)
      .map(([id, name]) => `<span class="mention" data-reader="${id}">@${escapeText(name)}</span>`)
      .join(' '),
  }) as PageComment

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .map((text) => text.trim())
  .filter((text) => text !== '' && !text.includes('@') && !/[\p{Cc}[\]]/u.test(text) && !(text in {}))

test('an edit that changes nothing keeps every mention, whatever the names', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
      fc.array(fc.constantFrom('Hello', 'and', ',', '\n')),
      (given, words) => {
        const names = Object.fromEntries(given.map((each) => [newId(), each]))
        const body = [...words, ...Object.keys(names).map((id) => `[@](reader:${id})`)].join(' ')
        const draft = draftOf(commentOf(body, names))
        expect(draft.text).not.toContain('reader:')
        expect(bodyOf(draft)).toBe(body)
      },
    ),
  )
})

test('of two readers of one name the second stays as it is written, and one without a name too', () => {
  const [one, two, gone] = [newId(), newId(), newId()]
  const body = `[@](reader:${one}) [@](reader:${two}) [@](reader:${gone})`
  const draft = draftOf(commentOf(body, { [one]: 'Ann', [two]: 'Ann' }))
  expect(draft.text).toBe(`@Ann [@](reader:${two}) [@](reader:${gone})`)
  expect(bodyOf(draft)).toBe(body)
})

test('a mention beside a letter, or beside the same name as plain text, stays as it is written', () => {
  const id = newId()
  for (const body of [`谢谢[@](reader:${id})你好`, `hi[@](reader:${id})s`, `[@](reader:${id}) and @Ann`]) {
    const draft = draftOf(commentOf(body, { [id]: 'Ann' }))
    expect(draft.text).toBe(body)
    expect(bodyOf(draft)).toBe(body)
  }
})

test('only the whole name is a mention, the longest first, and never a part of an address', () => {
  const mentioned = { Ann: 'id-of-ann', 'Ann Okafor': 'id-of-okafor', 'a.*b': 'id-of-signs' }
  expect(bodyOf({ text: '@Ann Okafor, @Ann! @Anna x@Ann @a.*b @axxb', mentioned })).toBe(
    '[@](reader:id-of-okafor), [@](reader:id-of-ann)! @Anna x@Ann [@](reader:id-of-signs) @axxb',
  )
})
