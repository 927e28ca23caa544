import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, type ReadOptions, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

/** Cumulative Layout Shift, as Chromium measures it. Runs in the page. */
const WATCH_SHIFTS = `
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) shifts.push(value)
  }).observe({ type: 'layout-shift', buffered: true })`

/** What the thread shows: its elements and texts, without the values that only the widget has. */
const DRAWN = `(() => {
  const copy = document.querySelector('engagement-thread').shadowRoot.querySelector('section').cloneNode(true)
  for (const time of copy.querySelectorAll('time')) time.textContent = 'then'
  for (const each of copy.querySelectorAll('*')) {
    each.removeAttribute('style')
    if (each.matches('option')) each.removeAttribute('selected')
    if (each.matches('.head .quiet')) each.removeAttribute('title')
    if (each.getAttribute('href')?.includes('#comment-')) each.href = '#' + each.href.split('#')[1]
  }
  for (const each of [copy, ...copy.querySelectorAll('*')]) {
    const held = [...each.attributes].sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const { name } of held) each.removeAttribute(name)
    for (const { name, value } of held) each.setAttribute(name, value.trim())
  }
  return copy.outerHTML.replace(/<!--[^]*?-->/g, '').replace(/\\s+(?=[<>])/g, '').replace(/>\\s+/g, '>')
})()`

/** Where the comments stand, and what follows them: Chromium counts no new element as moved. */
const PLACES = `(() => {
  const thread = document.querySelector('engagement-thread')
  const all = thread.shadowRoot.querySelectorAll('article, .head, .body, .actions, button')
  return [...all, document.querySelector('footer')].map((each) =>
    each.getBoundingClientRect().top - thread.getBoundingClientRect().top)
})()`

const twoFrames = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

