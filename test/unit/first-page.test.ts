import { runInNewContext } from 'node:vm'

import * as fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { html, nothing } from 'lit/html.js'
import { expect, test } from 'vitest'

import { contentOf } from '../../src/clients/first-page/content.ts'
import { htmlOf, Markup } from '../../src/clients/first-page/template.ts'
import { LINKS, TAGS } from '../../src/clients/widget/nodes/tags.ts'
import { leaveOut } from '../../src/clients/widget/vite.config.ts'

/** What a parser finds: each tag with its attributes, each end, and the text. */
function parse(markup: string): { tags: [string, Record<string, string>][]; open: number; text: string } {
  const found = { tags: [] as [string, Record<string, string>][], open: 0, text: '' }
  const parser = new Parser({
    onopentag: (name, attributes) => {
      found.tags.push([name, attributes])
      found.open++
    },
    // Ends that the parser adds itself are missing in the markup.
    onclosetag: (name, isImplied) => void (found.open -= isImplied && !/^(br|hr|img)$/.test(name) ? 0 : 1),
    ontext: (text) => void (found.text += text),
  })
  parser.end(markup)
  return found
}

const FRAGMENTS = [
  '<',
  '>',
  '"',
  "'",
  '&',
  '&lt;',
  '</p>',
  '<script>',
  '</script>',
  '<!--',
  ' onclick=x ',
  '=',
  '`',
  '\u2028',
]
const hostile = fc.string({ unit: fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ minLength: 1, maxLength: 1 })) })

test('any value of a template is text, or the value of its attribute', () => {
  fc.assert(
    fc.property(hostile, hostile, hostile, (title, id, text) => {
      const { tags, open, text: shown } = parse(htmlOf(html`<p title=${title} id="c-${id}">${text}</p>`))
      expect(tags).toEqual([['p', { title, id: `c-${id}` }]])
      expect([open, shown]).toEqual([0, text])
    }),
  )
})

test('bindings draw what lit draws, but for handlers and styles', () => {
  const click = (): undefined => undefined
  const item = (n: number): unknown => html`<li>${n}</li>`
  const drawn = htmlOf(
    html`<button
        class=${nothing}
        ?disabled=${true}
        ?hidden=${false}
        @click=${click}
        .style=${'x'}
        aria-pressed=${false}
      >
        ${null}${undefined}${nothing}${new Markup('<b>b</b>')}a=${0}
      </button>
      <option .selected=${true}></option>
      <option .selected=${false}></option>
      <ol>
        ${[1, 2].map(item)}
      </ol>`,
  )
  expect(drawn.replace(/\s+(?=[<>])|(?<=>)\s+/g, '').replace(/\s+/g, ' ')).toBe(
    '<button disabled aria-pressed="false"><b>b</b>a=0</button><option selected></option><option></option><ol><li>1</li><li>2</li></ol>',
  )
})

const BODY = [
  ...FRAGMENTS,
  '<p>',
  '<span class="mention" dir="rtl">',
  '<a href="https://www.example.com/?a=1&amp;b=2">',
  '<a href="javascript:x()">',
  '<a href="&#106;avascript:x()" onmouseover="x()">',
  '</a>',
  '<svg>',
  '</svg>',
  '<img src=x onerror=x()>',
  '<template>',
  '</template>',
  '</div>',
  '<ol start="7">',
  '<ol start="x">',
  '</ol>',
  '<h1>',
  '<br>',
  '<style>',
]

test('whatever the HTML of a body is, the page gets allowed tags, closed, with safe links', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...BODY), hostile)), (parts) => {
      const { tags, open } = parse(contentOf(parts.join('')).html)
      for (const [name, attributes] of tags) {
        expect(name).toMatch(TAGS)
        expect(name).not.toMatch(/^h\d/)
        const { href, rel, start, dir, ...others } = attributes
        expect(others).toEqual({})
        expect(dir).toBe(name === 'span' ? 'auto' : undefined)
        if (href !== undefined) expect([LINKS.test(href), rel]).toEqual([true, 'nofollow ugc noopener'])
        if (start !== undefined) expect(start).toMatch(/^-?\d+$/)
      }
      expect(open).toBe(0)
    }),
    // A tag that never ends.
    { examples: [[['<a>', '<b id=x ']]] },
  )
})

test('a body is drawn as the widget draws it, and as lines of text for search engines', () => {
  const body =
    '<h1>Title</h1>\n<p>A &lt; B <a href="https://www.example.com/" title="x">l</a></p>\n<ol start="3"><li>a</li></ol><video>v</video>'
  expect(contentOf(body)).toEqual({
    html: '<strong>Title</strong>\n<p>A &lt; B <a href="https://www.example.com/" rel="nofollow ugc noopener">l</a></p>\n<ol start="3"><li>a</li></ol>',
    text: 'Title\nA < B l\na',
  })
})

test('a build without marks for bundlers does the same', () => {
  const built = `const kept=/* @__PURE__ */ new Map;const made=()=>{return/* @__PURE__ */ new Set([typeof/* @__PURE__ */ f()])};`
  const code = leaveOut(built)
  expect(code).not.toContain('__PURE__')
  const run = (text: string): unknown => runInNewContext(`const f=()=>1;${text}JSON.stringify([...kept, ...made()])`)
  expect(run(code)).toEqual(run(built))
})
