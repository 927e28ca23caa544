import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { describe, expect, test } from 'vitest'

import { htmlToMarkdown, textOfHtml } from '../../src/transfer/sources/html.ts'
import { fromMarkdown } from '../../src/transfer/sources/markdown.ts'
import { countCpu } from '../harness/cpu.ts'
import { effort } from '../harness/effort.ts'

// A comment of an import may be any text of up to a megabyte.

const TAGS =
  'a b br blockquote code del div em h1 hr i img iframe li ol p pre q s script span strong table td tr ul'.split(' ')

/** What a long comment may be made of: each construct alone, many times. */
const PIECES: readonly string[] = [
  ...TAGS.flatMap((tag) => [`<${tag}>`, `<${tag}>x</${tag}>`, `</${tag}>`, `<${tag}> </${tag}>`, `<${tag} a="b">`]),
  ...'*_~`[]()<>#&!\\|-+=.:;@\'"/?0a \t\n\r\f\v\0\u00a0\u200b\ufe0f\u200d\ufeffé看😀'.split(''),

  '😀',
  '😀\ufe0f',
  '_😀',
  '\\_',
  '\\*',
  '1. ',
  '1) ',
  '- ',
  '> ',
  '# ',
  '    x\n',
  '\n\n',
  ' \n',
  '\r\n',
  '**a',
  '~~a~~',

  '&amp;',
  '&lt;',
  '&nbsp;',
  '&#x1F600;',
  '&#0;',
  '&',
  '&x',
  '&#',
  '&section=2',

  '<!--',
  '-->',
  '<!-- x -->',
  '<![CDATA[',
  ']]>',
  '<?',
  '?>',
  '<!',
  '<!a',
  '</',
  '<a ',
  '<a b="',
  "<a b='",
  '<a b=',

  'http://',
  'http://a.example/',
  'http://a.example/(',
  'http://a.example/?a=1&b=2 ',
  'https://a/????',
  'a@',
  '@a.b',
  'a@b.c ',

  '<a href="https://a.example">x</a>',
  '<a href="x"> ',
  '<img src="https://a.example/x" alt="y">',
  '<b>a</b> <i>b</i>',

  '<b> </b>',
  '<b>😀</b>',
  '<s>a</s>b',
  '<code>`</code>',
  '<pre> ',
  '<pre>x\n</pre>',
  '<ul><li>x',
  '<blockquote>x</blockquote>',

  '![',
  '](',
  '[a](b)',
  '[a]: b\n',
  '```\n',
  '~~~\n',
  '<b\u00a0=\u00a0:',
  '=\u00a0\u00a0:',
  '<div>\n\n',
  '|a|b|\n',
  '***\n',
  '\\\n',
]

/** Long texts of a piece: beside nothing, and where something else begins or ends them. */
const SHAPES: readonly ((piece: string, count: number) => string)[] = [
  (piece, count) => piece.repeat(count),
  (piece, count) => `<p>x${piece.repeat(count)}y</p>`,
  (piece, count) => `<pre>x${piece.repeat(count)}y</pre>`,
  (piece, count) => `<b>${piece.repeat(count)}</b>y<i>${piece.repeat(count)}</i>`,
  (piece, count) => `<a href="${piece.repeat(count)}">y</a>`,
  (piece, count) => `<A\t:\u00a0${piece.repeat(count)}'>`,
]

/** Of four pieces so many are tried in each shape. */
const PIECES_OF_FOUR = effort(4)

const KIB = 1024
/** Each is 16 and 4 times as long as the one before. */
const [SHORT, LONG, LONGEST] = [8 * KIB, 128 * KIB, 512 * KIB]

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** The microseconds of CPU that `convert` takes for a text. */
function costOf(convert: (text: string) => unknown, text: string): number {
  const cpu = countCpu()
  convert(text)
  return cpu()
}

const TRIES = 8

/**
 * How many times as much CPU one text takes as the same construct in shorter texts, which together
 * are as long: 1 if the work is in proportion to the length, the number of the shorter texts if it
 * grows by the square. The least of several tries, in turns, until it is at most `most`: a long
 * text leaves more garbage to collect, and loses more by the work of others in the same caches.
 */
function compare(convert: (text: string) => unknown, shorter: string, longer: string, most: number) {
  const texts = Math.round(longer.length / shorter.length)
  const convertShorter = (): void => {
    for (let n = 0; n < texts; n++) convert(shorter)
  }
  let [short, long] = [Infinity, Infinity]
  for (let n = 0; n < TRIES && (n < 2 || long > most * short); n++) {
    // Each run pays for its own garbage only.
    collectGarbage()
    short = Math.min(short, costOf(convertShorter, ''))
    collectGarbage()
    long = Math.min(long, costOf(convert, longer))
  }
  return { short, long, times: long / short }
}

/** By the square of its length, a text costs 16 times what 16 shorter ones do. */
const MOST_TIMES = 4
/** By the square of its length, it costs 64 times what 64 shorter ones do. */
const MOST_TIMES_OF_LONGEST = 8
/** A text that costs less is not compared: the clock and the compiler would decide. */
const NOTHING_US = 60_000
/** A long text that costs more is slow, whatever a longer one costs. */
const TOO_MUCH_US = 2e6

const isNothing = (cost: () => number): boolean => Array.from({ length: 4 }).some(() => cost() <= NOTHING_US)

const CONVERSIONS = {
  HTML: (text: string) => htmlToMarkdown(text),
  'HTML whose line breaks count': (text: string) => htmlToMarkdown(text, { lineBreaks: true }),
  'a title in HTML': textOfHtml,
  'Markdown with HTML': (text: string) => fromMarkdown(`<b>x</b> ${text}`),
  'Markdown whose line breaks count': (text: string) => fromMarkdown(`a\nb ${text}`, { breaks: true }),
}

describe.each(Object.entries(CONVERSIONS))('%s takes time in proportion to its length', (_, convert) => {
  test.each(SHAPES.map((shape, n) => ({ n, shape })))(
    'in shape $n',
    ({ n, shape }) => {
      const slow = PIECES.filter((_piece, at) => (at + n) % 4 < PIECES_OF_FOUR).flatMap((piece) => {
        const textOf = (length: number): string => shape(piece, Math.ceil(length / piece.length))
        const text = textOf(LONG)
        if (isNothing(() => costOf(convert, text))) return []
        const first = compare(convert, textOf(SHORT), text, MOST_TIMES)
        const brief = `${JSON.stringify(piece)}: ${first.short} µs, then ${first.long} µs`
        if (first.long > TOO_MUCH_US) return [brief]
        if (first.times <= MOST_TIMES) return []
        // The compiler and the collector of garbage weigh less in longer texts.
        const second = compare(convert, textOf(SHORT), textOf(LONGEST), MOST_TIMES_OF_LONGEST)
        return second.times <= MOST_TIMES_OF_LONGEST ? [] : [`${brief}; ${second.short} µs, then ${second.long} µs`]
      })
      expect(slow).toEqual([])
    },
    900_000,
  )
})

test('HTML with more text than a comment may have keeps all of its text', () => {
  const html = `<p>${'word <b>bold</b> '.repeat(3000)}</p>`
  expect(htmlToMarkdown(html).replace(/\s+/g, ' ').trim()).toBe('word bold '.repeat(3000).trim())
})

test('markup does not count as text', () => {
  const html = `<p>${'<span class="a long name of a class">x</span>'.repeat(9000)}</p>`
  expect(htmlToMarkdown(html)).toBe('x'.repeat(9000))
})
