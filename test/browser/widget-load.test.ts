import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, type Window } from '../harness/widget.ts'

const WAIT = { timeout: 60_000, interval: 50 }

/** In place of the browser's own: `window.live` sends events as the service would. */
const FAKE_STREAM = `window.EventSource = class extends EventTarget {
  readyState = 1
  constructor() {
    super()
    // Each in a task of its own, as the browser does.
    window.live = (type, data) =>
      setTimeout(() => this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) })))
    setTimeout(() => live('connected', { lastEventId: '0', complete: true }))
  }
  close() {}
}`

/**
 * Sends events of one kind, ten at a time: as many as a busy discussion has in a minute, in a third
 * of it. Settles when all are sent. Runs in the page.
 */
const send = (page: Page, first: number, events: number, kinds: readonly string[]): Promise<void> =>
  page.evaluate(
    ([from, number, names]) =>
      new Promise<void>((resolve) => {
        const { live, comments } = window as unknown as {
          live: (type: string, data: object) => void
          comments: { id: string; revision: number; replyCount: number }[]
        }
        let n = from
        const timer = setInterval(() => {
          for (let each = 0; each < 10; each++, n++) {
            const comment = comments[n % comments.length]
            const type = names[n % names.length] ?? ''
            const event = { seq: 1_000_000 + n, type, actor: { kind: 'reader', readerId: null, externalId: 'zoe' } }
            if (type === 'reaction_toggled') {
              const data = { commentId: comment?.id, type: 'like', reactionCounts: { like: n }, reader: null }
              live(type, { ...event, data })
            } else if (type === 'comment_edited') {
              const bodyHtml = `<p>Edited ${n}</p>`
              live(type, { ...event, data: { comment: { ...comment, revision: n, bodyHtml, body: `Edited ${n}` } } })
            } else {
              const id = `01ffffff-0000-7000-8000-${String(n).padStart(12, '0')}`
              live(type, { ...event, data: { comment: { ...comment, id, replyCount: 0 } } })
            }
          }
          if (n < from + number) return
          clearInterval(timer)
          resolve()
        }, 100)
      }),
    [first, events, kinds] as const,
  )

describeInBrowser('the widget, at 2 000 live events in a third of a minute', () => {
  const paper = useNewspaper()

  async function read(): Promise<Window> {
    const article = newArticle()
    for (let n = 0; n < 60; n++) await paper.post(article, n % 2 ? 'eve' : 'dan', `Comment ${n} with **some** words`)
    const { data } = await paper.call('GET', `/discussions/by-external/${article}/comments?limit=100`)
    const window = await paper.read(article, {
      as: 'ann',
      query: 'page-size=100',
      prepare: (page) => page.addInitScript(FAKE_STREAM),
    })
    await window.sees('Comment 59')
    await window.page.evaluate((all) => void Object.assign(globalThis, { comments: all }), data)
    await window.page.waitForFunction('window.live')
    return window
  }

  test('draws no more often than is seen, in short tasks, and keeps no more memory', async () => {
    const { page, thread, sees } = await read()
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    const metric = async (name: string): Promise<number> => {
      const { metrics } = await session.send('Performance.getMetrics')
      return metrics.find((each) => each.name === name)?.value ?? NaN
    }
    const heap = async (): Promise<number> => {
      await session.send('HeapProfiler.collectGarbage')
      return (await session.send('Runtime.getHeapUsage')).usedSize
    }
    await page.evaluate(`window.long = []
      new PerformanceObserver((list) => long.push(...list.getEntries().map((each) => Math.round(each.duration)))).observe({ type: 'longtask' })`)
    const kinds = ['reaction_toggled', 'reaction_toggled', 'comment_edited', 'reaction_toggled']
    await send(page, 0, 200, kinds)
    const [bytes, busy] = [await heap(), await metric('TaskDuration')]
    await send(page, 200, 2000, kinds)
    await sees(/Edited 2\d\d\d/)
    const cpuMs = ((await metric('TaskDuration')) - busy) * 1000
    const grown = (await heap()) - bytes
    const long = await page.evaluate<number[]>('window.long')
    const told = `${Math.round(cpuMs)} ms of CPU, ${grown} bytes, long tasks: ${long.join(' ')}`
    // By the CPU time of the page's thread: by the clock, a busy machine makes every task long.
    // 1 600 ms; 6 000 where each event is drawn.
    expect(cpuMs, told).toBeLessThan(4000)
    expect(long.length, told).toBeLessThanOrEqual(10)
    expect(grown, told).toBeLessThan(1_000_000)
    expect(await thread.locator('article').count()).toBe(60)
  })

  test('new comments are announced, and move nothing', async () => {
    const { page, button, thread } = await read()
    await page.mouse.wheel(0, 600)
    const top = () =>
      thread
        .locator('article')
        .nth(20)
        .evaluate((each) => Math.round(each.getBoundingClientRect().top))
    await vi.waitFor(async () => expect(await page.evaluate<number>('scrollY')).toBeGreaterThan(100), WAIT)
    const before = await top()
    await send(page, 0, 1000, ['comment_created'])
    await button('1,000 new comments').waitFor()
    expect(await top()).toBe(before)
    expect(await thread.locator('article').count()).toBe(60)
  })
})
