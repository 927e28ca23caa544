import type { Locator } from 'playwright-core'
import { beforeAll, describe, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

const TEXT = 'Half a thought'

/** A window in which Ann has written a text into a field, below a comment that few pages show. */
interface Case {
  window: Window
  article: string
  discussionId: string
  /** The comment that the field belongs to. The box for a new comment belongs to none. */
  id: string
}

const FIELDS = {
  'the box for a comment': { author: 'bob', name: 'Write a comment' },
  'a reply': { author: 'bob', name: /^Reply to/ },
  'an edit': { author: 'ann', opens: 'Edit', name: 'Edit' },
  'a report': { author: 'bob', opens: 'Report', name: /^A note to the moderators/ },
} as const
type Field = keyof typeof FIELDS

describeInBrowser('a field of the widget that holds a text', () => {
  const paper = useNewspaper()
  beforeAll(async () => {
    await paper.set({ reportThreshold: 2 })
  })

  const areaOf = ({ window }: Case, field: Field) => window.thread.getByRole('textbox', { name: FIELDS[field].name })
  const call = (path: string, body?: object, as?: string) => paper.call('POST', path, body, as)
  const reload = ({ window }: Case) => window.page.evaluate(`document.querySelector('engagement-thread').reload()`)
  const sees = ({ window }: Case, text: string) => window.sees(text)

  async function open(field: Field): Promise<Case> {
    const article = newArticle()
    const { author, ...rest } = FIELDS[field]
    const id = await paper.post(article, author, 'The one in question')
    for (let n = 1; n <= 4; n++) await paper.post(article, `reader-${n}`, `Later ${n}`)
    const window = await paper.read(article, { as: 'ann', query: 'page-size=2' })
    for (const last of ['Later 2', 'The one in question']) {
      await window.button('More comments').click()
      await window.sees(last)
    }
    const { id: discussionId } = await paper.call('GET', `/discussions/by-external/${article}`)
    const listens = async () => (await paper.call('GET', `/discussions/${discussionId}/presence`)).streams
    await vi.waitFor(async () => expect(await listens()).toBe(1), WAIT)
    const made = { window, article, discussionId, id }
    if (field === 'a reply') await window.comment('The one in question').getByRole('button', { name: 'Reply' }).click()
    else if ('opens' in rest) await window.choose(rest.opens, 'The one in question')
    const area = areaOf(made, field)
    await area.fill(TEXT)
    await area.evaluate((each: HTMLTextAreaElement) => each.setSelectionRange(2, 6))
    return made
  }

  /** The text, and where its focus and caret are. */
  const stateOf = (made: Case, field: Field) =>
    areaOf(made, field).evaluate((each: HTMLTextAreaElement) => {
      const { activeElement } = each.getRootNode() as ShadowRoot
      return [each.value, activeElement === each, each.selectionStart, each.selectionEnd, each.isConnected]
    })

  async function expectKept(made: Case, field: Field): Promise<void> {
    expect(await areaOf(made, field).count(), field).toBe(1)
    expect(await stateOf(made, field), field).toEqual([TEXT, true, 2, 6, true])
  }

  /** What may happen, and what shows that it has. */
  const EVENTS: readonly [what: string, happens: (made: Case, field: Field) => Promise<unknown>][] = [
    [
      'the comment is deleted',
      async (made) => {
        await paper.call('DELETE', `/comments/${made.id}`)
        await sees(made, 'This comment was deleted.')
      },
    ],
    [
      'the comment is deleted, and has a reply',
      async (made, field) => {
        await paper.post(made.article, 'eve', 'A reply', made.id)
        await replied(made, field, 1)
        await paper.call('DELETE', `/comments/${made.id}`)
        await sees(made, 'This comment was deleted.')
      },
    ],
    [
      'the comment is rejected',
      async (made, field) => {
        await call(`/comments/${made.id}/reject`)
        await sees(made, field === 'an edit' ? 'This comment was not published' : 'This comment is not shown.')
      },
    ],
    [
      'the comment is rejected, and approved again',
      async (made) => {
        await call(`/comments/${made.id}/reject`)
        await made.window.sees(/not (shown|published)/)
        await call(`/comments/${made.id}/approve`)
        await made.window.sees(/^(?![^]*not (shown|published))/)
      },
    ],
    [
      'the comment is held',
      async (made, field) => {
        for (const as of ['eve', 'dan']) await call(`/comments/${made.id}/report`, { reason: 'spam' }, as)
        await sees(made, field === 'an edit' ? 'Awaiting moderation' : 'This comment is not shown.')
      },
    ],
    [
      'the comment is edited',
      async (made, field) => {
        const body = { body: 'The one as edited' }
        await paper.call('PATCH', `/comments/${made.id}`, body, FIELDS[field].author)
        await sees(made, field === 'an edit' ? 'edited' : 'The one as edited')
      },
    ],
    [
      'the comment is pinned, and unpinned',
      async (made) => {
        await call(`/comments/${made.id}/pin`)
        await sees(made, 'Pinned')
        await call(`/comments/${made.id}/unpin`)
        await made.window.seesNot('Pinned')
      },
    ],
    [
      'somebody reacts',
      async (made) => {
        const [, before] = await latest(made)
        await call(`/comments/${before}/reactions`, { type: 'love' }, 'eve')
        await made.window.button('Love 1').waitFor()
      },
    ],
    [
      'comments and replies come, and are shown',
      async (made, field) => {
        await paper.post(made.article, 'eve', 'A reply', made.id)
        await paper.post(made.article, 'eve', 'News')
        if (field !== 'an edit') await press(made, '1 new reply')
        await press(made, '1 new comment')
        await sees(made, 'News')
      },
    ],
    [
      'further pages are loaded',
      async (made, field) => {
        const [first = ''] = await latest(made)
        for (let n = 1; n <= 4; n++) await paper.post(made.article, 'eve', `Reply ${n}`, first)
        await press(made, '4 new replies')
        await sees(made, 'Reply 2')
        await press(made, '2 new replies')
        await sees(made, 'Reply 4')
        await reload(made)
        await made.window.seesNot('Reply 4')
        for (const last of ['Later 2', 'The one in question']) {
          await press(made, 'More comments')
          if (field !== 'an edit' || last !== 'The one in question') await sees(made, last)
        }
        await made.window.thread.getByRole('button', { name: 'More comments' }).waitFor({ state: 'detached' })
      },
    ],
    [
      'the discussion is locked',
      async (made) => {
        await call(`/discussions/${made.discussionId}/lock`)
        await sees(made, 'Comments are closed.')
      },
    ],
    [
      'the discussion is locked, and unlocked',
      async (made) => {
        await call(`/discussions/${made.discussionId}/lock`)
        await sees(made, 'Comments are closed.')
        await call(`/discussions/${made.discussionId}/unlock`)
        await made.window.seesNot('Comments are closed.')
      },
    ],
    [
      'the discussion is archived',
      async (made) => {
        await call(`/discussions/${made.discussionId}/archive`)
        await sees(made, 'This discussion is archived.')
      },
    ],
    [
      'the page is loaded again',
      async (made) => {
        await paper.post(made.article, 'eve', 'Since then')
        await reload(made)
        await sees(made, 'Since then')
      },
    ],
    [
      'the page is loaded again, and the comment was deleted meanwhile',
      async (made, field) => {
        await made.window.page.route('**/stream/**', (route) => route.abort())
        await made.window.page.evaluate(`dispatchEvent(new Event('pagehide'))`)
        await paper.call('DELETE', `/comments/${made.id}`)
        await paper.post(made.article, 'eve', 'Since then')
        await reload(made)
        await sees(made, field === 'the box for a comment' ? 'Since then' : 'This comment was deleted.')
      },
    ],
    [
      'the stream has lost its place, so that the page is loaded again',
      async (made) => {
        await paper.set({ stream: { replayEvents: 100 } })
        await made.window.page.evaluate(`dispatchEvent(new Event('pagehide'))`)
        for (let n = 1; n <= 120; n++) await paper.post(made.article, `reader-${n}`, `Number ${n}`)
        await made.window.page.evaluate(`dispatchEvent(new Event('pageshow'))`)
        await sees(made, 'Number 120')
      },
    ],
    [
      'the order is changed',
      async (made) => {
        await made.window.thread.evaluate((thread) => thread.setAttribute('sort', 'oldest'))
        await vi.waitFor(async () => expect((await latest(made))[0]).toBe(made.id), WAIT)
      },
    ],
    [
      'the language is changed',
      async (made) => {
        const { window } = made
        await window.thread.evaluate((thread) => thread.setAttribute('lang', 'ar'))
        await sees(made, 'التعليقات')
        await window.thread.evaluate((thread) => thread.setAttribute('lang', 'en'))
        await sees(made, 'Comments')
      },
    ],
    [
      'the session ends, and the page is loaded again',
      async (made) => {
        await made.window.page.context().clearCookies()
        await reload(made)
        await sees(made, 'You are signed out.')
      },
    ],
    [
      'the session ends, which an answer tells',
      async (made) => {
        await made.window.page.context().clearCookies()
        await press(made, 'Like')
        await sees(made, 'You are signed out.')
      },
    ],
    [
      'the session ends and begins again',
      async (made) => {
        const context = made.window.page.context()
        await context.clearCookies()
        await reload(made)
        await sees(made, 'You are signed out.')
        await context.addCookies([{ name: 'reader', value: 'ann', url: paper.site.url }])
        await reload(made)
        await made.window.seesNot('You are signed out.')
      },
    ],
    [
      'the reader is banned, and the page is loaded again',
      async (made) => {
        const { data } = await paper.call('GET', '/readers?externalId=ann')
        await call(`/readers/${data[0].id}/ban`, {})
        try {
          await reload(made)
          await sees(made, 'You cannot take part in discussions at present.')
        } finally {
          await call(`/readers/${data[0].id}/unban`)
        }
      },
    ],
    [
      'the site no longer has the page',
      async (made) => {
        await made.window.page.route('**/engagement/thread?*', (route) =>
          route.fulfill({ status: 404, json: { code: 'not_found', errors: [{ code: 'unknown_page' }] } }),
        )
        await reload(made)
        await sees(made, 'There are no comments for this page.')
      },
    ],
    [
      'the backend fails',
      async (made) => {
        let asked = 0
        await made.window.page.route('**/engagement/**', (route) => {
          asked++
          return route.fulfill({ status: 503, json: { code: 'unavailable' } })
        })
        await reload(made)
        await vi.waitFor(() => expect(asked).toBeGreaterThan(3), WAIT)
      },
    ],
    [
      'the address of another comment is followed',
      async (made) => {
        const [other] = await latest(made)
        await made.window.page.evaluate(`location.hash = '#comment-${other}'`)
        await vi.waitFor(async () => expect(await made.window.thread.locator('.linked').count()).toBe(1), WAIT)
      },
    ],
  ]

  /** The ids of the comments of the top level, from above. */
  const latest = ({ window }: Case): Promise<string[]> =>
    window.thread.locator('.list > li > article').evaluateAll((all) => all.map(({ id }) => id.slice(2)))

  /** Waits until the page knows of replies. A comment that is being edited does not show them. */
  const replied = async ({ window }: Case, field: Field, n: number): Promise<void> => {
    if (field === 'an edit') await window.sees(String(5 + n))
    else await window.button(`${n} new repl`).waitFor()
  }

  /** As an answer that comes later does it: the focus is in the text again. */
  const press = async ({ window }: Case, name: string): Promise<void> => {
    await window.button(name).first().waitFor()
    await window
      .button(name)
      .first()
      .evaluate((each) => (each as HTMLElement).click())
  }

  const fields = Object.keys(FIELDS) as Field[]

  describe.each(EVENTS)('where %s', (_what, happens) => {
    test.each(fields)('%s keeps its text, the focus and the caret', async (field) => {
      const made = await open(field)
      try {
        await happens(made, field)
        await expectKept(made, field)
      } finally {
        await paper.set({ stream: { replayEvents: 10_000 } })
      }
    })
  })

  test.each(fields)('%s is there again after a reload of the page, with its text', async (field) => {
    const made = await open(field)
    await made.window.page.reload()
    const text = async () => [await areaOf(made, field).count(), await areaOf(made, field).inputValue()]
    await vi.waitFor(async () => expect(await text()).toEqual([1, TEXT]), WAIT)
  })

  test.each(fields)('%s is there again where the reader comes back to the article', async (field) => {
    const made = await open(field)
    const show = (id: string) => made.window.thread.evaluate((thread, to) => thread.setAttribute('discussion', to), id)
    await show(newArticle())
    await sees(made, 'No comments yet.')
    expect(await made.window.thread.getByRole('textbox').inputValue()).toBe('')
    await show(made.article)
    await vi.waitFor(async () => expect(await areaOf(made, field).inputValue()).toBe(TEXT), WAIT)
  })

  test.each(['a reply', 'an edit', 'a report'] as const)(
    '%s whose comment is gone can be copied after a reload of the page, and not be sent',
    async (field) => {
      const made = await open(field)
      await paper.call('DELETE', `/comments/${made.id}`)
      await sees(made, 'This comment was deleted.')
      const expectCopy = async (): Promise<void> => {
        await vi.waitFor(async () => expect(await areaOf(made, field).inputValue()).toBe(TEXT), WAIT)
        await sees(made, 'This comment is gone.')
        expect(await made.window.thread.locator('.panel [type=submit]').isDisabled()).toBe(true)
      }
      await expectCopy()
      await made.window.page.reload()
      await expectCopy()
      await made.window.button('Cancel').click()
      expect(await areaOf(made, field).count()).toBe(0)
    },
  )

  test('a reply is not said to belong to a comment that is gone where the service does not tell', async () => {
    const made = await open('a reply')
    const { page, seesNot } = made.window
    await paper.call('DELETE', `/comments/${made.id}`)
    await sees(made, 'This comment was deleted.')
    const isComment = (url: URL): boolean => url.pathname.endsWith(`/comments/${made.id}`)
    await page.route(isComment, (route) => route.fulfill({ status: 429, json: { code: 'rate_limited' } }))
    const refused = page.waitForResponse((response) => isComment(new URL(response.url())))
    await page.reload()
    await (await refused).finished()
    await made.window.thread.getByRole('textbox', { name: 'Write a comment' }).waitFor()
    // Two frames: what the answer changes is drawn by then.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    await seesNot('This comment was deleted.')
    await page.unroute(isComment)
    await page.reload()
    await vi.waitFor(async () => expect(await areaOf(made, 'a reply').inputValue()).toBe(TEXT), WAIT)
  })

  test('a field without a text goes with its comment, and the box with the lock', async () => {
    const made = await open('a reply')
    await areaOf(made, 'a reply').fill('')
    await call(`/discussions/${made.discussionId}/lock`)
    await sees(made, 'Comments are closed.')
    await paper.call('DELETE', `/comments/${made.id}`)
    await reload(made)
    await made.window.seesNot('This comment was deleted.')
    // A page that is read within the seconds that a list is kept hears of the lock by its stream.
    await vi.waitFor(async () => expect(await made.window.thread.getByRole('textbox').count()).toBe(0), WAIT)
  })

  test.each(fields)('%s keeps a text that is too long, says by how much, and is not sent', async (field) => {
    const made = await open(field)
    const { page, thread } = made.window
    const most = field === 'a report' ? 1000 : 10_000
    const area = areaOf(made, field)
    const long = '👍'.repeat(most + 3)
    await area.fill('')
    await page.keyboard.insertText(`  ${long}\n`)
    expect(await area.inputValue()).toBe(`  ${long}\n`)
    const form = thread.locator('form').filter({ hasText: 'too many' })
    await sees(made, '3 characters too many.')
    expect(await form.locator('[type=submit]').isDisabled()).toBe(true)
    if (field === 'a report') await thread.getByLabel('What is wrong with this comment?').selectOption('Spam')
    await area.press('Backspace')
    await area.press('Backspace')
    await sees(made, '2 characters too many.')
    await area.press('Backspace')
    await area.press('Backspace')
    await made.window.seesNot('too many')
    const sent = page.waitForResponse((response) => /POST|PATCH/.test(response.request().method()))
    await thread.getByRole('button', { name: /^(Post|Save|Send report)$/ }).click()
    expect((await sent).status()).toBeLessThan(300)
  })

  test('a menu takes the focus from a text, and what is chosen in it leaves the text', async () => {
    const made = await open('a reply')
    const { window } = made
    const area = areaOf(made, 'a reply')
    const more = window.comment('The one in question').getByRole('button', { name: 'More actions' })
    const isFocused = (at: Locator) =>
      vi.waitFor(async () => expect(await at.evaluate((each) => each.matches(':focus'))).toBe(true), WAIT)
    // The second time the row keeps the focus where it is until the menu is there.
    for (let times = 0; times < 2; times++) {
      await area.focus()
      expect(await window.menu('The one in question')).toEqual(['Quote', 'Report', expect.stringMatching(/^Mute /)])
      await isFocused(window.thread.getByRole('menuitem').first())
      await window.page.keyboard.press('Escape')
      await isFocused(more)
      expect(await area.inputValue()).toBe(TEXT)
    }
    await window.choose(/^Mute /, 'The one in question')
    await sees(made, 'You have muted this reader.')
    expect(await area.inputValue()).toBe(TEXT)
    await window.button('Unmute').click()
    await sees(made, 'The one in question')
    expect(await area.inputValue()).toBe(TEXT)
  })

  test('an answer takes the focus from no other text', async () => {
    const made = await open('a reply')
    const { page, thread } = made.window
    let answer = (): void => undefined
    const answered = new Promise<void>((resolve) => (answer = resolve))
    await page.route('**/engagement/comments?*', async (route) => {
      await answered
      await route.continue()
    })
    await page.keyboard.press('Control+Enter')
    const box = thread.getByRole('textbox', { name: 'Write a comment' })
    await box.fill('Another thought')
    answer()
    await vi.waitFor(async () => expect(await areaOf(made, 'a reply').count()).toBe(0), WAIT)
    await sees(made, TEXT)
    expect(await box.evaluate((each) => [each.matches(':focus'), (each as HTMLTextAreaElement).value])).toEqual([
      true,
      'Another thought',
    ])
  })

  test('another reader who signs in on the same machine sees no text of the one before', async () => {
    const made = await open('a reply')
    const context = made.window.page.context()
    await context.addCookies([{ name: 'reader', value: 'bob', url: paper.site.url }])
    await reload(made)
    await vi.waitFor(async () => expect(await areaOf(made, 'a reply').count()).toBe(0), WAIT)
    await context.addCookies([{ name: 'reader', value: 'ann', url: paper.site.url }])
    await reload(made)
    await vi.waitFor(async () => expect(await areaOf(made, 'a reply').inputValue()).toBe(TEXT), WAIT)
  })
})
