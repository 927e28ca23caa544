import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { trimMarkdown } from '../../src/core/input/texts.ts'
import { countLinks, isBlank, renderMarkdown, renderThoroughly } from '../../src/domains/comments/text/markdown.ts'
import { effort } from '../harness/effort.ts'

const REL = 'rel="nofollow ugc noopener"'

test.each([
  ['**b** *e* ~~s~~ `c`', '<p><strong>b</strong> <em>e</em> <s>s</s> <code>c</code></p>\n'],
  ['> q\n\n- a\n- b', '<blockquote>\n<p>q</p>\n</blockquote>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n'],
  ['[t](https://a.example/?x=1&y=2)', `<p><a href="https://a.example/?x=1&amp;y=2" ${REL}>t</a></p>\n`],
  ['see https://a.example/ now', `<p>see <a href="https://a.example/" ${REL}>https://a.example/</a> now</p>\n`],
  ['[m](mailto:a@b.example)', `<p><a href="mailto:a@b.example" ${REL}>m</a></p>\n`],
  ['![alt](https://a.example/p.png)', `<p><a href="https://a.example/p.png" ${REL}>alt</a></p>\n`],
  ['![](https://a.example/p.png)', `<p><a href="https://a.example/p.png" ${REL}>https://a.example/p.png</a></p>\n`],
  ['[![alt](https://a.example/p.png)](https://b.example)', `<p><a href="https://b.example" ${REL}>alt</a></p>\n`],
  [
    '[see https://a.example <https://b.example>](https://c.example)',
    `<p><a href="https://c.example" ${REL}>see https://a.example https://b.example</a></p>\n`,
  ],
  ['```js title\n"a" < b\n```', '<pre><code class="language-js">"a" &lt; b\n</code></pre>\n'],
  ['<b onclick="x()">hi</b>', '<p>&lt;b onclick="x()"&gt;hi&lt;/b&gt;</p>\n'],
  ['a < b & c > d', '<p>a &lt; b &amp; c &gt; d</p>\n'],
  ['Roses are red,\nviolets are blue', '<p>Roses are red,<br>\nviolets are blue</p>\n'],
  ['a  \nb\\\nc\r\nd\re', '<p>a<br>\nb<br>\nc<br>\nd<br>\ne</p>\n'],
  ['**a\nb**', '<p><strong>a<br>\nb</strong></p>\n'],
  ['a\n***\nb', '<p>a</p>\n<hr>\n<p>b</p>\n'],
  ['> q\nanswer', '<blockquote>\n<p>q</p>\n</blockquote>\n<p>answer</p>\n'],
  ['> q\n===', '<blockquote>\n<p>q</p>\n</blockquote>\n<p>===</p>\n'],
  ['> > a\n> b\nc', '<blockquote>\n<blockquote>\n<p>a</p>\n</blockquote>\n<p>b</p>\n</blockquote>\n<p>c</p>\n'],
  ['- > q\n  answer', '<ul>\n<li>\n<blockquote>\n<p>q</p>\n</blockquote>\nanswer</li>\n</ul>\n'],
  ['> - a\n> b\nanswer', '<blockquote>\n<ul>\n<li>a<br>\nb</li>\n</ul>\n</blockquote>\n<p>answer</p>\n'],
  ['    def f():\n        return 1', '<pre><code>def f():\n    return 1\n</code></pre>\n'],
  ['    one_line', '<pre><code>one_line\n</code></pre>\n'],
])('renders %j', (body, html) => {
  expect(renderMarkdown(body)).toBe(html)
})

// Text of these scripts goes on without a space.
const EMPHASIS = [
  ['*', 'em'],
  ['**', 'strong'],
  ['~~', 's'],
] as const
const INNER = [
  '真，',
  '真。',
  '「重点」',
  '日本語（括弧付き）。',
  '（괄호）',
  '괄호(x)',
  'Ａ：',
  '真“好”',
  '…真…',
  '𠮷！',
  '`x`。',
]
test.each(EMPHASIS)('renders %s in texts without spaces', (mark, tag) => {
  for (const inner of INNER) {
    for (const [before, after] of [
      ['', '她'],
      ['含', ''],
      ['これは', 'です'],
      ['이것', '은'],
      ['𠮷', '𠮷'],
    ]) {
      const shown = inner.replace('`x`', '<code>x</code>')
      expect(renderMarkdown(`${before}${mark}${inner}${mark}${after}`)).toBe(
        `<p>${before}<${tag}>${shown}</${tag}>${after}</p>\n`,
      )
    }
  }
})

test.each(['a**"b"**c', '2 * 3 * 4 = 24', '她 * 我 * 你', 'snake_真，_她', 'a**, b**', '👍**(b)**c'])(
  'leaves the marks of %j as CommonMark does',
  (body) => expect(renderMarkdown(body)).toBe(`<p>${body}</p>\n`),
)

