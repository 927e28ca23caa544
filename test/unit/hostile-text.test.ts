import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { MAX_BODY_LENGTH } from '../../src/domains/comments/fields.ts'
import { maxBytesOf, renderAsText, renderMarkdown, renderThoroughly } from '../../src/domains/comments/text/markdown.ts'
import { judgeText } from '../../src/domains/comments/rules.ts'
import { countCpu } from '../harness/cpu.ts'

const settings = tenantSettings({ bannedWords: ['zzyzx'], suspectWords: ['xyzzy', 'buy zzyzx now'] })
const bytes = (text: string): number => Buffer.byteLength(text)
/** `fragment`, repeated to exactly `length` characters. */
const fill = (fragment: string, length: number): string =>
  fragment
    .repeat(Math.ceil(length / fragment.length))
    .slice(0, length)
    .toWellFormed()

/** The whole cost of a comment's text before it is stored. */
function renderAndJudge(body: string): void {
  judgeText(body, renderThoroughly(body), settings)
}

const PROSE =
  'Well, the quick brown fox – it’s said – ran away; “no!” she cried. (It had “jumped” at ten past nine.)\n\n'
const MAX_RATIO = 5

/**
 * How many times what a plain text of its length costs, by CPU: others use the machine as well. The
 * least of several runs, because a run may have to collect garbage of others.
 */
function costOf(body: string): number {
  const plain = fill(PROSE, body.length)
  let [least, ofPlain] = [Infinity, Infinity]
  for (let run = 0; run < 40 && (run < 2 || least > MAX_RATIO * ofPlain); run++) {
    least = Math.min(least, cpuMicrosOf(body))
    ofPlain = Math.min(ofPlain, cpuMicrosOf(plain))
  }
  return least / ofPlain
}

function cpuMicrosOf(body: string): number {
  const micros = countCpu()
  renderAndJudge(body)
  return micros()
}

/** What Markdown and addresses are made of. */
const FRAGMENTS = [
  `a¦ ¦\n¦\n\n¦  \n¦\\\n¦\t¦    ¦.¦,¦"¦'¦é¦漢¦😀¦\u0301¦\u200B¦\uFDFA¦\u3316¦\u1F82¦\uFDF2¦(¦)¦()¦!¦-¦--¦;¦?¦%¦%41`,
  '*¦**¦***¦_¦__¦*a*¦**a**¦_a_*b*¦a*¦~~¦~~a~~¦`¦``¦`a`¦``a`¦\\¦\\*',
  '[¦]¦![¦](¦[]¦[a]¦![a]¦[a][a]¦[a](b)¦[a](http://e.com)¦![a](http://e.com)¦[[a](b)](c)',
  `[a](<b¦[a](b "¦[a](b (¦[a]: ¦[a]: <¦[a]: b '¦\n[a]: http://e.com/x\n¦\n[a]: b\n`,
  '<¦>¦<a¦<!--¦<b>¦</¦<http://a.b>¦<http://é.b>¦<a@b.co>¦&¦&amp;¦&quot;¦&#1;¦&#x1F600;',
  'http://¦https://¦ftp://¦mailto:¦://¦http://a.b¦http://a.b ¦http://a.b/(¦http://a.b/[¦ftp://a.b/(¦http://é.b ',
  `http://a.b/é ¦http://a:b@¦http://a.b/'¦http://[¦www.¦a@b.co¦a@b.co ¦a@¦@¦a.b@¦x@y.zz/(`,
  '> ¦\n> a¦> - a\n¦- ¦\n- a¦- - ¦>- ¦+\n¦* a\n¦1. ¦\n1. a¦# ¦#\n¦\n# a¦a\n---\n¦---\n¦***\n¦```\n¦~~~\n¦    a\n',
].flatMap((line) => line.split('¦'))

/**
 * Texts that once cost most: quadratic links, a reference's address written out at each use, a
 * letter that stands for 18.
 */
