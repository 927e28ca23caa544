import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, WAIT } from '../harness/widget.ts'

/**
 * Sums up how far visible content was moved without the reader's action (Cumulative Layout Shift).
 * Runs in the page.
 */
const WATCH_SHIFTS = `
  window.shift = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value
  }).observe({ type: 'layout-shift', buffered: true })`

describeInBrowser('the widget at the first look', () => {
  const paper = useNewspaper()

  /** The browser's own messages about a page. */
  const complaintsOf = (page: Page): string[] => {
    const said: string[] = []
    page.on('console', (message) => message.type() === 'error' && said.push(message.text()))
    return said
  }

  test.each([
    { comments: 0, width: 1280 },
    { comments: 0, width: 360 },
    { comments: 12, width: 1280 },
    { comments: 12, width: 360 },
  ])('has a layout shift of at most 0.1 with $comments comments, $width pixels wide', async ({ comments, width }) => {
    // With text above its comments, like an article; without comments yet.
    const article = comments === 0 ? 'library-hours' : newArticle()
    for (let n = 0; n < comments; n++) await paper.post(article, `reader-${n}-${width}`, `Comment ${n}. `.repeat(10))
    const window = await paper.read(article, {
      width,
      prepare: async (page) => {
        await page.addInitScript(WATCH_SHIFTS)
        // Slow enough for the page to be drawn before its comments come.
        await page.route('**/engagement/**', async (route) => {
          await new Promise((resolve) => setTimeout(resolve, 200))
          await route.continue()
        })
      },
    })
    await window.sees(comments === 0 ? 'No comments yet.' : 'Comment 11.')
    // A shift is reported when its frame is drawn.
    await window.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await window.page.evaluate('window.shift')).toBeLessThanOrEqual(0.1)
  })

  test.each([1280, 360])('live reactions and replies move nothing that is read, %i pixels wide', async (width) => {
    const article = newArticle()
    const ids: string[] = []
    for (let n = 0; n < 6; n++) ids.push(await paper.post(article, `writer-${n}-${width}`, `Comment ${n}. `.repeat(10)))
    const window = await paper.read(article, { width, prepare: (page) => page.addInitScript(WATCH_SHIFTS) })
    await window.sees('Comment 5.')
    const { id: discussion } = await paper.call('GET', `/discussions/by-external/${article}`)
    const streams = async () => (await paper.call('GET', `/discussions/${discussion}/presence`)).streams
    await vi.waitFor(async () => expect(await streams()).toBe(1), WAIT)
    await window.thread.evaluate((element) => element.scrollIntoView())
    await window.page.evaluate('window.shift = 0')
    const react = (id: string, as: string, type: string): Promise<unknown> =>
      paper.call('PUT', `/comments/${id}/reaction`, { type }, as)
    for (const id of ids) {
      for (let n = 0; n < 11; n++) await react(id, `fan-${n}-${width}`, 'love')
      for (const type of ['angry', 'sad', 'wow', 'laugh', 'like']) await react(id, `critic-of-${type}-${width}`, type)
      await paper.call('DELETE', `/comments/${id}/reaction`, undefined, `critic-of-wow-${width}`)
      await paper.post(article, `fan-0-${width}`, `An answer to ${id}`, id)
    }
    const last = window.thread.locator(`#c-${ids.at(-1)}`)
    await last.getByRole('button', { name: '1 new reply' }).waitFor()
    expect(await last.getByRole('button', { name: 'Love 11' }).count()).toBe(1)
    await window.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await window.page.evaluate('window.shift')).toBe(0)
  })

  test('asks the backend once before the first comment shows, and loads what writers need only for them', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'The first')
    const look = async (as?: string): Promise<string[]> => {
      const asked: string[] = []
      const window = await paper.read(article, {
        ...(as !== undefined && { as }),
        prepare: async (page) =>
          void page.on('request', (request) => {
            const { pathname } = new URL(request.url())
            if (/engagement\/|widget\./.test(pathname)) asked.push(pathname.replace(/^.*\/|\.[\da-f]{8}(?=\.js$)/g, ''))
          }),
      })
      await window.sees('The first')
      // The bell asks once the comments are there.
      return asked.filter((each) => !['widget.stream.js', 'counts', 'count'].includes(each))
    }
    expect(await look()).toEqual(['widget.js', 'thread'])
    expect(await look('ann')).toEqual(['widget.js', 'thread', 'widget.writing.js'])
  })

  test('shows the comments of a backend of an earlier release, and follows them live', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'The first')
    const window = await paper.read(article, {
      as: 'bob',
      prepare: (page) =>
        page.route('**/engagement/thread?*', (route) => route.fulfill({ status: 404, json: { code: 'not_found' } })),
    })
    await window.sees('The first')
    await window.write('The second')
    await window.sees('The second')
    await paper.post(article, 'ann', 'The third')
    await window.button('1 new comment').click()
    await window.sees('The third')
    expect(await window.button(/new comment/).count()).toBe(0)
  })

  test('an Arabic page never shows English while it loads', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'مرحبا')
    const shown = new Set<string>()
    const window = await paper.read(article, {
      query: 'lang=ar',
      prepare: async (page) => {
        await page.exposeFunction('told', (text: string) => shown.add(text))
        await page.addInitScript(`customElements.whenDefined('engagement-thread').then(() => {
          const look = () => {
            told(document.querySelector('engagement-thread')?.shadowRoot.textContent ?? '')
            requestAnimationFrame(look)
          }
          look()
        })`)
        await page.route('**/engagement/**', async (route) => {
          await new Promise((resolve) => setTimeout(resolve, 200))
          await route.continue()
        })
      },
    })
    await window.sees('مرحبا')
    await vi.waitFor(() => expect([...shown].join(' ')).toContain('مرحبا'), WAIT)
    expect([...shown].join(' ')).not.toMatch(/Loading|Comments|Sort by/)
  })

  test('a page without comments logs no errors in the browser', async () => {
    const said: string[][] = []
    const window = await paper.read(newArticle(), {
      as: 'ann',
      prepare: async (page) => void said.push(complaintsOf(page)),
    })
    await window.sees('No comments yet.')
    expect(said.flat()).toEqual([])
  })

  test('tells a banned reader in place of the form, but not one who is banned in shadow', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'Before the ban')
    await paper.post(article, 'ann', 'Of another')
    const { data } = await paper.call('GET', '/readers?externalId=bob')
    const ban = (settings: object): Promise<unknown> => paper.call('POST', `/readers/${data[0].id}/ban`, settings)
    await ban({ until: new Date(Date.now() + 86_400_000).toISOString() })
    const window = await paper.read(article, { as: 'bob' })
    await window.sees('You cannot take part in discussions at present.')
    expect(await window.thread.getByRole('textbox').count()).toBe(0)
    expect(await window.button('Reply').count()).toBe(0)
    expect(await window.menu('Of another')).toEqual([expect.stringMatching(/^Mute /)])
    await ban({ shadow: true })
    await window.page.reload()
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).waitFor()
    await paper.call('POST', `/readers/${data[0].id}/unban`)
  })

  test.each([320, 1280])('the news of comments have a place of their own, %i pixels wide', async (width) => {
    const article = newArticle()
    await paper.post(article, 'ann', 'The first')
    const window = await paper.read(article, { as: 'bob', width })
    await window.sees('The first')
    await window.thread.evaluate((element) => element.scrollIntoView())
    await paper.post(article, 'ann', 'The second')
    await window.button('1 new comment').waitFor()
    const boxOf = async (selector: string) => (await window.thread.locator(selector).first().boundingBox())!
    const [form, news, head] = [await boxOf('textarea'), await boxOf('.new button'), await boxOf('.avatar')]
    expect(news.y).toBeGreaterThanOrEqual(form.y + form.height)
    expect(head.y).toBeGreaterThanOrEqual(news.y + news.height)
  })

  test.each(['light', 'dark'])(
    'avatars have a colour by the name, in which their letter can be read, in %s',
    async (look) => {
      const article = newArticle()
      for (let n = 0; n < 30; n++) await paper.post(article, `${n * 7}-painter`, `Comment ${n} in ${look}.`)
      const window = await paper.read(article, { query: `page=${look}&page-size=100` })
      await window.sees('Comment 29')
      const avatars = await window.thread.locator('.avatar').evaluateAll((all) => {
        const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
        const lightness = (color: string): number => {
          context.fillStyle = color
          context.fillRect(0, 0, 1, 1)
          const [r = 0, g = 0, b = 0] = [...context.getImageData(0, 0, 1, 1).data].map((value) =>
            value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
          )
          return 0.2126 * r + 0.7152 * g + 0.0722 * b
        }
        return all.map((one) => {
          const { color, backgroundColor } = getComputedStyle(one)
          const [dark = 0, light = 0] = [lightness(color), lightness(backgroundColor)].toSorted((a, b) => a - b)
          return { backgroundColor, contrast: (light + 0.05) / (dark + 0.05) }
        })
      })
      expect(avatars).toHaveLength(30)
      expect(new Set(avatars.map(({ backgroundColor }) => backgroundColor)).size).toBe(7)
      expect(Math.min(...avatars.map(({ contrast }) => contrast))).toBeGreaterThanOrEqual(4.5)
    },
  )

  test('shows many new comments a page at a time', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'The first')
    const window = await paper.read(article, { query: 'page-size=5' })
    await window.sees('The first')
    for (let n = 1; n <= 12; n++) await paper.post(article, `reader-${n}`, `New ${n}.`)
    await window.button('12 new comments').click()
    await window.sees('New 12.')
    expect(await window.thread.locator('article').count()).toBe(6)
    await window.button('7 new comments').click()
    await window.button('2 new comments').click()
    await window.sees(/New 12\.[^]*New 11\.[^]*New 1\.[^]*The first/)
    expect(await window.button(/new comment/).count()).toBe(0)
  })

  test('with more="scroll" loads pages while the reader scrolls, and none before', async () => {
    const article = newArticle()
    for (let n = 0; n < 23; n++) await paper.post(article, `reader-${n}`, `Comment ${n}. `.repeat(60))
    const window = await paper.read(article, { query: 'page-size=5&more=scroll' })
    await window.sees('Comment 22.')
    const shown = () => window.thread.locator('article').count()
    await window.page.waitForTimeout(500)
    expect(await shown()).toBe(5)
    for (let n = 0; n < 40 && (await shown()) < 23; n++) {
      await window.page.mouse.wheel(0, 800)
      await window.page.waitForTimeout(50)
    }
    await vi.waitFor(async () => expect(await shown()).toBe(23), WAIT)
    expect(await window.button('More comments').count()).toBe(0)
    expect(await window.page.evaluate('document.activeElement === document.body')).toBe(true)
  })

  test('with more="scroll" leaves the button where a page cannot be loaded, and asks no more by itself', async () => {
    const article = newArticle()
    for (let n = 0; n < 12; n++) await paper.post(article, `reader-${n}`, `Note ${n}. `.repeat(60))
    let asked = 0
    const window = await paper.read(article, {
      query: 'page-size=5&more=scroll',
      prepare: (page) =>
        page.route('**/engagement/comments?*', (route) => {
          asked++
          return route.fulfill({ status: 403, json: { code: 'reader_banned' } })
        }),
    })
    await window.sees('Note 11.')
    for (let n = 0; n < 10; n++) await window.page.mouse.wheel(0, 1000)
    await vi.waitFor(() => expect(asked).toBe(1), WAIT)
    await window.page.waitForTimeout(500)
    expect(asked).toBe(1)
    await window.page.unroute('**/engagement/comments?*')
    await window.button('More comments').click()
    await window.sees('Note 2.')
    expect(await window.thread.getByRole('alert').count()).toBe(0)
  })

  test('with loading="lazy" asks for nothing before a reader comes near, whatever attributes change', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'The first')
    let asked = 0
    const window = await paper.read(article, {
      query: 'loading=lazy',
      prepare: async (page) => {
        // The count above the article is an element of its own.
        page.on('request', (request) => void (asked += Number(request.url().includes('/engagement/thread?'))))
        // A long article above the comments, before the widget's module runs.
        await page.addInitScript(`document.addEventListener('readystatechange', () => {
          document.querySelector('engagement-thread').style.marginTop = '5000px'
        })`)
      },
    })
    const set = (name: string, value: string): Promise<unknown> =>
      window.thread.evaluate((thread, [key, text]) => thread.setAttribute(key ?? '', text ?? ''), [name, value])
    await set('sort', 'oldest')
    await set('page-size', '7')
    await set('lang', 'ar')
    await window.page.waitForTimeout(500)
    expect(asked).toBe(0)
    await window.thread.scrollIntoViewIfNeeded()
    await window.sees('The first')
    expect(asked).toBeGreaterThan(0)
  })

  test('prints the comments without forms and buttons, and with nothing folded', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', Array.from({ length: 40 }, (_, n) => `Line ${n}`).join('\n\n'))
    const window = await paper.read(article, { as: 'ann' })
    await window.sees('Line 0')
    await window.page.emulateMedia({ media: 'print' })
    expect(await window.thread.getByRole('button').count()).toBe(0)
    expect(await window.thread.getByRole('textbox').count()).toBe(0)
    const body = window.thread.locator('[part=body]')
    expect(await body.evaluate((element) => element.scrollHeight - element.clientHeight)).toBeLessThanOrEqual(0)
  })
})
