import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'
import { htmlToMarkdown, textOfHtml } from '../../src/transfer/sources/html.ts'
import { fromMarkdown } from '../../src/transfer/sources/markdown.ts'
import { effort } from '../harness/effort.ts'

const REL = ' rel="nofollow ugc noopener"'

/** The text that our renderer shows, without its attributes for links. */
const shown = (markdown: string): string => renderMarkdown(markdown).replaceAll(REL, '').trimEnd()

test.each([
  ['<p>One</p><p>Two</p>', 'One\n\nTwo'],
  ['One<br>Two<br/><br />Three', 'One\\\nTwo\n\nThree'],
  ['<b>b</b> <strong>s</strong> <i>i</i> <em>e</em> <s>x</s> <code>a*b</code>', '**b** **s** *i* *e* ~~x~~ `a*b`'],
  ['<a href="https://a.example/?x=1&amp;y=_2_" onclick="x()">t</a>', '[t](https://a.example/?x=1\\&y=_2_)'],
  ['<a href="/relative">t</a> <a href="//a.example/b">u</a>', 't [u](https://a.example/b)'],
  ['<blockquote><p>q</p>r</blockquote>s', '> q\n>\n> r\n\ns'],
  ['<ul><li>a<li><p>b</p><ol start="3"><li>c</ol></ul>', '- a\n- b\n\n  3. c'],
  ['<pre><code class="hl language-js">if (a &lt; b) {\n  c\n}\n</code></pre>', '```js\nif (a < b) {\n  c\n}\n```'],
  ['<pre>```</pre>', '````\n```\n````'],
  ['<img src="https://a.example/p.png" alt="a cat">', '[a cat](https://a.example/p.png)'],
  ['<a href="https://a.example"><img src="https://b.example/p.png" alt="a cat"></a>', '[a cat](https://a.example)'],
  ['<img class="emoji" alt="😀" src="https://s.w.org/1f600.svg">', '😀'],
  ['<iframe src="https://www.youtube.com/embed/x"></iframe>', '<https://www.youtube.com/embed/x>'],
  ['<h2>Title</h2>text<hr>more', '## Title\n\ntext\n\n---\n\nmore'],
  ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\n\nc'],
  ['a <b>bold </b>word, <b> </b>x', 'a **bold** word, x'],
  ['  spaces \n and&nbsp;lines  ', 'spaces and\u00A0lines'],
  ['caf&eacute; &#8217; &#x1F600; &unknown; & &amp;lt;', 'café ’ 😀 \\&unknown; & \\&lt;'],
  [
    '&section=2 &copyright &copyright; &amp= &#65 &#x42',
    '\\&section=2 \\&copyright \\&copyright; \\&amp= \\&#65 \\&#x42',
  ],
  [
    '<a href="/x?a=1&copy=2">t</a> <img src="https://a.example/?a=1&sect=2" alt="a &lt; b">',
    't [a < b](https://a.example/?a=1\\&sect=2)',
  ],
  ['<a href="https://a.example/?a=1&lang=de&copy=2">t</a>', '[t](https://a.example/?a=1\\&lang=de\\&copy=2)'],
  ['see https://a.example/b_c_(d), and http://[::1', 'see <https://a.example/b_c_(d)>, and http://\\[::1'],
  ['1. a\u0007\u0000b', '1\\. ab'],
  ['是<b>“强”</b>是', '是“**强**”是'],
  ['是<b>“</b>是', '是“是'],
  ['彼は<b>「馬鹿」</b>と言った', '彼は「**馬鹿**」と言った'],
  ['a<b>(b)</b>c <i>"d"</i>e', 'a(**b**)c *"d*"e'],
  ['a<b><i>b</i>c</b>d', 'a***b*c**d'],
  ['是<b><code>x</code></b>是', '是`x`是'],
  ['是<b>😀“强”</b>', '是😀“**强”**'],
  ['(<b>“强”</b>) 是 <b>“强”</b> 是', '(**“强”**) 是 **“强”** 是'],
  ['10<sup>6</sup> and 10<sup>-12</sup> of H<sub>2</sub>O', '10⁶ and 10⁻¹² of H₂O'],
  ['x<sup>n+1</sup>, a<sub>i</sub>, the 1<sup>st</sup>, Name<sup>™</sup>', 'xⁿ⁺¹, aᵢ, the 1st, Name™'],
  ['10<sup>6 </sup>bits, 1<sup> 2 </sup>x, 10<sup>6,5 </sup>y', '10⁶ bits, 1 ² x, 10^(6,5) y'],
  ['<pre>x<sup>2</sup>\ny<sub>i</sub> x2</pre>', '```\nx²\nyᵢ x2\n```'],
  ['10<sup>6,5</sup> x<sub>β</sub>', '10^(6,5) x\\_(β)'],
  ['<a href="https://a.example/a b.pdf">t</a>', '[t](https://a.example/a%20b.pdf)'],
  ['<a href=" https://a.example/a\n b<c> ">t</a>', '[t](https://a.example/a%20b%3Cc%3E)'],
])('%j is %j', (html, markdown) => {
  expect(htmlToMarkdown(html)).toBe(markdown)
})