const CORPUS: readonly [name: string, body: string][] = [
  ['references to a long address', `[a]: http://e.com/${'x'.repeat(4980)}\n\n${'![a] '.repeat(1000)}`],
  ['references to a long title', `[a]: http://e.com "${'x&'.repeat(2490)}"\n\n${'[a] '.repeat(1250)}`],
  ['a link and a nested image', '[![a](http://a.b)](http://c.d)'.repeat(330)],
  ['marks in the wrong order', `*x* a${'\u0301'.repeat(4990)}${'\u0323'.repeat(4980)}`],
  ['hyphens that do not end a domain', `${'x '.repeat(1800)}a@b.${'-'.repeat(6000)}x`],
  ['links that are never closed', '['.repeat(10_000)],
  ['images that are never closed', '!['.repeat(5000)],
  ['nested labels of a reference', `[a]: b\n\n${'[a '.repeat(2500)}${']'.repeat(2490)}`],
  ['nested images', `${'!['.repeat(1600)}a${'](b)'.repeat(1600)}`],
  ['nested quotes', `${'>'.repeat(9999)}a`],
  ['quotes that nest by line', fill('>>>>>>>>>>>>>>>>>>>>a\n\n', 10_000)],
  ['nested lists', `${'- '.repeat(4999)}a`],
  ['lists that nest by line', Array.from({ length: 130 }, (_, n) => `${' '.repeat(n)}- a`).join('\n')],
  ['addresses of parentheses', `http://a.b/${'('.repeat(9980)}`],
  ['addresses with unclosed parentheses', fill('ftp://a.b/(', 10_000)],
  ['an address of many punctuation marks', `http://a.b/${'!'.repeat(9980)}`],
  ['a foreign host', `http://${Array.from({ length: 9900 }, (_, n) => String.fromCharCode(0x4e00 + n)).join('')}`],
  ['backticks of all lengths', Array.from({ length: 138 }, (_, n) => `${'`'.repeat(n + 1)}a`).join('')],
  ['emphasis that never closes', fill('*a_', 10_000)],
  ['long runs of emphasis', `${'*'.repeat(4999)}a${'*'.repeat(4999)}`],
  ['ligatures of 18 letters', '\uFDFA'.repeat(10_000)],
  ['every square word', fill(Array.from({ length: 88 }, (_, n) => String.fromCharCode(0x3300 + n)).join(''), 10_000)],
  ['marks without a letter', '\u0301'.repeat(10_000)],
]

/** Some fragments, repeated, behind a beginning; where they have an end, each is closed by one. */
const REPEATED = fc.record({
  before: fc.constantFrom('', 'a ', '[a]: http://e.com/x\n\n', '> ', '- ', 'http://a.b/', '[', '![', '`', '<'),
  parts: fc.array(fc.constantFrom(...FRAGMENTS), { minLength: 1, maxLength: 4 }),
  after: fc.constantFrom('', 'a', ']', ')', '](b)', '>', '*', '`', '\n'),
  length: fc.constantFrom(2500, 10_000, 20_000),
})

type Repeated = typeof REPEATED extends fc.Arbitrary<infer Value> ? Value : never

/** The first characters of a text. */
const first = (text: string, characters: number): string => Array.from(text).slice(0, characters).join('')

function textOf({ before, parts, after, length }: Repeated): string {
  const most = after === '' ? MAX_BODY_LENGTH : MAX_BODY_LENGTH / 2
  const opened = first(before + fill(parts.join(''), length), most)
  const closed = after === '' ? '' : first(fill(after, length), most)
  return (opened + closed).trim() || 'a'
}

for (let n = 0; n < 100; n++)
  renderAndJudge(fill('The *quick* [fox](http://a.b), `it` said\n\n- http://a.b\n> a\n', 10_000))

describe('the cost of a text is at most 5 times that of a plain one of its length:', () => {
  test.each(CORPUS)('%s', (_name, body) => expect(costOf(body)).toBeLessThanOrEqual(MAX_RATIO))

  test('each fragment of Markdown, repeated', () => {
    const dear = FRAGMENTS.flatMap((fragment) => {
      const body = fill(fragment, 10_000).trim()
      const cost = body === '' ? 0 : costOf(body)
      return cost > MAX_RATIO ? [{ fragment, cost }] : []
    })
    expect(dear).toEqual([])
  })

  test('any of them together, at any length', () => {
    fc.assert(
      fc.property(REPEATED, (text) => {
        expect(costOf(textOf(text))).toBeLessThanOrEqual(MAX_RATIO)
      }),
      { numRuns: 100 },
    )
  })
})

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
      { numRuns: 500 },
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
