import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { useService } from '../harness/service.ts'
import { newArticle, type Newspaper, openNewspaper, type Window } from '../harness/widget.ts'

const WAIT = { timeout: 20_000, interval: 20 }
const expectShown = (locator: Locator) => vi.waitFor(async () => expect(await locator.isVisible()).toBe(true), WAIT)

describeInBrowser('what the widget does when things go wrong', () => {
  const service = useService()
  let paper: Newspaper
  beforeAll(async () => {
    paper = await openNewspaper(service, service.url)
  })
  afterAll(async () => {
    try {
      await paper?.leave()
    } finally {
      await paper?.close()
    }
  })
  // Concurrent tests leave together, after the last one.
  afterEach(async ({ task }) => {
    if (task.concurrent !== true) await paper.leave()
  })

  const comments = async (article: string): Promise<string[]> => {
    const { data } = await paper.call('GET', `/discussions/by-external/${article}/comments`)
    return data.map(({ body }: { body: string }) => body)
  }
  const textOf = (window: Window) => window.thread.getByRole('textbox', { name: 'Write a comment' }).inputValue()

  test('a draft survives a reload of the page, and is deleted once it is sent', async () => {
    const article = newArticle()
    const ann = await paper.read(article, { as: 'ann' })
    await ann.thread.getByRole('textbox').fill('Half a thou')
    await ann.page.reload()
    await vi.waitFor(async () => expect(await textOf(ann)).toBe('Half a thou'), WAIT)
    await ann.write('A whole thought')
    await ann.sees('A whole thought')
    expect(await textOf(ann)).toBe('')
    await ann.page.reload()
    await ann.sees('A whole thought')
    expect(await textOf(ann)).toBe('')
  })

  test('says in words why an action is refused', async () => {
    const article = newArticle()
    await paper.set({ bannedWords: ['turnip'] })
    const ann = await paper.read(article, { as: 'ann' })
    await ann.write('You turnip')
    await ann.sees('It has a word that is not allowed here.')
    expect(await textOf(ann)).toBe('You turnip')
    await paper.set({ bannedWords: [] })

    await ann.page.route('**/engagement/comments?*', (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': '30' },
        contentType: 'application/problem+json',
        body: '{"code":"rate_limited"}',
      }),
    )
    await ann.button('Post').click()
    await ann.sees('That was too fast. Try again in 30 seconds.')
    await ann.page.unroute('**/engagement/comments?*')

    await ann.write('A potato')
    await ann.sees(/Ann[^]*A potato/)
    const { data: readers } = await paper.call('GET', '/readers?externalId=ann')
    await paper.call('POST', `/readers/${readers[0].id}/ban`, {})
    await ann.write('Another')
    await ann.sees('You cannot take part in discussions at present.')
    await paper.call('POST', `/readers/${readers[0].id}/unban`)
  })

  test('a refused text can be posted once the obstacle is gone', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'Before')
    const bob = await paper.read(article, { as: 'bob' })
    const { data: readers } = await paper.call('GET', '/readers?externalId=bob')
    // A page that hears of the ban first has no field.
    await bob.thread.getByRole('textbox', { name: 'Write a comment' }).fill('The same words')
    await paper.call('POST', `/readers/${readers[0].id}/ban`, {})
    await bob.button('Post').click()
    await bob.sees('You cannot take part in discussions at present.')
    await paper.call('POST', `/readers/${readers[0].id}/unban`)
    await bob.button('Post').click()
    await vi.waitFor(async () => expect(await textOf(bob)).toBe(''), WAIT)
    expect(await comments(article)).toContain('The same words')
  })

  test('a locked discussion can be read, an unlocked one written in again, an archived one only read', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Said in time')
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    const ann = await paper.read(article, { as: 'ann' })
    await ann.button('Reply').waitFor()
    await paper.call('POST', `/discussions/${id}/lock`)
    await ann.sees('Comments are closed.')
    expect(await ann.thread.getByRole('textbox').count()).toBe(0)
    expect(await ann.button('Reply').count()).toBe(0)
    expect(await ann.menu()).toEqual(['Delete'])
    await paper.call('POST', `/discussions/${id}/unlock`)
    await ann.thread.getByRole('textbox').waitFor()
    await paper.call('POST', `/discussions/${id}/archive`)
    await ann.sees('This discussion is archived.')
    expect(await ann.thread.locator('article').getByRole('button').count()).toBe(0)
  })

  test('a menu closes where its comment goes, or the discussion is archived', async () => {
    const article = newArticle()
    const one = await paper.post(article, 'ann', 'The one')
    await paper.post(article, 'bob', 'A reply', one)
    await paper.post(article, 'ann', 'The other')
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    const bob = await paper.read(article, { as: 'bob' })
    const isClosed = () => vi.waitFor(async () => expect(await bob.thread.getByRole('menu').count()).toBe(0), WAIT)
    expect(await bob.menu('The one')).toEqual(['Quote', 'Report', expect.stringMatching(/^Mute /)])
    await paper.call('DELETE', `/comments/${one}`)
    await bob.sees('This comment was deleted.')
    await isClosed()
    expect(await bob.menu('The other')).toEqual(['Quote', 'Report', expect.stringMatching(/^Mute /)])
    await paper.call('POST', `/discussions/${id}/archive`)
    await bob.sees('This discussion is archived.')
    await isClosed()
  })

  test("a comment can be edited within the tenant's edit window", async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'Quick')
    const ann = await paper.read(article, { as: 'ann' })
    expect(await ann.menu()).toEqual(['Edit', 'Delete'])
    await paper.setInTest({ editWindowSeconds: 1 })
    await ann.thread.getByRole('menuitem', { name: 'Edit' }).click()
    await ann.thread.getByRole('textbox', { name: 'Edit' }).fill('Late')
    const edit = () => paper.call('PATCH', `/comments/${id}`, { body: 'Quick' }, 'ann')
    await vi.waitFor(() => expect(edit()).rejects.toThrow('edit_window_closed'), WAIT)
    await ann.button('Save').click()
    await ann.sees('The time to edit it is over.')
    // The settings are kept for a minute. A widget goes by the Date header, which has whole
    // seconds.
    const other = await paper.read(article, { as: 'ann' })
    const isLate = async (): Promise<void> => {
      await other.page.reload()
      await other.sees('Quick')
      expect(await other.menu()).toEqual(['Delete'])
    }
    await vi.waitFor(isLate, WAIT)
  })

  test('a device whose clock is an hour fast shows a new comment as new, which can be edited', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Just now')
    const prepare = (page: Page) =>
      page.addInitScript(() => {
        const told = Date.now
        Date.now = () => told() + 3_600_000
      })
    const ann = await paper.read(article, { as: 'ann', prepare })
    await ann.sees('Just now')
    expect(await ann.menu()).toEqual(['Edit', 'Delete'])
    expect(await ann.thread.locator('article time').textContent()).toMatch(/^now$|second|minute/)
  })

  test('a signed-out reader can read, and is asked to sign in before any other action', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'For all to read')
    const window = await paper.read(article)
    await window.button('Sign in to comment').click()
    await window.button('Reply').click()
    await window.button('React').click()
    await window.choose('Report')
    const heard = await window.page.evaluate<{ name: string; detail: { action: string } }[]>('heard')
    const actions = heard.filter(({ name }) => name === 'sign-in').map(({ detail }) => detail.action)
    expect(actions).toEqual(['post', 'reply', 'react', 'report'])
    expect(await window.thread.getByRole('textbox').count()).toBe(0)
  })

  test('after the sign-in, what the reader wanted is open, also below a comment of a later page', async () => {
    const article = newArticle()
    const parent = await paper.post(article, 'ann', 'An old question')
    await paper.post(article, 'bob', 'An old answer', parent)
    for (let n = 0; n < 6; n++) await paper.post(article, `reader-${n}`, `Since then ${n}`)
    const window = await paper.read(article, { query: 'page-size=2&sign-in=/sign-in?as=ann' })
    const box = (name: string | RegExp) => window.thread.getByRole('textbox', { name })
    for (const last of ['Since then 2', 'Since then 0', 'An old answer']) {
      await window.button('More comments').click()
      await window.sees(last)
    }
    await window.comment('An old answer').getByRole('button', { name: 'Reply' }).click()
    await box(/^Reply to/).waitFor()
    expect(await box(/^Reply to/).evaluate((element) => element.matches(':focus'))).toBe(true)
    // It happens once.
    await window.page.reload()
    await window.sees('Since then 5')
    await box('Write a comment').waitFor()
    expect(await box(/^Reply to/).count()).toBe(0)
  })

  test('after a sign-in on the page itself, the form of a report is open', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'For all to read')
    const window = await paper.read(article)
    await window.choose('Report')
    await window.page.context().addCookies([{ name: 'reader', value: 'bob', url: paper.site.url }])
    await window.page.evaluate(`document.querySelector('engagement-thread').reload()`)
    await expectShown(window.thread.getByLabel('What is wrong with this comment?'))
  })

  test('an ended sign-in is reported, and the draft is there after the next one', async () => {
    const article = newArticle()
    const ann = await paper.read(article, { as: 'ann' })
    await ann.thread.getByRole('textbox').fill('Too late')
    await ann.page.context().clearCookies()
    await ann.button('Post').click()
    await ann.sees('You are signed out. Sign in and try again')
    await ann.button('Sign in to comment').waitFor()
    await ann.page.context().addCookies([{ name: 'reader', value: 'ann', url: paper.site.url }])
    await ann.page.evaluate(`document.querySelector('engagement-thread').reload()`)
    await vi.waitFor(async () => expect(await textOf(ann)).toBe('Too late'), WAIT)
  })

  test('a report reaches the moderators once, with its reason', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'Buy my watches')
    const bob = await paper.read(article, { as: 'bob' })
    const elsewhere = await paper.read(article, { as: 'bob' })
    const report = async (window: Window): Promise<void> => {
      await window.choose('Report')
      // No reason is chosen for the reader, and none is no report.
      const reason = window.thread.getByLabel('What is wrong with this comment?')
      expect(await reason.locator('option').first().textContent()).toBe('Choose a reason')
      await window.button('Send report').click()
      await reason.selectOption('Spam')
      await window.button('Send report').click()
    }
    await report(bob)
    await bob.sees('Thank you. The moderators will see it.')
    expect(await bob.thread.getByRole('alert').count()).toBe(0)
    await report(elsewhere)
    await elsewhere.sees('You have reported this comment.')
    // It is offered once.
    for (const window of [bob, elsewhere]) {
      await window.page.reload()
      expect(await window.menu()).toEqual(['Quote', expect.stringMatching(/^Mute /)])
    }
    const { data } = await paper.call('GET', '/moderation/queue?status=reported')
    expect(data).toMatchObject([{ comment: { id }, reportCount: 1 }])
  })

  test('comments of a page whose stream cannot be loaded are shown, and become live when it can', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'The first')
    const window = await paper.read(article, {
      prepare: (page) => page.route('**/widget.stream.*.js', (route) => route.abort()),
    })
    await window.sees('The first')
    await paper.post(article, 'bob', 'The second')
    await window.page.unroute('**/widget.stream.*.js')
    await window.page.reload()
    await window.sees('The second')
    await paper.post(article, 'eve', 'The third')
    await expectShown(window.button('1 new comment'))
  })

  test('a reader reads where the code for writers cannot be loaded, and writes when it can', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    const ann = await paper.read(article, {
      as: 'ann',
      prepare: (page) => page.route('**/widget.writing.*.js', (route) => route.abort()),
    })
    await ann.sees('The first')
    await ann.button('Like').click()
    await ann.sees('That did not load. Load the page again.')
    await ann.page.unroute('**/widget.writing.*.js')
    await ann.button('Write a comment').click()
    await ann.write('The second')
    await ann.sees('The second')
    await ann.button('Like').first().click()
    await expectShown(ann.button('Like 1'))
  })

  test('a fault of the widget itself is not said to be a file that did not load', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    const ann = await paper.read(article, { as: 'ann' })
    await ann.sees('The first')
    await ann.page.evaluate(`crypto.getRandomValues = () => { throw new TypeError('a fault') }`)
    await ann.button('Like').click()
    await ann.sees('That did not work. Try again.')
    expect(await ann.thread.getByText('Load the page again').count()).toBe(0)
  })

  test('a page with the first file of an earlier build runs no code of this one beside it', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    const built = await (await fetch(`${service.url}/widget.js`)).text()
    const body = built.replace(/\.[\da-f]{8}(?=\.js")/g, '.00000000')
    expect(body).not.toBe(built)
    const old = async (query: string): Promise<Window> =>
      paper.read(article, {
        as: 'ann',
        query,
        prepare: (page) =>
          page.route('**/widget.js', (route) =>
            route.fulfill({ body, headers: { 'access-control-allow-origin': '*' }, contentType: 'text/javascript' }),
          ),
      })
    const ann = await old('')
    await ann.sees('The first')
    await ann.button('Write a comment').click()
    await ann.sees('That did not load. Load the page again.')
    await ann.page.unrouteAll({ behavior: 'wait' })
    await ann.page.reload()
    await ann.write('The second')
    await ann.sees('The second')
    // Texts are of any build.
    const arabic = await old('lang=ar')
    await arabic.sees('The first')
    expect(await arabic.thread.locator('h2').innerText()).toContain('التعليقات')
    await arabic.page.unrouteAll({ behavior: 'wait' })
  })

  test('a banned reader has no empty menu beside a comment without an author', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Of an author')
    await paper.post(article, 'eve', 'Of nobody')
    const until = new Date(Date.now() + 86_400_000).toISOString()
    const bob = await paper.read(article, {
      as: 'bob',
      prepare: (page) =>
        page.route('**/engagement/thread?*', async (route) => {
          const response = await route.fetch()
          const json = await response.json()
          for (const each of json.comments.data) if (each.body === 'Of nobody') each.author = null
          json.reader.ban = { until }
          await route.fulfill({ response, json })
        }),
    })
    await bob.sees('You cannot take part in discussions at present.')
    expect(await bob.menu('Of an author')).toEqual([expect.stringMatching(/^Mute /)])
    expect(await bob.comment('Of nobody').getByRole('button', { name: 'More actions' }).count()).toBe(0)
  })

  test('a page whose widget is blocked has no gap where the comments would be', async () => {
    const window = await paper.read(newArticle(), {
      query: 'written=From the server',
      prepare: (page) => page.route('**/widget.js', (route) => route.abort()),
    })
    const height = () => window.thread.evaluate((element) => element.getBoundingClientRect().height)
    expect(await height()).toBeGreaterThan(500)
    await vi.waitFor(async () => expect(await height()).toBeLessThan(200), WAIT)
    expect(await window.thread.innerText()).toBe('From the server')
  })

  test('keeps its space reserved next to a noscript, which shows nothing', async () => {
    const window = await paper.read(newArticle(), {
      prepare: (page) => page.route('**/engagement/**', () => undefined),
    })
    const end = async () => {
      const { y = 0, height = 0 } = (await window.thread.boundingBox()) ?? {}
      return y + height
    }
    await vi.waitFor(async () => expect(await end()).toBeGreaterThanOrEqual(800), WAIT)
  })

  test('with sign-in, goes to the sign-in page with the path to come back to', async () => {
    const article = newArticle()
    const window = await paper.read(article, { query: 'sign-in=/sign-in?as=ann&page=light#comments' })
    await window.button('Sign in to comment').click()
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).waitFor()
    expect(window.page.url()).toContain(
      `${paper.site.url}/articles/${article}?sign-in=/sign-in?as=ann&page=light#comments`,
    )
  })

  test('a listener that prevents the default stays on the page', async () => {
    const window = await paper.read(newArticle(), { query: 'sign-in=/sign-in?as=ann' })
    const said = warningsOf(window)
    await window.page.evaluate(`addEventListener('engagement-sign-in', (event) => event.preventDefault())`)
    await window.button('Sign in to comment').click()
    await window.button('Sign in to comment').waitFor()
    await asked(window)
    expect(await window.thread.getByRole('textbox').count()).toBe(0)
    expect(said).toEqual([])
  })

  test("tells the page's developer once which origin the stream refuses, while comments continue", async () => {
    await paper.setInTest({ allowedOrigins: [] })
    const article = newArticle()
    const said: string[] = []
    const ann = await paper.read(article, { as: 'ann', prepare: async (page) => listen(page, said) })
    const text = `the stream refuses ${paper.site.url}. Add it to the tenant's allowedOrigins`
    await vi.waitFor(() => expect(said).toEqual([expect.stringContaining(text)]), { ...WAIT, timeout: 20_000 })
    await ann.write('Said all the same')
    await ann.sees('Said all the same')
  })

  // These wait for the widget's retries; run concurrently, they wait only once. They change no
  // settings.
  describe.concurrent('while the backend fails', () => {
    test('a post whose answer is lost is retried, and exists once', async () => {
      const article = newArticle()
      let lost = 0
      const ann = await paper.read(article, {
        as: 'ann',
        prepare: (page) =>
          page.route('**/engagement/comments?*', async (route) => {
            if (route.request().method() !== 'POST' || lost === 2) return route.continue()
            lost++
            await route.fetch()
            await route.abort()
          }),
      })
      await ann.write('Only once')
      await ann.sees('Only once')
      await vi.waitFor(async () => expect(await textOf(ann)).toBe(''), WAIT)
      expect(lost).toBe(2)
      expect(await comments(article)).toEqual(['Only once'])
    })

    test('a post that cannot be sent keeps its text, and exists once when it is sent after a reload', async () => {
      const article = newArticle()
      let isLost = true
      const ann = await paper.read(article, {
        as: 'ann',
        prepare: (page) =>
          page.route('**/engagement/comments?*', async (route) => {
            if (route.request().method() !== 'POST' || !isLost) return route.continue()
            await route.fetch()
            await route.abort()
          }),
      })
      await ann.page.route('**/stream/**', (route) => route.abort())
      await ann.write('Kept')
      await ann.sees('The service does not answer. Your text is kept')
      expect(await textOf(ann)).toBe('Kept')
      isLost = false
      await ann.page.reload()
      await ann.button('Post').click()
      await vi.waitFor(async () => expect(await textOf(ann)).toBe(''), WAIT)
      await ann.sees(/Ann[^]*Kept/)
      expect(await comments(article)).toEqual(['Kept'])
    })

    test('a page that switches to another article shows nothing of the earlier one, even while the backend fails', async () => {
      const [article, next] = [newArticle(), newArticle()]
      await paper.post(article, 'ann', 'Under the first article')
      const ann = await paper.read(article, { as: 'ann' })
      await ann.sees('Under the first article')
      let fail = (): void => undefined
      const failing = new Promise<void>((resolve) => (fail = resolve))
      await ann.page.route('**/engagement/**', async (route) => {
        await failing
        await route.fulfill({ status: 404 })
      })
      await ann.thread.evaluate((thread, id) => thread.setAttribute('discussion', id), next)
      const shown = () => ann.thread.getByText('Under the first article').count()
      await vi.waitFor(async () => expect(await shown()).toBe(0), WAIT)
      fail()
      await ann.page.getByText('The comments cannot be loaded.').waitFor()
      expect(await shown()).toBe(0)
    })

    test("the server's own content stays without JavaScript; a backend that fails is told in its place", async () => {
      const article = newArticle()
      await paper.post(article, 'ann', 'There all along')
      const query = 'written=By the server'
      const without = await paper.read(article, { javaScriptEnabled: false, query })
      expect(await without.thread.innerText()).toMatch(/The comments need JavaScript\.[^]*By the server/)
      let isDown = true
      const window = await paper.read(article, {
        query,
        prepare: (page) =>
          page.route('**/engagement/**', (route) => (isDown ? route.fulfill({ status: 404 }) : route.continue())),
      })
      await window.page.getByText('The comments cannot be loaded.').waitFor()
      expect(await window.page.getByText('By the server').isVisible()).toBe(false)
      expect(await window.thread.innerText()).not.toContain('The comments need JavaScript.')
      isDown = false
      await window.button('Try again').click()
      await window.sees('There all along')
      expect(await window.page.getByText('By the server').isVisible()).toBe(false)
    })
  })

  // Concurrent for the same reason.
  describe.concurrent("warns the page's developer once", () => {
    test('that there is no sign-in', async () => {
      const window = await paper.read(newArticle(), {
        prepare: (page) =>
          page.route('**/site.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' })),
      })
      const said = warningsOf(window)
      for (let n = 0; n < 2; n++) await window.button('Sign in to comment').click()
      await vi.waitFor(() => expect(said).toEqual([expect.stringContaining('set sign-in="/login"')]), WAIT)
      await asked(window)
      expect(said).toHaveLength(1)
    })

    test.each([
      ['nowhere', '/nowhere', { status: 404 }, '/nowhere/me answered 404, of no type;'],
      ['a site that answers all with a page', '/app', { contentType: 'text/html' }, '/app/me answered 200, text/html;'],
      ['JSON of something else', '/api', { json: { user: null } }, '/api/me answered 200, application/json;'],
      ['not to be reached', '/down', null, '/down/me;'],
    ])('about a backend that is %s', async (_case, backend, answer, text) => {
      const said: string[] = []
      await paper.read(newArticle(), {
        query: `backend=${backend}`,
        prepare: async (page) => {
          listen(page, said)
          await page.route(`**${backend}/**`, (route) => (answer === null ? route.abort() : route.fulfill(answer)))
        },
      })
      const expected = 'expected the JSON of engagement-service/backend: look at backend="…"'
      await vi.waitFor(
        () => expect(said).toEqual([expect.stringContaining(`${paper.site.url}${text} ${expected}`)]),
        WAIT,
      )
    })

    test('that its backend is on another site, which the page may not read', async () => {
      const said: string[] = []
      await paper.read(newArticle(), {
        query: `backend=${service.url}`,
        prepare: async (page) => listen(page, said),
      })
      const text = `${service.url}/me, or not for ${paper.site.url} (CORS);`
      await vi.waitFor(() => expect(said).toEqual([expect.stringContaining(text)]), WAIT)
    })

    test('about a wrong backend, even with counts alone', async () => {
      const window = await paper.read(newArticle())
      const said = warningsOf(window)
      await window.page.route('**/nowhere/**', (route) => route.fulfill({ status: 404 }))
      await window.page.evaluate(`for (let n = 0; n < 3; n++) {
        const count = document.createElement('engagement-count')
        Object.assign(count, { backend: '/nowhere', discussion: 'page-' + n })
        document.body.append(count)
      }`)
      await vi.waitFor(() => expect(said).toEqual([expect.stringContaining('/nowhere/me answered 404')]), WAIT)
      expect(said[0]).toContain('<engagement-count>')
    })

    test('about a page that the backend does not know; the reader sees that it has no comments', async () => {
      const said: string[] = []
      const window = await paper.read('missing-page', { as: 'ann', prepare: async (page) => listen(page, said) })
      await window.page.getByText('There are no comments for this page.').waitFor()
      await vi.waitFor(() => expect(said).toEqual([expect.stringContaining('no page "missing-page"')]), WAIT)
      expect(await window.thread.getByRole('textbox').count()).toBe(0)
    })

    test('that discussion is missing, unless it is set a moment later', async () => {
      const window = await paper.read(newArticle())
      const said = warningsOf(window)
      const append = (then: string): Promise<unknown> =>
        window.page.evaluate(`{
          const thread = document.createElement('engagement-thread')
          document.body.append(thread)
          ${then}
        }`)
      await append(`thread.discussion = '${newArticle()}'`)
      await vi.waitFor(async () => expect(await window.button('Sign in to comment').count()).toBe(2), WAIT)
      expect(said).toEqual([])
      await append('')
      await vi.waitFor(() => expect(said).toEqual([expect.stringContaining('discussion is missing')]), WAIT)
      expect(await window.page.getByText('Loading').count()).toBe(0)
    })
  })
})

function listen(page: Page, said: string[]): void {
  page.on('console', (message) => message.type() === 'warning' && said.push(message.text()))
}

function warningsOf({ page }: Window): string[] {
  const said: string[] = []
  listen(page, said)
  return said
}

/** Resolves once the file of the warnings would have been loaded. */
const asked = ({ page }: Window): Promise<unknown> =>
  page.evaluate(`(async () => {
    const { src } = document.querySelector('script[src$="widget.js"]')
    const [name] = /widget\\.warnings\\.\\w+\\.js/.exec(await (await fetch(src)).text())
    await import(new URL(name, src))
  })()`)
