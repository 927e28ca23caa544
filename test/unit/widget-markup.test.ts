import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { change, escaped, type Format, quoteOf } from '../../src/clients/widget/writing/markup.ts'
import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'

/** A text whose selection stands in brackets `⟦⟧`, after one of the buttons. */
function pressed(format: Format, marked: string): string {
  const start = marked.indexOf('⟦')
  const end = marked.indexOf('⟧') - 1
  const text = marked.replace(/[⟦⟧]/g, '')
  const { select, ...made } = change(format, { text, start, end })
  const after = text.slice(0, made.start) + made.text + text.slice(made.end)
  return `${after.slice(0, select[0])}⟦${after.slice(select[0], select[1])}⟧${after.slice(select[1])}`
}

describe('a button of the formatting bar', () => {
  test.each<[Format, string, string]>([
    ['bold', 'so ⟦good⟧ it is', 'so **⟦good⟧** it is'],
    ['bold', 'so⟦ good ⟧it is', 'so **⟦good⟧** it is'],
    ['bold', 'so **⟦good⟧** it is', 'so ⟦good⟧ it is'],
    ['bold', 'so ⟦**good**⟧ it is', 'so ⟦good⟧ it is'],
    ['bold', '⟦⟧', '**⟦⟧**'],
    ['bold', 'a *⟦word⟧*', 'a ***⟦word⟧***'],
    ['italic', 'a **⟦word⟧**', 'a ***⟦word⟧***'],
    ['italic', 'a ***⟦word⟧***', 'a **⟦word⟧**'],
    ['italic', 'a *⟦word⟧*', 'a ⟦word⟧'],
    ['code', 'run ⟦npm⟧', 'run `⟦npm⟧`'],
    ['code', 'run `⟦npm⟧`', 'run ⟦npm⟧'],
    ['code', '⟦a ` b⟧', '``⟦a ` b⟧``'],
    ['code', '⟦`x`⟧', '`` ⟦`x`⟧ ``'],
    ['code', 'So:⟦a\nb⟧', 'So:\n```\n⟦a\nb⟧\n```'],
    ['code', '⟦```\na\n```⟧', '````\n⟦```\na\n```⟧\n````'],
    ['link', 'see ⟦this⟧', 'see [this](⟦https://⟧)'],
    ['link', 'see ⟦https://a.example/b⟧', 'see [⟦⟧](https://a.example/b)'],
    ['link', '⟦⟧', '[⟦⟧](https://)'],
    ['link', '⟦a [b] c⟧', String.raw`[a \[b\] c](⟦https://⟧)`],
    ['quote', 'one\nt⟦wo\nthr⟧ee', 'one\n⟦> two\n> three⟧'],
    ['quote', '⟦> one\n> two⟧', '⟦one\ntwo⟧'],
    ['list', 'one⟦⟧', '- one⟦⟧'],
    ['list', '⟦one\ntwo⟧\nthree', '⟦- one\n- two⟧\nthree'],
    ['list', '⟦⟧', '- ⟦⟧'],
  ])('%s: %j becomes %j', (format, before, after) => expect(pressed(format, before)).toBe(after))

  const text = fc.string({
    unit: fc.constantFrom('a', ' ', '*', '`', '\n', '>', '-', '[', ']', '\\', '字'),
    maxLength: 20,
  })
  test('loses no letter that was typed, whatever is selected', () => {
    const formats = fc.constantFrom<Format>('bold', 'italic', 'link', 'quote', 'code', 'list')
    fc.assert(
      fc.property(text, fc.nat(20), fc.nat(20), formats, (typed, one, other, format) => {
        const [start = 0, end = 0] = [one, other].map((n) => Math.min(n, typed.length)).toSorted((a, b) => a - b)
        const made = change(format, { text: typed, start, end })
        const after = typed.slice(0, made.start) + made.text + typed.slice(made.end)
        const lettersOf = (of: string): string => of.replace('https://', '').replace(/[^a字]/g, '')
        expect(lettersOf(after)).toBe(lettersOf(typed))
        const [from, to] = made.select
        expect(0 <= from && from <= to && to <= after.length).toBe(true)
      }),
    )
  })
})

describe('a quote', () => {
  test('is each line of the comment, and ends before what is written below it', () => {
    expect(quoteOf('one\n\ntwo')).toBe('> one\n>\n> two\n\n')
    expect(renderMarkdown(`${quoteOf('one\n\ntwo')}mine`)).toBe(
      '<blockquote>\n<p>one</p>\n<p>two</p>\n</blockquote>\n<p>mine</p>\n',
    )
  })
  test('of a long comment is its beginning, without half an emoji', () => {
    const quoted = quoteOf('😀'.repeat(3000))
    expect(quoted).toBe(`> ${'😀'.repeat(1000)}…\n\n`)
  })
  test('of what was selected shows the same signs', () => {
    const selected = '2*3*4 `x` <b> [a](https://a.example) \\'
    expect(renderMarkdown(escaped(selected))).toBe(
      `<p>${selected.replace('<b>', '&lt;b&gt;')}</p>\n`.replace(
        '[a](https://a.example)',
        '[a](<a href="https://a.example" rel="nofollow ugc noopener">https://a.example</a>)',
      ),
    )
  })
})
