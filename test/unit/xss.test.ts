import sanitize from 'sanitize-html'
import { expect, test } from 'vitest'

import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'
import { CORPUS, HTML } from '../harness/hostile.ts'

interface Tag {
  name: string
  attributes: Record<string, string>
}

/**
 * Every tag of `html`, as an HTML parser sees them: the sanitizer's own, with nothing forbidden.
 */
function tagsOf(html: string): Tag[] {
  const tags: Tag[] = []
  sanitize(html, {
    allowedTags: false,
    allowedAttributes: false,
    allowVulnerableTags: true,
    transformTags: {
      '*': (name, attributes) => {
        tags.push({ name, attributes: { ...attributes } })
        return { tagName: name, attribs: attributes }
      },
    },
  })
  return tags
}

const TAGS = new Set('a blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong ul'.split(' '))
const ATTRIBUTES: Readonly<Record<string, RegExp>> = {
  // A browser drops tabs and line breaks within a scheme: there must be none.
  href: /^(https?:|mailto:)[^\s\p{Cc}]*$/u,
  rel: /^nofollow ugc noopener$/,
  title: /^[^]*$/,
  start: /^\d+$/,
  class: /^language-[\w+#.-]{1,50}$/,
}

/** Parts of a rendered comment that could run, load or submit anything. */
function dangers(html: string): string[] {
  const found = tagsOf(html).flatMap(({ name, attributes }) => {
    if (!TAGS.has(name)) return [`<${name}>`]
    return Object.entries(attributes).flatMap(([attribute, value]) =>
      ATTRIBUTES[attribute]?.test(value) === true ? [] : [`<${name} ${attribute}=${JSON.stringify(value)}>`],
    )
  })
  // Comments, CDATA and processing instructions are no tags, but parsers differ in where they end.
  return /<[!?]/.test(html) ? [...found, '<!'] : found
}

test('the corpus is large', () => {
  expect(HTML.length).toBeGreaterThan(90)
  expect(new Set(CORPUS).size).toBeGreaterThan(1000)
})

test('the checker recognises dangerous HTML', () => {
  for (const html of [
    '<script>x</script>',
    '<a href="javascript:alert(1)">x</a>',
    '<a onclick="x">x</a>',
    '<a href="java\tscript:x">x</a>',
    '<img src=x>',
    '<!-- -->',
    '<svg/onload=x>',
    '<a style="x">x</a>',
  ]) {
    expect(dangers(html), html).not.toEqual([])
  }
  expect(dangers('<p><a href="https://a.example/" rel="nofollow ugc noopener">x</a></p>')).toEqual([])
})

test('no script, handler or unknown scheme survives in any of it', () => {
  const survivors = CORPUS.flatMap((body) => {
    const html = renderMarkdown(body)
    const found = dangers(html)
    return found.length === 0 ? [] : [{ body, html, found }]
  })
  expect(survivors).toEqual([])
})
