import { describe, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, WAIT, type ReadOptions } from '../harness/widget.ts'

describeInBrowser("a reader's own, in the widget", () => {
  const paper = useNewspaper()

  describe('comments that wait for a moderator', () => {
    /** Ann has written at the top, and below a comment of a later page. */
    async function hold(article: string): Promise<void> {
      const parent = await paper.post(article, 'bob', 'An old question')
      for (let n = 1; n <= 3; n++) await paper.post(article, `reader-${n}`, `Since then ${n}`)
      await paper.set({ moderationMode: 'pre' })
      try {
        await paper.post(article, 'ann', 'A reply that waits', parent)
        await paper.post(article, 'ann', 'A comment that waits')
      } finally {
        await paper.set({ moderationMode: 'none' })
      }
    }

    test('are shown in a new tab and in another browser, a reply with what it answers', async () => {
      const article = newArticle()
      await hold(article)
      const query = 'page-size=2'
      const ann = await paper.read(article, { as: 'ann', query })
      await ann.sees(/A comment that waits[^]*Awaiting moderation/)
      await ann.button('More comments').click()
      await ann.sees(/An old question[^]*A reply that waits[^]*Awaiting moderation/)

      const tab = await ann.page.context().newPage()
      await tab.goto(ann.page.url())
      await tab.getByText('A comment that waits').waitFor()
      await tab.close()

      const elsewhere = await paper.read(article, { as: 'ann', query })
      await elsewhere.sees('A comment that waits')
      await elsewhere.button('More comments').click()
      await elsewhere.sees('A reply that waits')

      const bob = await paper.read(article, { as: 'bob' })
      await bob.sees('An old question')
      expect(await bob.thread.getByText('that waits').count()).toBe(0)
    })

    test('are shown below what they answer also where the address of it is followed', async () => {
      const article = newArticle()
      await hold(article)
      const { data } = await paper.call('GET', `/discussions/by-external/${article}/comments`)
      const { id } = data.find(({ body }: { body: string }) => body === 'An old question')
      const ann = await paper.read(article, { as: 'ann', query: 'page-size=2' })
      await ann.sees('A comment that waits')
      await ann.page.evaluate(`location.hash = '#comment-${id}'`)
      await ann.sees(/An old question[^]*A reply that waits/)
      expect(await ann.thread.getByText('Awaiting moderation').count()).toBe(2)
    })

    test('are shown also where the code for writers comes late', async () => {
      const article = newArticle()
      await hold(article)
      let isLost = true
      const ann = await paper.read(article, {
        as: 'ann',
        prepare: (page) => page.route('**/widget.writing.*.js', (route) => (isLost ? route.abort() : route.continue())),
      })
      await ann.sees('Since then 3')
      expect(await ann.thread.getByText('that waits').count()).toBe(0)
      isLost = false
      await ann.page.evaluate(`dispatchEvent(new Event('online'))`)
      await ann.sees('A comment that waits')
      await ann.sees('A reply that waits')
    })

    test('are shown with a backend of an earlier release', async () => {
      const article = newArticle()
      await hold(article)
      const ann = await paper.read(article, {
        as: 'ann',
        prepare: (page) =>
          page.route('**/engagement/thread?*', (route) => route.fulfill({ status: 404, json: { code: 'not_found' } })),
      })
      await ann.sees(/A comment that waits[^]*A reply that waits/)
      expect(await ann.thread.getByText('Awaiting moderation').count()).toBe(2)
    })

    test('cost a page of signed-out readers no request', async () => {
      const article = newArticle()
      await hold(article)
      const asked: string[] = []
      const window = await paper.read(article, {
        prepare: async (page) => {
          page.on('request', (request) => {
            const { pathname } = new URL(request.url())
            if (pathname.startsWith('/engagement/')) asked.push(pathname)
          })
        },
      })
      await window.sees('An old question')
      expect(asked.filter((path) => !/counts|ticket/.test(path))).toEqual(['/engagement/thread'])
    })
  })

  test('a reaction that the tenant has removed can be taken back by its reader, and given by nobody', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'eve', 'A comment')
    await paper.set({ reactionTypes: ['like', 'love', 'bravo'] })
    for (const as of ['ann', 'dan']) await paper.call('POST', `/comments/${id}/reactions`, { type: 'bravo' }, as)
    await paper.set({ reactionTypes: ['like', 'love'] })
    try {
      const read = async (options: ReadOptions) => {
        const window = await paper.read(article, options)
        await window.sees('bravo 2')
        return window
      }
      for (const options of [{ as: 'bob' }, {}]) {
        const other = await read(options)
        expect(await other.button(/bravo/).count()).toBe(0)
        expect(await other.thread.getByRole('img', { name: 'bravo 2' }).count()).toBe(1)
        await other.button('React').click()
        expect(await other.button(/bravo/).count()).toBe(0)
      }
      const ann = await read({ as: 'ann' })
      await ann.button('bravo 2').and(ann.page.locator('[aria-pressed=true]')).click()
      await ann.sees('bravo 1')
      expect(await ann.button(/bravo/).count()).toBe(0)
      expect(await ann.comment('A comment').evaluate((each) => each.matches(':focus'))).toBe(true)
      expect((await paper.call('GET', `/comments/${id}`)).reactionCounts).toEqual({ bravo: 1 })
      // The last of its type leaves nothing behind.
      await paper.call('DELETE', `/comments/${id}/reaction`, undefined, 'dan')
      await ann.seesNot('bravo')
    } finally {
      await paper.set({ reactionTypes: ['like', 'love', 'laugh', 'wow', 'sad', 'angry'] })
    }
  })

  test('a comment is not reported by its author, also where they ask for it before they sign in', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Mine')
    const ann = await paper.read(article, { as: 'ann' })
    expect(await ann.menu()).toEqual(['Edit', 'Delete'])

    const window = await paper.read(article, { query: 'sign-in=/sign-in?as=ann' })
    await window.choose('Report')
    const isFocused = () => window.comment('Mine').evaluate((each) => each.matches(':focus'))
    // Where the reader wanted to go.
    await vi.waitFor(async () => expect(await isFocused()).toBe(true), WAIT)
    expect(await window.thread.getByLabel('What is wrong with this comment?').count()).toBe(0)
    expect(await window.menu()).toEqual(['Edit', 'Delete'])
  })

  test('comments and reactions of a merged reader are their own, also those that come live', async () => {
    const article = newArticle()
    const ofBob = await paper.post(article, 'bob', 'Written before the merge')
    const ofRobert = await paper.post(newArticle(), 'robert', 'Elsewhere')
    const idOf = async (id: string) => (await paper.call('GET', `/comments/${id}`)).author.id
    await paper.call('POST', `/readers/${await idOf(ofBob)}/merge`, { into: await idOf(ofRobert) })

    const bob = await paper.read(article, { as: 'bob' })
    expect(await bob.menu('Written before')).toEqual(['Edit', 'Delete'])
    // By another tab of the same reader.
    await paper.post(article, 'bob', 'Written after it')
    await bob.sees(/Written after it/)
    await paper.call('PUT', `/comments/${ofBob}/reaction`, { type: 'like' }, 'bob')
    await vi.waitFor(
      async () => expect(await bob.comment('Written before').locator('[aria-pressed=true]').count()).toBe(1),
      WAIT,
    )
  })

  test('what a reader who has left was shown late makes nothing theirs who came', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Of Ann')
    const { page, menu, thread } = await paper.read(article, { as: 'ann' })
    expect(await menu('Of Ann')).toEqual(['Edit', 'Delete'])
    await page.keyboard.press('Escape')
    const reload = () => thread.evaluate((one) => Object(one).reload())
    const readers = () =>
      page.evaluate(`heard.flatMap(({ name, detail }) => (name === 'ready' ? [detail.reader.id] : []))`)
    const held: (() => Promise<void>)[] = []
    await page.route(
      '**/engagement/thread?*',
      async (route) => {
        const response = await route.fetch()
        held.push(() => route.fulfill({ response }))
      },
      { times: 1 },
    )
    await reload()
    await vi.waitFor(() => expect(held).toHaveLength(1), WAIT)
    await page.context().addCookies([{ name: 'reader', value: 'bob', url: paper.site.url }])
    await reload()
    await vi.waitFor(async () => expect(await readers()).toEqual(['ann', 'bob']), WAIT)
    const answered = page.waitForResponse('**/engagement/thread?*')
    await held[0]?.()
    await (await answered).finished()
    expect(await menu('Of Ann')).not.toContain('Edit')
    expect(await readers()).toEqual(['ann', 'bob'])
  })
})