const link = (text: string, href = text): string => `<a href="${href}" ${REL}>${text}</a>`

test.each([
  ['http://a.example, and', `${link('http://a.example')}, and`],
  ['(http://a.example/b_(c)).', `(${link('http://a.example/b_(c)')}).`],
  ['http://a.example/(b', link('http://a.example/(b')],
  ['**http://a.example**', `<strong>${link('http://a.example')}</strong>`],
  ['_http://a.example/a_b_', `<em>${link('http://a.example/a_b')}</em>`],
  ['"http://a.example/?q=x#y"', `"${link('http://a.example/?q=x#y')}"`],
  ['http://localhost:3000/ HTTPS://A.EXAMPLE', `${link('http://localhost:3000/')} ${link('HTTPS://A.EXAMPLE')}`],
  ['看https://a.example/路。好', `看${link('https://a.example/')}路。好`],
  ['看https://a.example/é路。好', `看${link('https://a.example/é路', 'https://a.example/%C3%A9%E8%B7%AF')}。好`],
  ['https://例え.jp/日本', link('https://例え.jp/日本', 'https://xn--r8jz45g.jp/%E6%97%A5%E6%9C%AC')],
  ['https://日本語kaigi.jpを', `${link('https://日本語kaigi.jp', 'https://xn--kaigi-1e1k07ec84j.jp')}を`],
  ['http://127.0.0.1:80에서 http://localhostで', `${link('http://127.0.0.1:80')}에서 ${link('http://localhost')}で`],
  ['https://u:p@a.exampleを', `${link('https://u:p@a.example')}を`],
  [
    'https://a.exampleを見てc@d.example',
    `${link('https://a.example')}を見て${link('c@d.example', 'mailto:c@d.example')}`,
  ],
  [
    'https://пример.example/путь?а=1',
    link('https://пример.example/путь?а=1', 'https://xn--e1afmkfd.example/%D0%BF%D1%83%D1%82%D1%8C?%D0%B0=1'),
  ],
  ['a@b.exampleпотом', `${link('a@b.example', 'mailto:a@b.example')}потом`],
  ['http://müller.example', link('http://müller.example', 'http://xn--mller-kva.example')],
  ['http://', 'http://'],
  ['http://)', 'http://)'],
  ['xhttp://a.example', 'xhttp://a.example'],
  ['http\\://a.example', 'http://a.example'],
  ['ftp://a.example //a.example www.a.example a.example', 'ftp://a.example //a.example www.a.example a.example'],
  ['a.b+c_d@e.example.', `${link('a.b+c_d@e.example', 'mailto:a.b+c_d@e.example')}.`],
  ['mailto:a@b.example', link('mailto:a@b.example')],
  ['给a@b.example写', `给${link('a@b.example', 'mailto:a@b.example')}写`],
  ['éa@b.example a@b.exampleé a@b a@b.1 @a.example', 'éa@b.example a@b.exampleé a@b a@b.1 @a.example'],
  ['`http://a.example a@b.example`', '<code>http://a.example a@b.example</code>'],
])('links the addresses in %j', (body, html) => {
  expect(renderMarkdown(body)).toBe(`<p>${html}</p>\n`)
})

// Text that follows without a space, as it does in these scripts, or by mistake in the others.
const FOLLOWING = ['を見て', 'カタカナ', '英文', '에서', 'ได้', 'ໄດ້', 'បាន', 'потом', 'εδώ', 'عربي', 'עברית', 'हिन्दी']
const ENDS_PATHS = FOLLOWING.slice(0, 7)

test.each(['https://a.example', 'http://localhost', 'HTTPS://A.EXAMPLE:8080', 'https://b.a-1.example'])(
  '%s ends where text in another script follows',
  (address) => {
    for (const text of FOLLOWING) {
      const html = link(address)
      expect(renderMarkdown(`${address}${text}`)).toBe(`<p>${html}${text}</p>\n`)
      expect(countLinks(`${address}${text}`, renderMarkdown(`${address}${text}`))).toBe(1)
    }
  },
)

