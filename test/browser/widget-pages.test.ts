import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { visitConsole } from '../harness/console.ts'
import { CORPUS } from '../harness/hostile.ts'
import { runningMs } from '../harness/standstill.ts'
import { newArticle, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

describeInBrowser('the widget on its page', () => {
  const paper = useNewspaper()

  describe('the address of a comment', () => {
    const target = newArticle()
    let parent: string
    let reply: string
    beforeAll(async () => {
      parent = await paper.post(target, 'ann', 'The oldest of all')
      for (let n = 0; n < 4; n++) await paper.post(target, 'bob', `An answer ${n}`, parent)
      reply = await paper.post(target, 'bob', 'The one that is meant', parent)
      for (let n = 0; n < 12; n++) await paper.post(target, `reader-${n}`, `Later ${n}. `.repeat(20))
    })
    const focused = (window: Window) =>
      window.thread.evaluate((element) => element.shadowRoot?.activeElement?.textContent ?? '')
    const isSeen = (window: Window, text: string) =>
      window.comment(text).evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect()
        return top >= 0 && bottom <= innerHeight
      })

    test.each([undefined, 'ann'])('shows it from a later page, with its thread open, marked (%s)', async (as) => {
      const window = await paper.read(target, { ...(as && { as }), query: `page-size=5#comment-${reply}` })
      await window.sees('The one that is meant')
      await vi.waitFor(async () => expect(await focused(window)).toContain('The one that is meant'), WAIT)
      await vi.waitFor(async () => expect(await isSeen(window, 'The one that is meant')).toBe(true), WAIT)
      expect(await window.thread.locator('.linked').innerText()).toContain('The one that is meant')
      // Its thread stands once, above the first page, however far the reader reads on.
      while ((await window.button('More comments').count()) > 0) {
        const before = await window.thread.locator('article').count()
        await window.button('More comments').click()
        await vi.waitFor(
          async () => expect(await window.thread.locator('article').count()).toBeGreaterThan(before),
          WAIT,
        )
      }
      expect(await window.thread.getByText('The oldest of all').count()).toBe(1)
    })

    test('is the link of its time, and follows it within the page', async () => {
      const window = await paper.read(target, { query: 'page-size=5' })
      await window.sees('Later 11.')
      const link = window.comment('Later 9.').getByRole('link')
      const address = (await link.getAttribute('href')) ?? ''
      expect(address).toMatch(/^http.*page-size=5#comment-[\da-f-]{36}$/)
      await link.click()
      await vi.waitFor(async () => expect(await focused(window)).toContain('Later 9.'), WAIT)
      await window.page.evaluate(`location.hash = 'comment-${parent}'`)
      await vi.waitFor(async () => expect(await focused(window)).toContain('The oldest of all'), WAIT)
      await window.page.goBack()
      await vi.waitFor(async () => expect(await focused(window)).toContain('Later 9.'), WAIT)
    })

    test('says so where it is gone, or of another page', async () => {
      const other = await paper.post(newArticle(), 'ann', 'Elsewhere')
      for (const id of [newId(), other]) {
        const window = await paper.read(target, { query: `page-size=5#comment-${id}` })
        await window.sees('This comment is gone.')
        await window.seesNot('Elsewhere')
      }
      expect(await paper.call('GET', `/comments/${other}`)).toMatchObject({ status: 'approved' })
    })
  })

  test.each([320, 390, 1280])(
    'what can be done with a comment stands in one row, with all reactions given, at %i pixels',
    async (width) => {
      const page = newArticle()
      let parent: string | undefined
      for (let depth = 0; depth < 4; depth++) {
        parent = await paper.post(page, `writer-${depth}-${width}`, `At depth ${depth}`, parent)
        for (const type of ['like', 'love', 'laugh', 'wow', 'sad', 'angry'])
          await paper.call('PUT', `/comments/${parent}/reaction`, { type }, `${type}-${width}`)
      }
      const ann = await paper.read(page, { as: 'ann', width })
      await ann.sees('At depth 0')
      await vi.waitFor(async () => {
        const more = ann.button(/^Show/).first()
        if (await more.isVisible()) await more.click()
        expect(await ann.thread.locator('article').count()).toBe(4)
      }, WAIT)
      const heights = await ann.thread.locator('.actions').evaluateAll((all) => all.map((one) => one.clientHeight))
      expect(heights).toEqual([32, 32, 32, 32])
      // The reactions to choose from stand in one row, too, within the page.
      for (const opener of await ann.button('React').all()) {
        await opener.click()
        const boxes = await Promise.all(
          (await ann.thread.locator('.react button').all()).map((one) => one.boundingBox()),
        )
        expect(boxes.map((box) => box?.y)).toEqual(Array.from({ length: 6 }, () => boxes[0]?.y))
        expect(await ann.page.evaluate('document.documentElement.scrollWidth')).toBe(width)
        await ann.page.keyboard.press('Escape')
      }
    },
  )

  test('at 390 pixels a tombstone says what its button does, and what does not fit fades out', async () => {
    const page = newArticle()
    const gone = await paper.post(page, 'ann', 'Soon gone')
    await paper.post(page, 'bob', 'An answer', gone)
    await paper.post(page, 'bob', '- one\n- two', gone)
    await paper.call('DELETE', `/comments/${gone}`)
    const window = await paper.read(page, { width: 390 })
    const toggle = window.comment('This comment was deleted.').getByRole('button')
    expect(await toggle.innerText()).toBe('Hide replies')
    await toggle.click()
    expect(await toggle.innerText()).toBe('Show 2 replies')
    await toggle.click()
    const styleOf = (selector: string, name: string): Promise<string> =>
      window.thread
        .locator(selector)
        .first()
        .evaluate((element, key) => getComputedStyle(element).getPropertyValue(key), name)
    expect(await styleOf('.body ul', 'list-style-type')).toBe('disc')
    expect(await styleOf('.faces', 'mask-image')).toContain('linear-gradient(to right')
  })

  test('a long name of the other direction begins beside its picture', async () => {
    const page = newArticle()
    const name = 'Evangelina Papadopoulou-Montgomery of the Northern Shores'
    const headers = await paper.service.as('evangelina', { name })
    await paper.service.call('POST', `/discussions/by-external/${page}/comments`, { body: { body: 'نعم' }, headers })
    const window = await paper.read(page, { width: 320, query: 'lang=ar' })
    await window.sees('نعم')
    const bdi = window.thread.locator('.author bdi')
    expect(await bdi.evaluate((element) => getComputedStyle(element).textAlign)).toBe('right')
  })

  test('everything works by keyboard, and the focus stays in place', async () => {
    const page = newArticle()
    const ann = await paper.read(page, { as: 'ann' })
    await ann.thread.getByRole('textbox').waitFor()
    const { keyboard } = ann.page
    const focused = () =>
      ann.page.evaluate<string>(
        `(({ activeElement: one }) => (one.ariaLabel ?? one.textContent).trim())(document.querySelector('engagement-thread').shadowRoot)`,
      )
    const tabTo = async (name: string): Promise<void> => {
      for (let n = 0; n < 30; n++) {
        await keyboard.press('Tab')
        const now = await ann.page.evaluate<string | undefined>(
          `(({ activeElement: one }) => (one?.ariaLabel ?? one?.textContent)?.trim())(document.querySelector('engagement-thread').shadowRoot)`,
        )
        if (now === name) return
      }
      throw new Error(`${name} cannot be reached with the Tab key`)
    }
    await tabTo('Write a comment')
    await keyboard.type('By keyboard')
    await tabTo('Post')
    await keyboard.press('Enter')
    await ann.sees('By keyboard')
    await vi.waitFor(async () => expect(await focused()).toContain('By keyboard'), WAIT)
    await tabTo('Reply to Ann Okafor')
    await keyboard.press('Enter')
    await vi.waitFor(async () => expect(await focused()).toBe('Reply to Ann Okafor'), WAIT)
    await keyboard.press('Escape')
    await vi.waitFor(async () => expect(await ann.thread.getByRole('textbox').count()).toBe(1), WAIT)
    expect(await focused()).toBe('Reply to Ann Okafor')
    await tabTo('React')
    await keyboard.press('Enter')
    await vi.waitFor(async () => expect(await focused()).toBe('Like'), WAIT)
    await keyboard.press('ArrowRight')
    await keyboard.press('Enter')
    await ann.button('Love 1').waitFor()
    await vi.waitFor(async () => expect(await focused()).toBe('React'), WAIT)
    await tabTo('More actions')
    const more = ann.button('More actions')
    expect(await more.getAttribute('aria-haspopup')).toBe('menu')
    expect(await more.getAttribute('aria-expanded')).toBe('false')
    await keyboard.press('Enter')
    await vi.waitFor(async () => expect(await focused()).toBe('Edit'), WAIT)
    expect(await more.getAttribute('aria-expanded')).toBe('true')
    // The arrows go around, and the ends have keys of their own.
    const steps = { ArrowDown: 'Delete', Home: 'Edit', End: 'Delete', ArrowUp: 'Edit' }
    for (const [key, item] of Object.entries(steps)) {
      await keyboard.press(key)
      expect(await focused()).toBe(item)
    }
    await keyboard.press('ArrowUp')
    expect(await focused()).toBe('Delete')
    await keyboard.press('Escape')
    await vi.waitFor(async () => expect(await focused()).toBe('More actions'), WAIT)
    expect(await ann.thread.getByRole('menu').count()).toBe(0)
    // So does the Tab key, and a click on the button, or elsewhere.
    const isClosed = () => vi.waitFor(async () => expect(await ann.thread.getByRole('menu').count()).toBe(0), WAIT)
    await ann.menu()
    await keyboard.press('Tab')
    await isClosed()
    await ann.menu()
    await more.click()
    await isClosed()
    await ann.menu()
    await ann.thread.getByRole('heading').click()
    await isClosed()
    await more.focus()
    await keyboard.press('ArrowDown')
    await vi.waitFor(async () => expect(await focused()).toBe('Edit'), WAIT)
    await keyboard.press('End')
    await keyboard.press('Enter')
    await vi.waitFor(async () => expect(await focused()).toBe('Delete'), WAIT)
    await keyboard.press('Escape')
    await vi.waitFor(async () => expect(await focused()).toBe('More actions'), WAIT)
    await ann.choose('Delete')
    await vi.waitFor(async () => expect(await focused()).toBe('Delete'), WAIT)
    await keyboard.press('Enter')
    await ann.sees('No comments yet')
    expect(await focused()).toMatch(/^Comments/)
  })

  test('readers see a comment within a second after a moderator approves it in the console', async () => {
    const held = newArticle()
    await paper.setInTest({ moderationMode: 'pre' })
    const [ann, bob] = await Promise.all([paper.read(held, { as: 'ann' }), paper.read(held, { as: 'bob' })])
    await ann.write('Please look at this')
    await ann.sees(/Please look at this[^]*Awaiting moderation/)
    const { id } = await paper.call('GET', `/discussions/by-external/${held}`)
    const presence = () => paper.call('GET', `/discussions/${id}/presence`)
    await vi.waitFor(async () => expect((await presence()).streams).toBe(2), WAIT)
    const page = await visitConsole(paper.browser, paper.service, '/moderation')
    // Otherwise it could be taken back for 5 s.
    await page.evaluate("localStorage.setItem('engagement-console-send-at-once', 'true')")
    await page.reload()
    await page.locator('[data-comment]', { hasText: 'Please look at this' }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    const pressed = runningMs()
    await bob.sees('Please look at this')
    expect(runningMs() - pressed).toBeLessThan(1000)
    await ann.seesNot('Awaiting moderation')
  })

  test('loads pages, sort orders and many replies on request', async () => {
    const page = newArticle()
    for (let n = 1; n <= 7; n++) await paper.post(page, 'ann', `Number ${n}.`)
    const parent = await paper.post(page, 'ann', 'Parent')
    for (let n = 1; n <= 5; n++) await paper.post(page, 'bob', `Reply ${n}.`, parent)
    const ann = await paper.read(page, { as: 'ann', query: 'page-size=3' })
    const shown = async (): Promise<string[]> =>
      (await ann.thread.locator('[part=body]').allInnerTexts()).map((text) => text.trim())
    await ann.button('Show 5 replies').waitFor()
    expect(await shown()).toEqual(['Parent', 'Number 7.', 'Number 6.'])
    await ann.button('Show 5 replies').click()
    await ann.sees('Reply 3.')
    expect(await shown()).toEqual(['Parent', 'Reply 1.', 'Reply 2.', 'Reply 3.', 'Number 7.', 'Number 6.'])
    await ann.button('More replies').click()
    await ann.sees('Reply 5.')
    await ann.button('Hide replies').click()
    await ann.button('More comments').click()
    await ann.sees('Number 3.')
    await ann.thread.getByLabel('Sort by').selectOption('Oldest')
    await ann.sees(/Number 1\.[^]*Number 3\./)
    expect(await shown()).toEqual(['Number 1.', 'Number 2.', 'Number 3.'])
  })

  test('a chain of only replies opens as a whole', async () => {
    const page = newArticle()
    let parent: string | undefined
    for (let depth = 0; depth < 8; depth++) parent = await paper.post(page, 'ann', `Link ${depth}.`, parent)
    await paper.post(page, 'bob', 'The first of two.', parent)
    const fork = await paper.post(page, 'bob', 'The second of two.', parent)
    await paper.post(page, 'ann', 'Below the fork.', fork)
    const window = await paper.read(page)
    await window.sees('Link 1.')
    await window.button('Show 1 reply').click()
    await window.sees(/Link 7\.[^]*The first of two\.[^]*The second of two\./)
    expect(await window.thread.getByRole('alert').count()).toBe(0)
  })

  test("speaks Arabic from right to left if the page does, and takes the page's own texts", async () => {
    const page = newArticle()
    await paper.post(page, 'ann', 'مرحبا')
    await paper.post(page, 'bob', 'Hello there')
    const window = await paper.read(page, { as: 'ann', query: 'lang=ar' })
    await window.sees(/التعليقات/)
    expect(await window.thread.locator('section').getAttribute('dir')).toBe('rtl')
    expect(await window.page.locator('engagement-count [part=count]').innerText()).toBe('تعليقان')
    const box = await window.thread.locator('section').boundingBox()
    const avatar = await window.thread.locator('[part=avatar]').first().boundingBox()
    expect(avatar!.x).toBeGreaterThan(box!.x + box!.width / 2)
    await window.page.evaluate(`document.querySelector('engagement-thread').strings = { title: 'صوتك' }`)
    await window.sees('صوتك')
    await window.page.evaluate(`document.documentElement.lang = 'xx-unknown'`)
    await window.page.evaluate(`document.querySelector('engagement-thread').reload()`)
    await window.sees('Sort by')
  })

  test('keeps a draft when its tab is closed, for its reader alone', async () => {
    const page = newArticle()
    const first = await paper.post(page, 'bob', 'Hello')
    const { page: tab, thread, button } = await paper.read(page, { as: 'ann' })
    await thread.getByRole('textbox', { name: 'Write a comment' }).fill('A thought')
    await button('Reply to Reader bob').click()
    await thread.getByRole('textbox', { name: 'Reply to Reader bob' }).fill('An answer')
    const openTab = async (reader: string) => {
      const context = tab.context()
      await context.addCookies([{ name: 'reader', value: reader, url: paper.site.url }])
      const next = await context.newPage()
      await next.goto(`${paper.site.url}/articles/${page}`)
      const box = (name: string | RegExp) => next.locator('engagement-thread').getByRole('textbox', { name })
      await box('Write a comment').waitFor()
      return { next, box }
    }
    await tab.close()
    const bob = await openTab('bob')
    expect(await bob.box('Write a comment').inputValue()).toBe('')
    expect(await bob.next.locator(`#c-${first} textarea`).count()).toBe(0)
    const ann = await openTab('ann')
    expect(await ann.box('Write a comment').inputValue()).toBe('A thought')
    expect(await ann.box(/^Reply to /).inputValue()).toBe('An answer')
  })

  test('speaks German to a page of Austria, and loads no other language', async () => {
    const page = newArticle()
    const first = await paper.post(page, 'ann', 'Guten Tag')
    const reply = await paper.post(page, 'bob', 'Servus', first)
    await paper.post(page, 'bob', 'Und guten Abend', reply)
    const loaded: string[] = []
    const window = await paper.read(page, {
      as: 'ann',
      query: 'lang=de-AT',
      prepare: async (one) =>
        void one.on('request', (request) => {
          const [, language] = /widget\.(\w\w)\.[\da-f]+\.js/.exec(request.url()) ?? []
          if (language) loaded.push(language)
        }),
    })
    await window.sees('Kommentare')
    expect(await window.thread.locator('section').getAttribute('lang')).toBe('de-AT')
    expect(await window.page.locator('engagement-count [part=count]').innerText()).toBe('3 Kommentare')
    await window.button('1 Antwort anzeigen').click()
    await window.sees('Und guten Abend')
    // Of two names that were told in the same second, the first stays.
    const name = /^(Reader bob|Bob Lindqvist) antworten$/
    await window.button(name).first().click()
    await window.thread.getByRole('textbox', { name }).waitFor()
    expect(loaded).toEqual(['de'])
  })

  test('in Arabic each button has the number that it shows in its name', async () => {
    const page = newArticle()
    for (const replies of [1, 2]) {
      const first = await paper.post(page, 'bob', 'مرحبا')
      const reply = await paper.post(page, 'bob', 'أهلًا', first)
      for (let n = 0; n < replies; n++) await paper.post(page, 'ann', 'أهلًا وسهلًا', reply)
    }
    const window = await paper.read(page, { as: 'ann', width: 320, query: 'lang=ar' })
    await window.button('عرض الردود: 1').waitFor()
    await window.button('عرض الردود: 2').waitFor()
    for (const button of await window.button(/^عرض /).all()) {
      const [n = ''] = /\p{Nd}+/u.exec(await button.innerText()) ?? []
      expect(n).not.toBe('')
      expect(await button.getAttribute('aria-label')).toContain(n)
    }
  })

  test('requests all counts of a page at once, 200 in a request, and updates them from the thread beside them', async () => {
    const page = newArticle()
    await paper.post(page, 'ann', 'One')
    const asked: string[] = []
    const ann = await paper.read(page, {
      as: 'ann',
      prepare: async (one) =>
        void one.on('request', (request) => request.url().includes('/counts') && asked.push(request.url())),
    })
    const count = ann.page.locator('engagement-count [part=count]').first()
    await vi.waitFor(async () => expect(await count.innerText()).toBe('1 comment'), WAIT)
    expect(asked).toHaveLength(1)
    await ann.write('Two')
    await vi.waitFor(async () => expect(await count.innerText()).toBe('2 comments'), WAIT)
    await ann.page.evaluate(`for (let n = 0; n < 250; n++) {
      const count = document.createElement('engagement-count')
      count.discussion = n % 2 ? 'none-' + n : '${page}'
      document.body.append(count)
    }`)
    await vi.waitFor(
      async () => expect(await ann.page.locator('engagement-count [part=count]').last().innerText()).toBe('0 comments'),
      WAIT,
    )
    expect(asked).toHaveLength(2)
    await ann.page.evaluate(`for (let n = 0; n < 250; n++) {
      const count = document.createElement('engagement-count')
      count.discussion = 'other-' + n
      document.body.append(count)
    }`)
    await vi.waitFor(
      async () => expect(await ann.page.locator('engagement-count [part=count]').last().innerText()).toBe('0 comments'),
      WAIT,
    )
    expect(asked).toHaveLength(4)
  })

  test('a reader who is banned in shadow counts their own comment on other pages, too; others do not', async () => {
    await paper.post('river-bath', 'shade', 'Before the ban')
    const { data } = await paper.call('GET', '/readers?externalId=bob')
    await paper.call('POST', `/readers/${data[0].id}/ban`, { shadow: true })
    try {
      await paper.post('river-bath', 'bob', 'In shadow')
      for (const [as, said] of [
        ['bob', '2 comments'],
        ['ann', '1 comment'],
      ] as const) {
        const { page } = await paper.read('river-bath', { as })
        await page.goto(paper.site.url)
        const count = page.locator('engagement-count[discussion=river-bath] [part=count]')
        await vi.waitFor(async () => expect(await count.innerText()).toBe(said), WAIT)
      }
    } finally {
      await paper.call('POST', `/readers/${data[0].id}/unban`)
    }
  })

  test('a count that comes late does not replace that of the thread', async () => {
    const page = newArticle()
    await paper.post(page, 'ann', 'One')
    let answer = (): void => undefined
    const held = new Promise<void>((resolve) => (answer = resolve))
    const window = await paper.read(page, {
      prepare: (one) =>
        one.route('**/counts?*', async (route) => {
          await held
          await route.fulfill({ json: { data: [{ externalId: page, commentCount: 7 }] } })
        }),
    })
    await window.sees('One')
    const answered = window.page.waitForResponse('**/counts?*').then((response) => response.finished())
    answer()
    await answered
    await window.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await window.page.locator('engagement-count [part=count]').innerText()).toBe('1 comment')
  })

  test('one count for an impossible page does not stop the others', async () => {
    const page = newArticle()
    await paper.post(page, 'ann', 'One')
    const window = await paper.read(page)
    await window.sees('One')
    await window.page.evaluate(`for (const discussion of ['${page}', 'x'.repeat(256), '']) {
      const count = document.createElement('engagement-count')
      Object.assign(count, { discussion, format: 'number', textContent: 'as the server wrote it' })
      document.body.append(count)
    }`)
    const counts = () =>
      window.page
        .locator('body > engagement-count')
        .evaluateAll((all) => all.map((each) => ('count' in each ? (each.count ?? null) : 'not defined')))
    await vi.waitFor(async () => expect(await counts()).toEqual([1, null, null]), WAIT)
  })

  test('hostile texts do not run, load anything, break the page or leave their box', async () => {
    const page = newArticle()
    await paper.set({ maxLinks: 100 })
    const bodies = [
      'w'.repeat(10_000),
      `\u202e${'evil '.repeat(50)}`,
      `${'\u0300'.repeat(500)} Z${'\u0335\u0327'.repeat(400)}`,
      `${'> '.repeat(200)}deep`,
      `${'- '.repeat(100)}list`,
      `\`\`\`\n${'c'.repeat(3000)}\n\`\`\``,
      `# ${'Heading '.repeat(100)}`,
    ]
    for (let n = 0; n < CORPUS.length; n += 40) {
      bodies.push(
        CORPUS.slice(n, n + 40)
          .join('\n\n')
          .replaceAll('\0', '')
          .slice(0, 9900),
      )
    }
    for (const body of bodies) await paper.post(page, 'ann', body)
    const asked: string[] = []
    const bob = await paper.read(page, {
      as: 'bob',
      width: 360,
      query: 'page-size=100',
      prepare: async (one) => {
        one.on('dialog', (dialog) => asked.push(dialog.message()))
        one.on('request', (request) => /evil|example/.test(request.url()) && asked.push(request.url()))
      },
    })
    await vi.waitFor(async () => expect(await bob.thread.locator('article').count()).toBe(bodies.length), WAIT)
    expect(await bob.page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    const stray = await bob.thread.locator('[part="body"]').evaluateAll((all) =>
      all.flatMap((body) => {
        const box = body.getBoundingClientRect()
        // Whatever is in it is drawn within it.
        const isOpen = getComputedStyle(body).overflow !== 'hidden' || box.left < 0 || box.right > 360
        if (isOpen) return [body.outerHTML.slice(0, 200)]
        return [...body.querySelectorAll('*')].flatMap((one) => {
          const names = one.getAttributeNames().filter((name) => !['href', 'rel', 'start'].includes(name))
          // An invalid address, as in `https:javascript:alert(1)`, has no protocol and leads
          // nowhere.
          const link = one instanceof HTMLAnchorElement && one.hasAttribute('href') ? one : null
          const isWrong =
            link !== null && (!/^(https?:|mailto:|:)$/.test(link.protocol) || link.rel !== 'nofollow ugc noopener')
          return names.length > 0 || isWrong ? [one.outerHTML.slice(0, 200)] : []
        })
      }),
    )
    expect(stray).toEqual([])
    expect(asked).toEqual([])
    // The whole thread, so that overlaps show: every comment starts below the previous one.
    const tops = await bob.thread
      .locator('article')
      .evaluateAll((all) =>
        all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom] as const),
      )
    for (const [n, [top]] of tops.entries()) if (n > 0) expect(top).toBeGreaterThanOrEqual(tops[n - 1]![1])
  })
})
