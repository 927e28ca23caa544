import * as fc from 'fast-check'

import { MAX_BODY_LENGTH } from '../../src/domains/comments/fields.ts'

/** `fragment`, repeated to exactly `length` characters. */
export const fill = (fragment: string, length: number): string =>
  fragment
    .repeat(Math.ceil(length / fragment.length))
    .slice(0, length)
    .toWellFormed()

/** What Markdown and addresses are made of. */
export const FRAGMENTS = [
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
export const CORPUS: readonly [name: string, body: string][] = [
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
export const REPEATED = fc.record({
  before: fc.constantFrom('', 'a ', '[a]: http://e.com/x\n\n', '> ', '- ', 'http://a.b/', '[', '![', '`', '<'),
  parts: fc.array(fc.constantFrom(...FRAGMENTS), { minLength: 1, maxLength: 4 }),
  after: fc.constantFrom('', 'a', ']', ')', '](b)', '>', '*', '`', '\n'),
  length: fc.constantFrom(2500, 10_000, 20_000),
})

type Repeated = typeof REPEATED extends fc.Arbitrary<infer Value> ? Value : never

/** The first characters of a text. */
const first = (text: string, characters: number): string => Array.from(text).slice(0, characters).join('')

export function textOf({ before, parts, after, length }: Repeated): string {
  const most = after === '' ? MAX_BODY_LENGTH : MAX_BODY_LENGTH / 2
  const opened = first(before + fill(parts.join(''), length), most)
  const closed = after === '' ? '' : first(fill(after, length), most)
  return (opened + closed).trim() || 'a'
}