test('an ASCII path, query or fragment ends where text of a script without spaces follows', () => {
  const path = fc.stringMatching(/^[/?#][\w./?#=%-]{0,12}[a-zA-Z0-9/#=%-]$/)
  fc.assert(
    fc.property(path, fc.constantFrom(...ENDS_PATHS), fc.constantFrom('', '看', 'см. '), (end, text, before) => {
      const html = renderMarkdown(`${before}https://a.example${end}${text}`)
      expect(html).toContain(`>https://a.example${end}</a>`)
    }),
    { numRuns: effort(2000) },
  )
})

test.each([
  ['  Hello  ', 'Hello'],
  ['\n \n\t\n    code\n\n', '    code'],
  ['\tcode', '\tcode'],
  [' \tcode', ' \tcode'],
  ['\r\n    a\r\n    b\r\n', '    a\r\n    b'],
  ['\r    code\r', '    code'],
  ['  - a\n  - b', '  - a\n  - b'],
  ['\u3000 a\u00A0', 'a'],
  ['\uFEFF\n    code', '    code'],
  [' \n\t ', ''],
])('the body of %j is %j', (text, body) => {
  expect(trimMarkdown(text)).toBe(body)
})

test('trimming loses no line and no code, and changes nothing a second time', () => {
  const unit = fc.constantFrom('a', 'b', ' ', '  ', '    ', '\t', '\n', '\r\n', '- ', '> ', '\u00A0')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
      const body = trimMarkdown(text)
      expect(trimMarkdown(body)).toBe(body)
      // A blank beside NBSP is no blank to CommonMark; in a body it is.
      if (body !== '' && !text.includes('\u00A0')) {
        expect(renderThoroughly(body)).toBe(renderThoroughly(text.trimEnd()))
      }
    }),
    { numRuns: effort(2000) },
  )
})

// Every way that is known to smuggle a scheme, a tag or a handler past a renderer.
test.each([
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](javascript&colon;alert(1))',
  '[x](\u0001javascript:alert(1))',
  '[x](vbscript:msgbox(1))',
  '[x](data:text/html;base64,PHNjcmlwdD4=)',
  '[x](//evil.example/a)',
  '<javascript:alert(1)>',
  '![x](javascript:alert(1))',
  '![x" onerror="alert(1)](https://a.example/x)',
  '[x](https://a.example/" onmouseover="alert(1))',
  '[x](https://a.example \'" onmouseover="alert(1)\')',
  '[x]: javascript:alert(1)\n\n[x]',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<a href="javascript:alert(1)">x</a>',
  '</p><script>alert(1)</script>',
  '<!--><script>alert(1)</script>-->',
  '```x" onclick="alert(1)\ncode\n```',
  '<iframe srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;">',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
])('lets nothing through of %j', (body) => {
  const html = renderMarkdown(body)
  const tags = html.match(/<[^>]*>/g) ?? []
  for (const tag of tags) {
    expect(tag).toMatch(
      /^<\/?(a|blockquote|br|code|em|h[1-6]|hr|li|ol|p|pre|s|strong|ul)( (href|title|rel|start|class)="[^"<>]*")*( \/)?>$/,
    )
    const href = /href="([^"]*)"/.exec(tag)?.[1]
    if (href !== undefined) expect(href).toMatch(/^(https?:|mailto:)/)
  }
})

test('any text renders to known tags only', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (body) => {
      expect(renderMarkdown(body)).not.toMatch(
        /<(?!\/?(a|blockquote|br|code|em|h[1-6]|hr|li|ol|p|pre|s|strong|ul)[ >/])/,
      )
    }),
    { numRuns: effort(500) },
  )
})

test('every line of prose keeps its break, and a line without > is outside of every quote', () => {
  const line = fc.stringMatching(/^[a-z]{1,5}( [a-z]{1,5})?$/)
  const lines = fc.array(fc.tuple(fc.nat(3), line), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(lines, fc.constantFrom('> ', '>'), (all, mark) => {
      const html = renderMarkdown(all.map(([depth, text]) => mark.repeat(depth) + text).join('\n'))
      const shown: [depth: number, text: string][] = []
      let depth = 0
      for (const [part, tag] of html.matchAll(/<(\/?blockquote)>|[a-z][a-z ]*(?=<br>\n|<\/p>)/g)) {
        if (tag === undefined) shown.push([depth, part])
        else depth += tag === 'blockquote' ? 1 : -1
      }
      expect(shown).toEqual(all)
    }),
    { numRuns: effort(1000) },
  )
})

test("the fast path for plain text has the parser's result", () => {
  const unit = fc.constantFrom(..."aZé9 .,;?!'’()-_*#:/@www1.x+=".split(''))
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 30 }), (text) => {
      const body = trimMarkdown(text)
      if (body !== '') expect(renderMarkdown(body)).toBe(renderThoroughly(body))
    }),
    { numRuns: effort(5000) },
  )
})

test.each([
  '\u200B',
  '\u200B\u2060 \uFEFF',
  '&nbsp;',
  '&#8203;',
  '\u3164',
  '\u2800',
  '\uFFFC',
  '#',
  '>',
  '-',
  '***',
  '[a]: http://a.example',
  '`\u200B`',
  '> \u200D',
])('%j shows nothing to read', (body) => expect(isBlank(renderMarkdown(body))).toBe(true))

test.each(['.', '&', '<', '👍', '\u0301', '` `.', '![](https://a.example)', '- a'])('%j shows something', (body) =>
  expect(isBlank(renderMarkdown(body))).toBe(false),
)
