import type { Page } from 'playwright-core'
import { beforeAll, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { first } from '../harness/processes.ts'
import { TAB_WAIT, WATCH_STREAMS } from '../harness/tab-site.ts'
import { newArticle, useNewspaperOfProcesses } from '../harness/widget.ts'

describeInBrowser('<engagement-count live>', () => {
  const paper = useNewspaperOfProcesses()
  beforeAll(() => paper.set({ suspectWords: ['suspect'] }))

  /** The front page, with these counts in place of its own, and what it asks for. */
  async function open(
    articles: readonly string[],
    attributes: Record<string, string> = { live: '', format: 'number' },
  ) {
    const asked: string[] = []
    const { page } = await paper.read('none', {
      prepare: async (one) => {
        one.on('request', (request) => void asked.push(request.url()))
        await one.addInitScript(WATCH_STREAMS)
        // The index of the paper has no thread.
        await one.route('**/articles/none?', (route) =>
          route.fulfill({ status: 302, headers: { location: `${paper.site.url}/` } }),
        )
      },
    })
    await page.waitForURL(`${paper.site.url}/`)
    // Like the page of a publisher that requires Trusted Types.
    await page.evaluate(
      ([ids, given]) => {
        const all = ids.map((id) => {
          const count = document.createElement('engagement-count')
          for (const [name, value] of Object.entries({ ...given, discussion: id })) count.setAttribute(name, value)
          const line = document.createElement('p')
          line.append(count)
          return line
        })
        document.body.replaceChildren(...all)
      },
      [articles, attributes] as const,
    )
    return { page, asked: (path: string) => asked.filter((one) => one.includes(path)) }
  }

  const expectStreams = (page: Page, count: number) =>
    vi.waitFor(async () => expect(await page.evaluate('window.connected.size')).toBe(count), TAB_WAIT)

  const setHidden = (page: Page, isHidden: boolean) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { get: () => value, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, isHidden)

  const counts = (page: Page): Promise<string[]> => page.locator('engagement-count [part=count]').allInnerTexts()
  const expectCounts = (page: Page, expected: number[]) =>
    vi.waitFor(async () => expect(await counts(page)).toEqual(expected.map(String)), TAB_WAIT)

  test('follows what is posted, held, approved, rejected and deleted, by one stream', async () => {
    const articles = [newArticle(), newArticle(), newArticle()] as const
    const [one, two] = articles
    const root = await paper.post(one, 'ann', 'Here before')
    const { page, asked } = await open(articles)
    // One that has no comment yet, too.
    await expectCounts(page, [1, 0, 0])
    await expectStreams(page, 1)
    await paper.post(one, 'bob', 'A reply', root)
    const firstOfTwo = await paper.post(two, 'bob', 'The first one')
    await expectCounts(page, [2, 1, 0])
    const held = await paper.post(two, 'eve', 'A suspect text')
    await paper.call('POST', `/comments/${held}/approve`)
    await expectCounts(page, [2, 2, 0])
    await paper.call('POST', `/comments/${held}/reject`)
    await paper.call('DELETE', `/comments/${held}`)
    await expectCounts(page, [2, 1, 0])
    // An edit that is held, and a tombstone that is deleted.
    await paper.call('PATCH', `/comments/${root}`, { body: 'A suspect text' }, 'ann')
    await expectCounts(page, [1, 1, 0])
    await paper.call('DELETE', `/comments/${root}`)
    await paper.call('DELETE', `/comments/${firstOfTwo}`)
    await expectCounts(page, [1, 0, 0])
    expect([asked('/tickets').length, asked('/stream?').length]).toEqual([1, 1])
  })

  test('continues after a restart of the service, and after the reader was away', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'One')
    const { page } = await open([article])
    await expectStreams(page, 1)
    await first(paper.service.apis).kill()
    await first(paper.service.apis).start()
    await paper.post(article, 'ann', 'Two')
    await expectCounts(page, [2])
    await setHidden(page, true)
    await expectStreams(page, 0)
    await paper.post(article, 'ann', 'Three')
    await setHidden(page, false)
    await expectCounts(page, [3])
    await paper.post(article, 'ann', 'Four')
    await expectCounts(page, [4])
  })

  test('counts again where more has happened than can be replayed', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'One')
    await paper.setInTest({ stream: { replayEvents: 100 } })
    const { page, asked } = await open([article])
    await expectStreams(page, 1)
    await setHidden(page, true)
    await expectStreams(page, 0)
    for (let n = 1; n <= 120; n++) await paper.post(article, 'ann', `Number ${n}`)
    await setHidden(page, false)
    await expectCounts(page, [121])
    expect(asked(`/counts?externalId=${article}`).length).toBe(2)
    await paper.post(article, 'ann', 'The last one')
    await expectCounts(page, [122])
  })

  test('of more than 50 pages, those that are seen are followed', async () => {
    const articles = Array.from({ length: 80 }, () => newArticle())
    const [top = '', bottom = ''] = [articles[0], articles.at(-1)]
    for (const article of [top, bottom]) await paper.post(article, 'ann', 'One')
    const { page, asked } = await open(articles)
    await expectStreams(page, 1)
    const [before = ''] = asked('/tickets')
    expect([before.includes(top), before.includes(bottom)]).toEqual([true, false])
    await paper.post(bottom, 'ann', 'Two')
    await page.locator('engagement-count').last().scrollIntoViewIfNeeded()
    const last = page.locator('engagement-count [part=count]').last()
    await vi.waitFor(async () => expect(await last.innerText()).toBe('2'), TAB_WAIT)
    await paper.post(bottom, 'ann', 'Three')
    await vi.waitFor(async () => expect(await last.innerText()).toBe('3'), TAB_WAIT)
  })

  test('takes the count of a thread on the same page, and follows by itself once the thread has gone', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'One')
    const { page } = await open([article])
    await expectStreams(page, 1)
    await page.evaluate((id) => {
      const thread = document.createElement('engagement-thread')
      thread.setAttribute('discussion', id)
      document.body.append(thread)
    }, article)
    // Only that of the thread, whose path names its discussion.
    const expectOnlyStream = (path: RegExp) =>
      vi.waitFor(async () => {
        const paths = await page.evaluate<string[]>('[...window.connected].map(({ url }) => new URL(url).pathname)')
        expect(paths).toEqual([expect.stringMatching(path)])
      }, TAB_WAIT)
    await expectOnlyStream(/\/stream\/[\da-f-]{36}$/)
    await paper.post(article, 'ann', 'Two')
    await expectCounts(page, [2])
    await page.locator('engagement-thread').evaluate((thread) => thread.remove())
    await paper.post(article, 'ann', 'Three')
    // What was posted while nothing followed, too.
    await expectCounts(page, [3])
    await expectOnlyStream(/\/stream$/)
    await paper.post(article, 'ann', 'Four')
    await expectCounts(page, [4])
  })

  test('begins and ends with the attribute and the element; without it there is no stream', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'One')
    const { page, asked } = await open([article], {})
    await vi.waitFor(async () => expect(await counts(page)).toEqual(['1 comment']), TAB_WAIT)
    const count = page.locator('engagement-count')
    await count.evaluate((element) => element.setAttribute('live', ''))
    await expectStreams(page, 1)
    expect([asked('/tickets').length, asked('widget.live.').length]).toEqual([1, 1])
    await paper.post(article, 'ann', 'Two')
    await vi.waitFor(async () => expect(await counts(page)).toEqual(['2 comments']), TAB_WAIT)
    await count.evaluate((element) => element.removeAttribute('live'))
    await expectStreams(page, 0)
    await count.evaluate((element) => element.setAttribute('live', ''))
    await expectStreams(page, 1)
    await count.evaluate((element) => element.remove())
    await expectStreams(page, 0)
    const plain = await open([article], {})
    await vi.waitFor(async () => expect(await counts(plain.page)).toEqual(['2 comments']), TAB_WAIT)
    await plain.page.waitForLoadState('networkidle')
    expect(['/tickets', '/stream?', 'widget.live.'].flatMap(plain.asked)).toEqual([])
  })
})
