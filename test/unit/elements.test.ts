import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { attributesOf, ELEMENTS, readRendered } from '../../src/clients/elements/elements.ts'
import { ROOT } from '../harness/markdown.ts'

const WIDGET = join(ROOT, 'src/clients/widget')
const read = (name: string): string => readFileSync(join(WIDGET, name), 'utf8')
const named = (...elements: (keyof typeof ELEMENTS)[]): Set<string> =>
  new Set(
    elements.flatMap((name) =>
      Object.keys(
        attributesOf(name, Object.fromEntries(Object.keys(ELEMENTS[name].attributes).map((key) => [key, 1]))),
      ),
    ),
  )

describe('the table of the elements', () => {
  test.each([
    ['thread.ts', 'thread'],
    ['count.ts', 'count'],
    ['lists/lists.ts', 'latest'],
  ] as const)('%s observes attributes of it alone', (file, name) => {
    const [, list = ''] = /observedAttributes = \[([^\]]*)\]/.exec(read(file)) ?? []
    const observed = [...list.matchAll(/'([\w-]+)'/g)].map(([, each]) => each)
    expect(observed.length).toBeGreaterThan(3)
    expect([...named(name)]).toEqual(expect.arrayContaining(observed))
  })

  test('has every attribute that the widget reads', () => {
    const files = readdirSync(WIDGET, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
    const texts = files.filter((name) => !name.endsWith('content.ts')).map(read)
    const asked = texts.flatMap((text) =>
      [...text.matchAll(/(?:get|has)Attribute\('([\w-]+)'\)/g)].map(([, each]) => each),
    )
    expect(asked.length).toBeGreaterThan(10)
    expect([...named('thread', 'count', 'latest', 'mostDiscussed')]).toEqual(expect.arrayContaining(asked))
  })

  test('has nothing that the guide does not name', () => {
    const guides = ['widget-options', 'widget', 'static-page'].map((name) =>
      readFileSync(join(ROOT, `docs/guides/${name}.md`), 'utf8'),
    )
    const missing = [...named('thread', 'count', 'latest', 'mostDiscussed')].filter(
      (name) => !guides.some((text) => text.includes(`\`${name}`)),
    )
    expect(missing).toEqual([])
  })
})

describe('attributesOf', () => {
  test.each([
    [true, { live: '' }],
    ['', { live: '' }],
    [false, {}],
    [null, {}],
    [undefined, {}],
  ])('writes live of %j as the attribute of a switch', (live, expected) =>
    expect(attributesOf('count', { live })).toEqual(expected),
  )
})

describe('readRendered', () => {
  test('reads the attributes and the content of what renderThread draws', () => {
    const html =
      '<engagement-thread discussion="a&amp;&quot;&#39;b" page-size="20"><template>1 > 0</template></engagement-thread>'
    const expected = { attributes: { discussion: `a&"'b`, 'page-size': '20' }, content: '<template>1 > 0</template>' }
    expect(readRendered(html)).toEqual(expected)
    expect(readRendered('<engagement-thread discussion="a"></engagement-thread>').content).toBe('')
  })

  test.each(['', '<p></p>', '<engagement-thread onload=x></engagement-thread>', '<engagement-thread><p>'])(
    'refuses %j',
    (html) => expect(() => readRendered(html)).toThrow('html must be that of renderThread'),
  )
})