describeInBrowser('a page that the server has rendered', () => {
  const paper = useNewspaper()

  interface Held extends Window {
    /** Lets the widget's script through. */
    letThrough: () => void
    /** The same, and waits until the widget has drawn. */
    release: () => Promise<void>
    /** Paths that the page has asked for, but for its own files. */
    asked: string[]
  }

  /** Opens a rendered article whose widget does not come before `release`. */
  async function read(article: string, { query = 'render=1', prepare, ...options }: ReadOptions = {}): Promise<Held> {
    const asked: string[] = []
    let letThrough = (): void => undefined
    const held = new Promise<void>((resolve) => (letThrough = resolve))
    const window = await paper.read(article, {
      ...options,
      query,
      // Loading ends with the widget.
      waitUntil: 'commit',
      prepare: async (page) => {
        await page.addInitScript(WATCH_SHIFTS)
        await page.route('**/widget.js', async (route) => {
          await held
          await route.continue()
        })
        page.on('request', (request) => {
          const { pathname } = new URL(request.url())
          if (/engagement\/|widget\./.test(pathname)) asked.push(pathname.replace(/^.*\/|\.[\da-f]{8}(?=\.js$)/g, ''))
        })
        await prepare?.(page)
      },
    })
    const release = async (): Promise<void> => {
      letThrough()
      const phase = `document.querySelector('engagement-thread').phase`
      await vi.waitFor(async () => expect(await window.page.evaluate(phase)).toBe('ready'), WAIT)
      await twoFrames(window.page)
    }
    return { ...window, asked, letThrough, release }
  }

  const streamsOf = async (article: string): Promise<number> => {
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    return (await paper.call('GET', `/discussions/${id}/presence`)).streams
  }

  test.each([1280, 360])(
    'is taken over without a shift, with the same markup, and without asking again, %i pixels wide',
    async (width) => {
      const article = newArticle()
      for (let n = 0; n < 12; n++) {
        const id = await paper.post(
          article,
          `${'reader '.repeat(n % 8)}${n}-${width}`,
          `Comment ${n}. `.repeat(5 * n + 1),
        )
        if (n % 3 === 0) await paper.post(article, `answerer-${n}`, `An answer to ${n}.`, id)
        await paper.call('PUT', `/comments/${id}/reaction`, { type: n % 2 === 0 ? 'like' : 'wow' }, 'ann')
      }
      const window = await read(article, { width })
      await window.sees('Comment 11.')
      await twoFrames(window.page)
      const drawn = await window.page.evaluate(DRAWN)
      // Among the comments, where a line more would move something.
      await window.page.evaluate('scrollTo(0, document.body.scrollHeight / 2)')
      await twoFrames(window.page)
      const places = await window.page.evaluate(PLACES)
      await window.release()
      expect(await window.page.evaluate(PLACES)).toEqual(places)
      expect(await window.page.evaluate(DRAWN)).toBe(drawn)
      expect(await window.page.evaluate('window.shifts')).toEqual([])
      await vi.waitFor(async () => expect(await streamsOf(article)).toBe(1), WAIT)
      expect(window.asked.filter((each) => each !== 'counts').sort()).toEqual([
        'ticket',
        'widget.js',
        'widget.stream.js',
        'widget.take-over.js',
      ])
    },
  )

  test('shows what has happened between the drawing and the take-over once, and in order', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Text one')
    const gone = await paper.post(article, 'ann', 'Text two')
    const window = await read(article)
    await window.sees('Text two')
    await paper.post(article, 'bob', 'Text three')
    await paper.call('DELETE', `/comments/${gone}`, undefined, 'ann')
    await paper.post(article, 'bob', 'Text four')
    await window.release()
    await window.button('2 new comments').click()
    await paper.post(article, 'bob', 'Text five')
    await window.button('1 new comment').click()
    await window.sees(/Text five[^]*Text four[^]*Text three[^]*Text one/)
    await window.seesNot('Text two')
    const text = await window.thread.locator('section').innerText()
    expect(text.match(/Text \w+/g)).toEqual(['Text five', 'Text four', 'Text three', 'Text one'])
    expect(text).toMatch(/^Comments 4/)
  })

  test('can be read and paged without JavaScript, and has no button that needs it', async () => {
    const article = newArticle()
    for (let n = 1; n <= 3; n++) await paper.post(article, 'ann', `Text ${n}`)
    const window = await paper.read(article, { query: 'render=1&page-size=2', javaScriptEnabled: false })
    await window.comment('Text 2').waitFor()
    expect(await window.thread.getByRole('button').count()).toBe(0)
    await window.thread.getByRole('link', { name: 'More comments' }).click()
    await window.comment('Text 1').waitFor()
    expect(await window.thread.locator('article').count()).toBe(1)
    expect(await window.thread.getByRole('link', { name: 'More comments' }).count()).toBe(0)
  })

  test.each([
    { query: 'render=1', asks: ['thread'] },
    { query: 'render=cached', asks: ['me', 'thread'] },
  ])('a signed-in reader gets their own state ($query)', async ({ query, asks }) => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Text one')
    const window = await read(article, { query, as: 'ann' })
    await window.sees('Text one')
    await window.release()
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).waitFor()
    expect(await window.menu('Text one')).toContain('Delete')
    expect(window.asked.filter((each) => /^(me|thread|comments)$/.test(each))).toEqual(asks)
    await window.write('Text two')
    await window.sees(/Text two[^]*Text one/)
  })

  test('a page that is cached asks who reads, and nothing more for a reader who is not signed in', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Text one')
    const window = await read(article, { query: 'render=cached' })
    await window.release()
    await window.button('Sign in to comment').waitFor()
    await vi.waitFor(async () => expect(await streamsOf(article)).toBe(1), WAIT)
    expect(window.asked.filter((each) => /^(me|thread|comments)$/.test(each))).toEqual(['me'])
  })

  test('keeps the comments of the server while the backend is away', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Text one')
    const window = await read(article, {
      as: 'ann',
      prepare: async (page) =>
        void (await page.route('**/engagement/**', (route) => route.fulfill({ status: 503, body: '{}' }))),
    })
    await window.sees('Text one')
    window.letThrough()
    const heard = `window.heard?.some(({ name }) => name === 'error')`
    await vi.waitFor(async () => expect(await window.page.evaluate(heard)).toBe(true), WAIT)
    await twoFrames(window.page)
    await window.sees('Text one')
    expect(await window.button('Try again').count()).toBe(0)
  })

  test('takes over also where the file for it does not load', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Text one')
    const window = await read(article, {
      prepare: async (page) => void (await page.route('**/widget.take-over.*.js', (route) => route.abort())),
    })
    await window.release()
    await window.sees('Text one')
    expect(window.asked).toContain('thread')
    await paper.post(article, 'ann', 'Text two')
    await window.button('1 new comment').click()
    await window.sees(/Text two[^]*Text one/)
  })

  test('keeps the focus of a reader who was faster than the widget', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Text one')
    const id = await paper.post(article, 'ann', 'Text two')
    await paper.post(article, 'ann', 'Text three')
    const window = await read(article)
    await window.thread.locator(`#c-${id} time`).locator('..').focus()
    await window.release()
    const focused = `document.activeElement?.shadowRoot?.activeElement`
    expect(await window.page.evaluate(`${focused}?.getAttribute('href')`)).toMatch(new RegExp(`#comment-${id}$`))
  })

  test('shows nothing of the page before in an element that has got another discussion', async () => {
    const [article, other] = [newArticle(), newArticle()]
    await paper.post(article, 'ann', 'Text one')
    await paper.post(other, 'ann', 'Text two')
    const window = await read(article)
    await window.page.evaluate(`document.querySelector('engagement-thread').setAttribute('discussion', '${other}')`)
    await window.release()
    await window.sees('Text two')
    await window.seesNot('Text one')
    await paper.post(other, 'ann', 'Text three')
    await window.button('1 new comment').click()
    expect(await window.comment('Text three').count()).toBe(1)
  })
})
