import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createSSRApp, h } from 'vue'
import { renderToString } from 'vue/server-renderer'

import { attributesOf, ELEMENTS, loadFor, readRendered } from '../../src/clients/elements/elements.ts'
import * as forReact from '../../src/clients/react/react.ts'
import * as forVue from '../../src/clients/vue/vue.ts'
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
      '<engagement-thread discussion="a&amp;&quot;&#39;b" data-v-7ba5bd90=""><template>1 > 0</template></engagement-thread>'
    const expected = {
      attributes: { discussion: `a&"'b`, 'data-v-7ba5bd90': '' },
      content: '<template>1 > 0</template>',
    }
    expect(readRendered(html)).toEqual(expected)
    expect(readRendered('<engagement-thread discussion="a"></engagement-thread>').content).toBe('')
  })

  test.each(['', '<p></p>', '<engagement-thread onload=x></engagement-thread>', '<engagement-thread><p>'])(
    'refuses %j',
    (html) => expect(() => readRendered(html)).toThrow('html must be that of renderThread'),
  )
})

describe('a component with the html of renderThread, on a server', () => {
  const html =
    '<engagement-thread class="wide" style="color:red" discussion="a"><template>Drawn</template></engagement-thread>'

  test('of React draws it alone, with its class, and without a style that React refuses', () => {
    const draw = (props: object) => renderToStaticMarkup(createElement(forReact.EngagementThread, { html, ...props }))
    const drawn = '<engagement-thread discussion="a" class="wide"><template>Drawn</template></engagement-thread>'
    expect(draw({ children: 'Written by the page' })).toBe(drawn)
    expect(draw({ className: 'narrow', style: { color: 'blue' } })).toBe(
      '<engagement-thread style="color:blue" discussion="a" class="narrow"><template>Drawn</template></engagement-thread>',
    )
  })

  test('of Vue draws it alone', async () => {
    const app = createSSRApp(() => h(forVue.EngagementThread, { html }, () => 'Written by the page'))
    const drawn = await renderToString(app)
    expect(drawn).toContain('discussion="a"')
    expect(drawn).toMatch(/><template>Drawn<\/template><\/engagement-thread>$/)
  })
})

describe('loadFor', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test.each([
    { defined: [], warnings: 1 },
    { defined: ['engagement-count'], warnings: 1 },
    { defined: ['engagement-thread'], warnings: 0 },
  ])('without `service` warns $warnings times where the page defines $defined', ({ defined, warnings }) => {
    vi.useFakeTimers()
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    const loaded = new Set<string>()
    vi.stubGlobal('customElements', { get: (tag: string) => loaded.has(tag) || undefined })
    const load = () => loadFor('thread', new EventTarget() as Element, undefined)
    const gone = load()
    load()
    for (const tag of defined) loaded.add(tag)
    gone()
    vi.runAllTimers()
    expect(warn.mock.calls).toEqual(
      Array.from({ length: warnings }, () => [expect.stringContaining('or load widget.js in the page')]),
    )
  })

  test('loads a script again that failed after its element was gone', () => {
    const scripts: EventTarget[] = []
    vi.stubGlobal('document', {
      createElement: () => new EventTarget(),
      head: { append: (script: EventTarget) => void scripts.push(script) },
    })
    const load = () => {
      const element = new EventTarget()
      const failed = vi.fn<(event: Event) => void>()
      element.addEventListener('engagement-error', failed)
      return { failed, stop: loadFor('thread', element as Element, 'https://comments.example') }
    }
    const first = load()
    first.stop()
    scripts[0]!.dispatchEvent(new Event('error'))
    const second = load()
    const third = load()
    expect(scripts).toHaveLength(2)
    scripts[1]!.dispatchEvent(new Event('error'))
    expect([first, second, third].map(({ failed }) => failed.mock.calls.length)).toEqual([0, 1, 1])
  })
})