test.each([
  // A mark that would not be recognised is taken off, and does not split the marks around it.
  ['<b>(a)<s>b</s></b>c', '<strong>(a)b</strong>c'],
  ['a<i><del>ab 是</del>a</i>', 'a<em>ab 是a</em>'],
  ['<b>“强”<del>是</del></b>是', '<strong>“强”是</strong>是'],
  ['(<i>a<b><code>x</code></b></i>)', '(<em>a<code>x</code></em>)'],
  // Marks that touch.
  ['<i>a</i><b>b</b> <b>a</b><i>b</i>', '<em>a</em><strong>b</strong> <strong>a</strong><em>b</em>'],
  ['<i>a</i><b>b<i>c</i></b> d', '<em>a</em><strong>bc</strong> d'],
  ['<b><i>!</i>(x)<i>(x)</i></b>', '<strong>!(x)(x)</strong>'],
  ['<i>(x)<b>。</b></i><b>。</b>', '<em>(x)</em><strong>。。</strong>'],
])('marks that touch show no asterisks: %j', (html, expected) => {
  expect(shown(htmlToMarkdown(html))).toBe(`<p>${expected}</p>`)
  expect(shown(htmlToMarkdown(`<h2>${html}</h2>`))).toBe(`<h2>${expected}</h2>`)
})

test("a title's entities are decoded only if they end in a semicolon", () => {
  expect(textOfHtml('Q&amp;A: ?a=1&copy=2&section=3 <i>&eacute;</i>')).toBe('Q&A: ?a=1&copy=2&section=3 é')
})

// Addresses

test.each([
  ['http://a.example/?id=1&amp;lang=de&amp;order=up', '<http://a.example/?id=1&lang=de&order=up>'],
  ['http://a.example/?id=1&lang=de&copy=up&amp;copy;=1', '<http://a.example/?id=1&lang=de&copy=up&copy;=1>'],
  ['see https://a.example/_a_*b*~c~.', 'see <https://a.example/_a_*b*~c>\\~.'],
  ['(http://b.example/x_(y))', '(<http://b.example/x_(y)>)'],
  ['(http://b.example/x_y)', '(<http://b.example/x_y>)'],
  ['http://b.example/x_y)?', '<http://b.example/x_y>)?'],
  ['看http://a.example/x_y。z', '看<http://a.example/x_y>。z'],
  ['<b>http://a.example/?a=1&amp;b=_2</b>', '[**http://a.example/?a=1\\&b=\\_2**](http://a.example/?a=1\\&b=_2)'],
  ['<code>http://a.example/?a=1&amp;b=_2_</code>', '`http://a.example/?a=1&b=_2_`'],
  ['<pre>http://a.example/?a=1&amp;b=_2_</pre>', '```\nhttp://a.example/?a=1&b=_2_\n```'],
  ['<a href="http://a.example/?a=1&amp;b=2">http://a.example/?a=1&amp;b=2</a>', '<http://a.example/?a=1&b=2>'],
  ['<a>http://a.example/?a=1&amp;b=2</a>', '<http://a.example/?a=1&b=2>'],
  ['http://a.example/?a<!-- -->=1&amp;b=2', '<http://a.example/?a=1&b=2>'],
  ['write to a_b_c@d.example or mailto:a_b@c.example.', 'write to <a_b_c@d.example> or <mailto:a_b@c.example>.'],
])('addresses are links as a whole: %j', (html, markdown) => {
  expect(htmlToMarkdown(html)).toBe(markdown)
})

