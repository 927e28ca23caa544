import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { useNewspaper } from '../harness/widget.ts'

/** Slow 4G, by the numbers of Lighthouse. */
const SLOW_4G = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
}
const ROUNDS = 5
const MOST_LATER_MS = 50

/** Largest Contentful Paint, as Chromium measures it. Runs in the page. */
const WATCH_PAINTS = `
  window.paints = []
  new PerformanceObserver((list) => {
    for (const { startTime, element } of list.getEntries()) paints.push({ startTime, name: element?.localName })
  }).observe({ type: 'largest-contentful-paint', buffered: true })`

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

describeInBrowser('the largest paint of an article', () => {
  const paper = useNewspaper()
  const article = 'night-trains'
  beforeAll(async () => {
    for (let n = 0; n < 8; n++) await paper.post(article, `reader-${n}`, `Comment ${n} on the sleeper. `.repeat(8))
  })

  const slowDown = async (page: Page): Promise<void> => {
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', SLOW_4G)
    await page.addInitScript(WATCH_PAINTS)
  }

  /** Milliseconds from the navigation to the last of the paints that were the largest. */
  async function paintedAt(widget: 'on' | 'off', width: number): Promise<number> {
    const window = await paper.read(article, { query: `widget=${widget}`, width, prepare: slowDown })
    if (widget === 'on') await window.sees('Comment 7')
    else expect(await window.thread.count()).toBe(0)
    await window.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const paints = await window.page.evaluate<{ startTime: number; name: string }[]>('paints')
    await window.page.context().close()
    expect(paints).not.toEqual([])
    // On this line, nothing is painted before the page and its style have come.
    expect(paints[0]!.startTime).toBeGreaterThan(2 * SLOW_4G.latency)
    return paints.at(-1)!.startTime
  }

  test.each([1280, 390])('is at most 50 ms later with the widget, on slow 4G, %i pixels wide', async (width) => {
    const [alone, beside]: [number[], number[]] = [[], []]
    // The first visit of each kind warms up the service and the site.
    await paintedAt('off', width)
    await paintedAt('on', width)
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await paintedAt('off', width))
      beside.push(await paintedAt('on', width))
    }
    const seen = `without the widget ${String(alone)} ms, with it ${String(beside)} ms`
    expect(median(beside) - median(alone), seen).toBeLessThanOrEqual(MOST_LATER_MS)
  })
})
