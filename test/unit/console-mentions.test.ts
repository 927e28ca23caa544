import { expect, test } from 'vitest'

import { textOf, textWithMarks, withoutMentions } from '../../src/console/ui/mentions.ts'

const [ANN, BOB, OTHER] = ['a', 'b', 'c'].map((digit) => `00000000-0000-7000-8000-00000000000${digit}`) as [
  string,
  string,
  string,
]
const written = (id: string): string => `[@](reader:${id})`
const rendered = (id: string, name: string): string => `<span class="mention" data-reader="${id}">@${name}</span>`

test('a mention shows the name of its reader', () => {
  const body = `Hi ${written(ANN)} and ${written(BOB)}!`
  const bodyHtml = `<p>Hi ${rendered(ANN, 'Ann &amp; &lt;Co&gt;')} and ${rendered(BOB, '')}!</p>`
  expect(textOf({ body, bodyHtml })).toBe('Hi @Ann & <Co> and @a reader!')
  // Merged into another, who has another id.
  expect(textOf({ body, bodyHtml: bodyHtml.replaceAll(ANN, OTHER) })).toBe('Hi @Ann & <Co> and @a reader!')
})

test('what mentions nobody stays as it was written', () => {
  const body = `\`${written(OTHER)}\` ${written(ANN)}`
  expect(textOf({ body, bodyHtml: `<p><code>…</code> ${rendered(ANN, 'Ann')}</p>` })).toBe(`\`${written(OTHER)}\` @Ann`)
  expect(textOf({ body: 'plain', bodyHtml: '<p>plain</p>' })).toBe('plain')
  expect(textOf({ body: null, bodyHtml: null })).toBe(null)
})

test('marks stay at their words', () => {
  const body = `bad ${written(ANN)} worse ${written(BOB)} worst`
  const bodyHtml = rendered(ANN, 'Ann') + rendered(BOB, 'B')
  const marks = ['bad', 'worse', 'worst'].map((word) => ({
    start: body.indexOf(word),
    end: body.indexOf(word) + word.length,
  }))
  const shown = textWithMarks(body, bodyHtml, [...marks, { start: null, end: null }])
  expect(shown.text).toBe('bad @Ann worse @B worst')
  expect(shown.marks.map(({ start, end }) => start !== null && shown.text.slice(start, end ?? 0))).toEqual([
    'bad',
    'worse',
    'worst',
    false,
  ])
  expect(withoutMentions(body)).toHaveLength(body.length)
  expect(withoutMentions(body)).not.toContain('reader')
})
