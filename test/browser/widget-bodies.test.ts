import type { Page } from 'playwright-core'
import { beforeAll, expect, test, vi } from 'vitest'

import { axeFindings, COLORS } from '../harness/axe.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, WAIT } from '../harness/widget.ts'

const TEXTS = {
  en: { line: 'A great summer, with a long sentence that does not fit into one line', word: 'quoted' },
  ar: { line: 'صيف رائع، مع جملة طويلة لا تتسع لها سطر واحد في الهاتف', word: 'مقتبس' },
}

/** Numbers of one to five digits, and lists within lists. */
const listsOf = (line: string): string[] => [
  ...[1, 9, 10, 99, 100, 999, 1000, 1986, 9999, 12_345].map((start) => `${start}. ${line}\n${start + 1}. ${line}`),
  `- ${line}\n  - ${line}\n    12345. ${line}\n       - ${line}`,
  `1. ${line}\n   1986. ${line}\n\n   ${line}`,
]

const bodiesOf = (line: string): string[] => [
  ...listsOf(line),
  `> ${line}\n> 1986. ${line}`,
  '```\nconst veryLongName = anotherVeryLongName.withAMethod(thatTakes, manyArguments, andMore)\n```',
  `\`${'code'.repeat(60)}\``,
  `| ${line} | ${line} |\n| --- | --- |\n| ${'\u0335\u0327'.repeat(40)} | ${'-'.repeat(200)} |`,
  `${'w'.repeat(300)} https://example.com/${'path/'.repeat(40)}`,
]

/** Draws what the boxes of the bodies would cut, too. */
const SHOW_ALL = `(() => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('.body { overflow: visible !important }')
  document.querySelector('engagement-thread').shadowRoot.adoptedStyleSheets.push(sheet)
})()`

const whole = (page: Page): Promise<Buffer> =>
  page.screenshot({ fullPage: true, animations: 'disabled', caret: 'hide' })

describeInBrowser('the bodies of comments', () => {
  const paper = useNewspaper()
  beforeAll(async () => {
    await paper.set({ maxLinks: 10 })
  })

  test.each([
    ['en', 'en'],
    ['ar', 'ar'],
    ['en', 'ar'],
    ['ar', 'en'],
  ] as const)(
    'show every number of a list, and nothing beside the page, at 320 pixels: a text of %s on a page of %s',
    async (text, lang) => {
      const article = newArticle()
      const bodies = bodiesOf(TEXTS[text].line)
      for (const [n, body] of bodies.entries()) await paper.post(article, `writer-${n}-${text}-${lang}`, body)
      const { page, thread } = await paper.read(article, { width: 320, query: `page-size=100&lang=${lang}` })
      await vi.waitFor(async () => expect(await thread.locator('.body').count()).toBe(bodies.length), WAIT)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
      // Of each box, what would be drawn beyond it.
      const wide = await thread
        .locator('.body')
        .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent))
      expect(wide).toEqual([])
      // Markers are no elements, so that only the pixels tell whether one is cut.
      const before = await whole(page)
      await page.evaluate(SHOW_ALL)
      expect(before.equals(await whole(page))).toBe(true)
    },
  )

  test.each(['light', 'dark'])('can be read in the fifth quote within another, in %s', async (look) => {
    const article = newArticle()
    const { word } = TEXTS.en
    const quotes = Array.from({ length: 5 }, (_, n) => `${'> '.repeat(n + 1)}${word} ${n + 1} \`code\` **strong**`)
    await paper.post(article, `quoter-${look}`, quotes.join('\n'))
    const { page, thread } = await paper.read(article, { width: 320, query: `page=${look}` })
    await vi.waitFor(async () => expect(await thread.locator('.body blockquote').count()).toBe(5), WAIT)
    expect(await axeFindings(page, 'engagement-thread', COLORS)).toEqual([])
  })

  test('a reaction of the reader differs from others where the system sets the colours', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'Reacted to')
    await paper.call('PUT', `/comments/${id}/reaction`, { type: 'love' }, 'ann')
    await paper.call('PUT', `/comments/${id}/reaction`, { type: 'like' }, 'bob')
    const { thread, page } = await paper.read(article, { as: 'ann' })
    await page.emulateMedia({ forcedColors: 'active' })
    const look = (name: string) =>
      thread.getByRole('button', { name }).evaluate((one) => getComputedStyle(one).backgroundColor)
    expect(await look('Love 1')).not.toBe(await look('Like 1'))
  })
})