test('an address in HTML becomes one link to it', () => {
  const part = fc.stringMatching(/^[a-zA-Z0-9_~+$-]{0,3}[_*~&;=]{0,2}[a-z0-9_/]{0,4}[a-z0-9]$/)
  const parts = fc.array(fc.oneof(part, fc.constantFrom('copy', 'lang=de', 'amp;x', 'section=2', '#x', '%C3%A4')), {
    maxLength: 5,
  })
  const address = fc
    .tuple(fc.constantFrom('http', 'https', 'HTTP'), fc.constantFrom('', '/a_b_c', '/x_(y)'), parts)
    .map(([scheme, path, query]) => `${scheme}://a.example${path}${query.length > 0 ? `?${query.join('&')}` : ''}`)
  const before = fc.constantFrom('', 'see ', '(', '"', '**', '_', '&', '[', '看', '<b>', '<li>', '<code>x</code>', '😀')
  const after = fc.constantFrom(
    '',
    ' ',
    '. And',
    ', ',
    ')',
    ')?',
    '"',
    '!',
    ' &c',
    ' *',
    '<br>',
    '</b>',
    '<i>x</i>',
    '。',
  )
  fc.assert(
    fc.property(before, address, after, fc.boolean(), fc.boolean(), (left, url, right, isEscaped, isAnchor) => {
      fc.pre(isEscaped || !/&\w+;/.test(url))
      const written = isEscaped ? escapeHtml(url) : url
      const anchor = isAnchor ? `<a href="${written}">${written}</a>` : written
      const html = shown(htmlToMarkdown(left + anchor + right))
      const links = [...html.matchAll(/<a href="([^"]*)">(.*?)<\/a>/g)]
      expect(links.map(([, href = '', linked = '']) => [read(href), read(linked)])).toEqual([[url, url]])
      expect(spaceless(read(html))).toBe(spaceless(read(left) + url + read(right)))
    }),
    { numRuns: RUNS },
  )
})

test.each([
  ['<script>alert(1)</script>x<style>p{}</style>', '<p>x</p>'],
  ['<a href="javascript:alert(1)">x</a>', '<p>x</p>'],
  ['<a href=" java&#10;script:alert(1)">x</a>', '<p>x</p>'],
  ['<a href="data:text/html,x">x</a><img src="data:image/png;base64,x" alt="y">', '<p>xy</p>'],
  ['<svg onload=alert(1)><p>in</svg><p onclick="x">out', '<p>out</p>'],
  ['&lt;script&gt;alert(1)&lt;/script&gt;', '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  ['[x](javascript:alert(1)) ![y](https://a.example)', '<p>[x](javascript:alert(1)) ![y](<a'],
  ['<p>unclosed <b>and <i>crossed</b> marks</i>', '<p>unclosed <strong>and <em>crossed</em></strong> marks</p>'],
])('hostile HTML is harmless: %j', (html, expected) => {
  const out = shown(htmlToMarkdown(html))
  expect(out.slice(0, expected.length)).toBe(expected)
  expect(out).not.toMatch(/<script|javascript:[^a]|onclick|onload|data:/)
})

// Markdown of others

test.each([
  ['plain *text*\nof two lines', 'plain *text*\nof two lines', {}],
  ['two\nlines', 'two\\\nlines', { breaks: true }],
  ['<b>raw</b> and `<code>`', '**raw** and `<code>`', {}],
  ['a <script>alert(1)</script> b', 'a b', {}],
  ['<div>\n\n*x*\n\n</div>', '*x*', {}],
])('the Markdown %j becomes %j', (body, markdown, options) => {
  expect(fromMarkdown(body, options)).toBe(markdown)
})

// Random HTML

const word = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[a-zé0-9]{1,6}$/) },
  fc.stringMatching(/^[*_~`[\]()<>#+=|{}!&;:\\."'-]{1,4}$/),
  fc.constantFrom(
    '1.',
    '2)',
    '-',
    '+',
    '>',
    '#',
    '```',
    '~~~',
    '    x',
    '&amp;',
    '&lt;b&gt;',
    '[a]: b',
    '***',
    '===',
    '\\',
  ),
  fc.constantFrom('是', '“强”', '「', '𠮷', '…', '「馬鹿」'),
  fc.constantFrom('<b>', '![a](b)', '<https://a.example>', 'a_b_c', '__x__', '**', '&#35;', '\u00A0', '😀', 'http:'),
)
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const text = fc
  .array(word, { minLength: 1, maxLength: 5 })
  .chain((words) => fc.constantFrom(' ', '', '\n').map((space) => words.join(space)))

/** HTML, and the text that is to be read in it, without its spaces. */
interface Sample {
  html: string
  text: string
}

const join = (samples: readonly Sample[]): Sample => ({
  html: samples.map(({ html }) => html).join(''),
  text: samples.map((sample) => sample.text).join(''),
})

