import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { maxBytesOf, renderAsText, renderMarkdown } from '../../src/domains/comments/text/markdown.ts'
import { effort } from '../harness/effort.ts'
import { CORPUS, fill, FRAGMENTS, REPEATED, textOf } from '../harness/hostile-texts.ts'

const bytes = (text: string): number => Buffer.byteLength(text)

describe('bodyHtml is at most 8 times the body, and 100 KB:', () => {
  test.each(CORPUS)('%s', (_name, body) => expect(bytes(renderMarkdown(body))).toBeLessThanOrEqual(maxBytesOf(body)))

  test('any text', () => {
    const short = fc
      .array(fc.constantFrom(...FRAGMENTS), { minLength: 1, maxLength: 40 })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(short, REPEATED.map(textOf)), (body) => {
        const html = renderMarkdown(body)
        expect(bytes(html)).toBeLessThanOrEqual(100_000)
        expect(bytes(html)).toBeLessThanOrEqual(Math.max(1024, 8 * bytes(body)))
      }),
      { numRuns: effort(500) },
    )
  })

  test('the replacement is, too', () => {
    for (const fragment of ['&', '<\n', '&\n\n', 'a\n\n', '漢', '"']) {
      const body = fill(fragment, 10_000).trim()
      expect(bytes(renderAsText(body))).toBeLessThanOrEqual(maxBytesOf(body))
    }
  })
})

test('a text that would cost too much is shown as it was written', () => {
  expect(renderMarkdown(fill('> *a* <b>\n\n', 10_000))).toMatch(/^(<p>&gt; \*a\* &lt;b&gt;<\/p>\n)+/)
  expect(renderMarkdown(`[a]: http://e.com/${'x'.repeat(900)}\n\n${'[a]\n'.repeat(900)}`)).toContain('[a]<br>\n[a]')
})

test.each([
  ['a list of links', '- [What happened at the station](https://news.example/2026/station?id=17)\n'],
  ['code outside of a fence', 'const a = [1, 2, "x"]; if (a_b < c && *d > 5) { e() } // *now*\n'],
  ['code in a fence', '```js\nconst a = [1, 2, "x"]; if (a_b < c && *d > 5) { e() }\n```\n'],
  [
    'prose with much Markdown',
    'It is **bold** and *slanted*, has a [link](https://e.example/abc) & `code`, see it.\n\n',
  ],
  ['quotes and answers', '> They said that it would be over by ten.\n\nWell, it was not, was it?\n\n'],
])('10 000 characters of %s are Markdown', (_what, paragraph) => {
  const body = fill(paragraph, 10_000).trim()
  expect(renderMarkdown(body)).not.toBe(renderAsText(body))
})

test('700 characters of the densest Markdown are rendered', () => {
  const body = fill('*a* ', 640).trim()
  expect(renderMarkdown(body)).toBe(`<p>${'<em>a</em> '.repeat(160).trim()}</p>\n`)
})
