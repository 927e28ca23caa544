import type { Page } from 'playwright-core'
import { beforeEach, expect, test, vi } from 'vitest'

import { describeInBrowser, hasWholeBrowser, openSleeper, type Sleeper } from '../harness/browser.ts'
import { first } from '../harness/processes.ts'
import { TAB_WAIT, WATCH_STREAMS } from '../harness/tab-site.ts'
import { newArticle, useNewspaperOfProcesses, type Window, windowOf } from '../harness/widget.ts'

/** The texts of the replies to its reader that a page was told of. */
const TOLD = `heard.flatMap(({ name, detail }) => (name === 'reply' ? [detail.comment.body] : []))`

describeInBrowser('tabs with the widget', () => {
  const paper = useNewspaperOfProcesses('whole')
  let article: string
  let discussionId: string
  /** Ann's comment. Of each reply her pages are told once. */
  let root: string
  let replies: string[]

  beforeEach(async () => {
    article = newArticle()
    root = await paper.post(article, 'ann', 'The first')
    discussionId = (await paper.call('GET', `/discussions/by-external/${article}`)).id
    replies = []
  })

  /** The first tab of a browser. */
  const read = (as?: string, script = ''): Promise<Window> =>
    paper.read(article, {
      ...(as !== undefined && { as }),
      prepare: (page) => page.context().addInitScript(WATCH_STREAMS + script),
    })
  /** A further tab of the same browser. */
  async function openBeside({ page }: Window, prepare?: (page: Page) => Promise<unknown>): Promise<Window> {
    const next = await page.context().newPage()
    await prepare?.(next)
    await next.goto(page.url())
    const tab = windowOf(next)
    await tab.sees('The first')
    return tab
  }
  const signIn = ({ page }: Window, name: string) =>
    page.context().addCookies([{ name: 'reader', value: name, url: paper.site.url }])

  async function reply(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const text = `Reply ${replies.length + 1}`
      await paper.post(article, 'bob', text, root)
      replies.push(text)
    }
  }
  const told = ({ page }: Window): Promise<string[]> => page.evaluate(TOLD)
  const expectCount = ({ page }: Window, count: number) =>
    vi.waitFor(
      async () =>
        expect(
          await page
            .locator('engagement-count')
            .first()
            .evaluate((one) => Object(one).count),
        ).toBe(count),
      TAB_WAIT,
    )
  /** Each event has come once and in order. */
  async function expectAll(tab: Window): Promise<void> {
    await vi.waitFor(async () => expect(await told(tab)).toEqual(replies), TAB_WAIT)
    await expectCount(tab, 1 + replies.length)
  }

  const streamsOf = ({ page }: Window): Promise<number> => page.evaluate('streams.size')
  const expectStreams = (tabs: readonly Window[], counts: readonly number[]) =>
    vi.waitFor(async () => expect(await Promise.all(tabs.map(streamsOf))).toEqual(counts), TAB_WAIT)
  const expectOnService = (count: number) =>
    vi.waitFor(
      async () => expect((await paper.call('GET', `/discussions/${discussionId}/presence`)).streams).toBe(count),
      TAB_WAIT,
    )
  /** The first of them has the stream of all. */
  async function openTabs(count: number, as?: string): Promise<[Window, Window, ...Window[]]> {
    const leader = await read(as)
    await expectStreams([leader], [1])
    const others: Window[] = []
    for (let n = 1; n < count; n++) others.push(await openBeside(leader))
    await expectStreams([leader, ...others], [1, ...others.map(() => 0)])
    return [leader, ...others] as [Window, Window, ...Window[]]
  }

  test('of one reader and discussion have one stream, and each shows all', async () => {
    const tabs = await openTabs(3, 'ann')
    await reply(3)
    for (const tab of tabs) await expectAll(tab)
    await expectOnService(1)
    // The reader's own comment, written where another tab has the stream.
    await tabs[1].write('Written in the second tab')
    for (const tab of tabs) {
      await tab.sees('Written in the second tab')
      await expectCount(tab, 5)
    }
    await expectStreams(tabs, [1, 0, 0])
  })

  test.each<[string, (leader: Page) => Promise<unknown>]>([
    ['closed', (page) => page.close()],
    [
      'killed',
      async (page) => {
        // Chromium never answers: the process of the tab is gone.
        void page.goto('chrome://crash').catch(() => undefined)
        await page.waitForEvent('crash')
      },
    ],
  ])('lose, double and reorder nothing when the one with the stream is %s', async (_how, end) => {
    const [leader, ...left] = await openTabs(3, 'ann')
    await reply(2)
    for (const tab of left) await expectAll(tab)
    await Promise.all([reply(4), end(leader.page)])
    await reply(2)
    for (const tab of left) await expectAll(tab)
    await expectOnService(1)
    await leader.page.close()
  })

  test.skipIf(!hasWholeBrowser)(
    `give the stream to another while the one with it is in the back/forward cache${hasWholeBrowser ? '' : ' (skipped: needs a whole Chromium)'}`,
    async () => {
      const [leader, other] = await openTabs(2, 'ann')
      await leader.page.evaluate(`addEventListener('pageshow', ({ persisted }) => (window.isFromCache = persisted))`)
      await leader.page.goto(`${paper.site.url}/icon.svg`)
      await expectStreams([other], [1])
      await reply(2)
      await expectAll(other)
      await leader.page.goBack({ waitUntil: 'commit' })
      await vi.waitFor(async () => expect(await leader.page.evaluate('window.isFromCache')).toBe(true), TAB_WAIT)
      await expectAll(leader)
      await reply(1)
      for (const tab of [leader, other]) await expectAll(tab)
      await expectStreams([leader, other], [0, 1])
    },
  )

  test('give the stream to another while the one with it is frozen', async () => {
    const url = `${paper.site.url}/sign-in?as=ann&return=/articles/${article}`
    const tabs: Sleeper[] = []
    const expectTold = (tab: Sleeper) =>
      vi.waitFor(async () => expect(await tab.evaluate(TOLD)).toEqual(replies), TAB_WAIT)
    try {
      for (let n = 0; n < 2; n++) {
        const tab = await openSleeper(paper.browser, url)
        tabs.push(tab)
        const isReady = `heard.some(({ name }) => name === 'ready')`
        await vi.waitFor(async () => expect(await tab.evaluate(isReady)).toBe(true), TAB_WAIT)
        await expectOnService(1)
      }
      const [leader, other] = tabs as [Sleeper, Sleeper]
      await reply(2)
      for (const tab of tabs) await expectTold(tab)
      await expectOnService(1)
      await leader.freeze()
      await reply(2)
      await expectTold(other)
      await leader.unfreeze()
      await reply(1)
      for (const tab of tabs) await expectTold(tab)
      await expectOnService(1)
    } finally {
      for (const tab of tabs) await tab.close()
    }
  })

  test('ask for a fresh ticket when they get the stream late', async () => {
    const leader = await read('ann')
    await expectStreams([leader], [1])
    const asked: string[] = []
    const other = await openBeside(leader, async (page) => {
      page.on('request', (request) => request.url().includes('/ticket?') && asked.push(request.url()))
      await page.route('**/thread?*', async (route) => {
        const response = await route.fetch()
        const answer = (await response.json()) as { ticket: object }
        const ticket = { ...answer.ticket, expiresAt: new Date(Date.now() - 1000).toISOString() }
        await route.fulfill({ response, json: { ...answer, ticket } })
      })
    })
    await expectStreams([leader, other], [1, 0])
    expect(asked).toHaveLength(0)
    await leader.page.close()
    await reply(1)
    await expectAll(other)
    expect(asked).toHaveLength(1)
  })

  test('of other readers, and of nobody, have other streams', async () => {
    const [ann, annToo] = await openTabs(2, 'ann')
    await signIn(ann, 'bob')
    const bob = await openBeside(ann)
    await signIn(ann, '')
    const nobody = await openBeside(ann)
    await expectStreams([ann, annToo, bob, nobody], [1, 0, 1, 1])
    await expectOnService(3)
    await reply(2)
    for (const tab of [ann, annToo]) await expectAll(tab)
    for (const tab of [bob, nobody]) {
      await expectCount(tab, 3)
      expect(await told(tab)).toEqual([])
    }
    // A text that is held is shown to its author alone.
    await paper.set({ moderationMode: 'pre' })
    try {
      await signIn(ann, 'bob')
      await bob.write('Held, and shown to Bob alone')
      await bob.sees('Held, and shown to Bob alone')
    } finally {
      await paper.set({ moderationMode: 'post' })
    }
    await reply(1)
    for (const tab of [ann, annToo]) await expectAll(tab)
    for (const tab of [ann, annToo, nobody]) await tab.seesNot('Held, and shown')
  })

  test('load again as another reader, who has signed in elsewhere', async () => {
    const [ann, annToo] = await openTabs(2, 'ann')
    const ofBob = await paper.post(article, 'bob', 'One of Bob')
    await signIn(ann, 'bob')
    // It asks for a new ticket, while the other tab still has one for Ann.
    await ann.page.evaluate(`dispatchEvent(new Event('online'))`)
    await expectStreams([ann, annToo], [1, 1])
    await vi.waitFor(
      async () => expect(await ann.page.evaluate(`heard.filter(({ name }) => name === 'ready').length`)).toBe(2),
      TAB_WAIT,
    )
    await expectOnService(2)
    await paper.post(article, 'ann', 'Bob is told of it', ofBob)
    for (const tab of [ann, annToo]) await expectCount(tab, 3)
    await vi.waitFor(async () => expect(await told(ann)).toEqual(['Bob is told of it']), TAB_WAIT)
    expect(await told(annToo)).toEqual([])
  })

  test('each have a stream where the browser has no locks, or none for this page', async () => {
    const scripts = [
      `Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined })`,
      `LockManager.prototype.request = () => Promise.reject(new DOMException('not here', 'SecurityError'))`,
      `window.BroadcastChannel = class { constructor() { throw new DOMException('not here', 'SecurityError') } }`,
    ]
    for (const script of scripts) {
      replies = []
      const tab = await read(undefined, script)
      const other = await openBeside(tab)
      await expectStreams([tab, other], [1, 1])
      await paper.post(article, 'bob', script)
      for (const one of [tab, other]) await one.sees('new comment')
      await paper.leave()
    }
  })

  test('say that they are offline, and go on, whichever has the stream', async () => {
    const tabs = await openTabs(2, 'ann')
    const context = tabs[0].page.context()
    await context.setOffline(true)
    for (const tab of tabs) await tab.sees('You are offline.')
    await reply(2)
    await tabs[1].write('Written without a line')
    await tabs[1].sees('Your text is kept, and sent as soon as there is a connection.')
    await context.setOffline(false)
    for (const tab of tabs) {
      await tab.seesNot('You are offline.')
      await tab.sees('Written without a line')
      await vi.waitFor(async () => expect(await told(tab)).toEqual(replies), TAB_WAIT)
      await expectCount(tab, 4)
    }
    await expectStreams(tabs, [1, 0])
  })

  test('catch up after a restart of the service', async () => {
    const tabs = await openTabs(2, 'ann')
    await reply(1)
    await first(paper.service.apis).kill()
    await first(paper.service.apis).start()
    await reply(2)
    for (const tab of tabs) await expectAll(tab)
    await expectStreams(tabs, [1, 0])
  })
})
