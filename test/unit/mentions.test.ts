import { expect, test } from 'vitest'

import { contentOf } from '../../src/clients/first-page/content.ts'
import { withLowerCaseIds, withoutMentions, writtenMentions } from '../../src/domains/comments/text/mentions.ts'
import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'

const ID = '01a22378-2c05-7284-9431-381e1b3a9998'
const OTHER = '01a22378-2c05-7284-9431-381e1b3a9999'

test('the widget draws the name of a mention in its own direction, and none of its attributes', () => {
  const html = `<p>hello <span class="mention" data-reader="${ID}" onclick="alert(1)">@Ann</span></p>\n`
  expect(contentOf(html)).toMatchObject({ html: '<p>hello <span dir="auto">@Ann</span></p>\n', text: 'hello @Ann' })
})

test('a text names its first ten readers, each once, and no place of it moves without them', () => {
  const ids = Array.from({ length: 12 }, (_, n) => ID.slice(0, -2) + String(n + 10))
  const body = [...ids, ID, ...ids].map((id) => `a [@](reader:${id})`).join('')
  expect(writtenMentions(body)).toEqual(ids.slice(0, 10))
  expect(withoutMentions(body)).toHaveLength(body.length)
  expect(withoutMentions(body)).not.toContain('reader')
})

test('an id in upper case becomes lower case, and nothing else does', () => {
  const upper = ID.toUpperCase()
  expect(withLowerCaseIds(`A [@](reader:${upper}) [@](reader:${ID}) ${upper}`)).toBe(
    `A [@](reader:${ID}) [@](reader:${ID}) ${upper}`,
  )
  for (const text of [`[@](READER:${upper})`, `[@](reader:${upper}`, `[@](reader:${'G'.repeat(36)})`, `(${upper})`]) {
    expect(withLowerCaseIds(text)).toBe(text)
  }
})

test('only the given readers are mentions', () => {
  const html = renderMarkdown(`[@](reader:${ID}) [@](reader:${OTHER})`, new Set([ID]))
  expect(html).toBe(`<p><span class="mention" data-reader="${ID}">@</span> [@](reader:${OTHER})</p>\n`)
})