const { inline, block } = fc.letrec<{ inline: Sample; block: Sample }>((tie) => {
  const inlines = fc.array(tie('inline'), { minLength: 1, maxLength: 3 }).map(join)
  const blocks = fc.array(tie('block'), { minLength: 1, maxLength: 3 }).map(join)
  const within = (samples: fc.Arbitrary<Sample>, ...tags: string[]) =>
    fc.tuple(samples, fc.constantFrom(...tags)).map(([sample, tag]) => ({
      html: `<${tag}>${sample.html}</${tag.split(' ')[0]}>`,
      text: sample.text,
    }))
  return {
    inline: fc.oneof(
      { weight: 4, arbitrary: text.map((each) => ({ html: escapeHtml(each), text: each })) },
      within(inlines, 'b', 'i', 'em', 's', 'strong', 'span', 'u', 'code'),
      within(
        inlines,
        'a href="https://a.example/_b_?c=(d"',
        'a href="mailto:a@b.example"',
        'a href="javascript:x"',
        'a',
      ),
      fc.constant({ html: '<br>', text: '' }),
    ),
    block: fc.oneof(
      { weight: 3, arbitrary: within(inlines, 'p', 'div', 'h2', 'blockquote', 'li') },
      within(blocks, 'blockquote', 'div'),
      within(fc.array(within(blocks, 'li'), { minLength: 1, maxLength: 3 }).map(join), 'ul', 'ol', 'ol start="7"'),
      text.map((each) => ({ html: `<pre>${escapeHtml(each)}</pre>`, text: each })),
      inlines,
    ),
  }
})

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }
const read = (html: string): string =>
  html.replace(/<[^>]*>/g, '').replace(/&(amp|lt|gt|quot);/g, (_, name: string) => ENTITIES[name] ?? '')
const spaceless = (each: string): string => each.replace(/\s/g, '')

const RUNS = effort(1000, 100)

test('the text of HTML is kept, and shows no Markdown syntax', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(block, inline), { minLength: 1, maxLength: 4 }).map(join), (sample) => {
      const markdown = htmlToMarkdown(sample.html)
      expect(spaceless(read(renderMarkdown(markdown)))).toBe(spaceless(sample.text))
      // The writer may encode a space or a line end, and no letter.
      expect(markdown).not.toMatch(/(?<!\\)&#x(?!(?:20|9|A|D);)/i)
    }),
    { numRuns: RUNS },
  )
})

const TAG =
  /<(?:\/?(?:blockquote|code|em|h[1-6]|li|ol|p|pre|s|strong|ul)|[bh]r|ol start="\d+"|code class="language-[\w+#.-]+"|a href="(?:https?|mailto):[^"<>\s]*" rel="nofollow ugc noopener"|\/a)>/gi

test('any HTML becomes tags and schemes that the renderer allows', () => {
  const piece = fc.oneof(
    text,
    fc.constantFrom(
      '<p>',
      '</p>',
      '<b>',
      '<i',
      '</',
      '<a href="',
      "<a href='javascript:x'",
      '>',
      '"',
      '<pre>',
      '<!--',
      '-->',
    ),
    fc.constantFrom(
      '<script>',
      '</script>',
      '<svg/onload=x>',
      '<![CDATA[',
      '<li>',
      '<ul>',
      '<blockquote>',
      '&#0;',
      '&#xd800;',
    ),
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.boolean(), (pieces, lineBreaks) => {
      const html = renderMarkdown(htmlToMarkdown(pieces.join(''), { lineBreaks }))
      expect(html.replace(TAG, '')).not.toMatch(/[<>]/)
      expect(html.isWellFormed()).toBe(true)
    }),
    { numRuns: RUNS },
  )
})

test('paragraphs without markup have the same result on the fast path', () => {
  const paragraphs = fc.array(fc.tuple(text, fc.constantFrom('', ' ', '\n')), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(paragraphs, fc.boolean(), fc.boolean(), (texts, hasTags, lineBreaks) => {
      const html = texts
        .map(([each, space]) => (hasTags ? `<p>${each.replace(/[<&]/g, '')}</p>${space}` : each))
        .join('')
        // What two texts make together may begin a tag.
        .replace(hasTags ? /$^/ : /<(?=[a-z!?/])/gi, '')
      // A line break at the end is not shown, and takes the long way.
      expect(htmlToMarkdown(html, { lineBreaks })).toBe(htmlToMarkdown(`${html}<br>`, { lineBreaks }))
    }),
    { numRuns: RUNS },
  )
})
