import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newEmail, useGuestPages } from '../harness/guest-pages.ts'
import { newPath } from '../harness/static-site.ts'
import { newArticle, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

/** What has the focus: the name that it shows, or what it is. Empty where it is lost. */
const focused = ({ thread }: Window): Promise<string> =>
  thread.evaluate((element) => {
    const at = element.shadowRoot?.activeElement
    if (!at) return ''
    const name = at.getAttribute('aria-label') ?? at.id
    return name === '' ? (at.textContent?.trim() ?? '') : name.replace(/-[\da-f-]{36}$/, '')
  })
const expectFocus = (window: Window, name: string | RegExp): Promise<void> =>
  vi.waitFor(async () => expect(await focused(window)).toMatch(name), WAIT)

describeInBrowser('by the keyboard alone', () => {
  const paper = useNewspaper()

  /** Presses keys one after the other, each where the one before has led. */
  const press = async ({ page }: Window, ...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key)
  }
  async function open(comments = 2): Promise<Window> {
    const article = newArticle()
    for (let n = 0; n < comments; n++) await paper.post(article, 'bob', `Comment ${n}`)
    const window = await paper.read(article, { as: 'ann', query: 'page-size=20' })
    await window.sees(`Comment ${comments - 1}`)
    await window.button('Notifications').waitFor()
    await window.thread.locator('#title').focus()
    return window
  }

  test('Tab goes through the thread in the order that it is read in', async () => {
    const window = await open(1)
    const order: string[] = []
    for (let n = 0; n < 9; n++) {
      await press(window, 'Tab')
      order.push(await focused(window))
      // It comes with the field.
      if (order.at(-1) === 'Write a comment') await window.thread.getByRole('toolbar').waitFor()
    }
    expect(order).toEqual([
      'My comments',
      'Notifications',
      'Write a comment',
      'Bold',
      // The address of the comment.
      expect.stringMatching(/now|ago/),
      expect.stringMatching(/^Reply to /),
      'React',
      'Like',
      'More actions',
    ])
  })

  test('a comment is posted, edited and deleted, and the focus is never lost', async () => {
    const window = await open()
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).focus()
    await window.page.keyboard.type('By keys')
    await press(window, 'Control+Enter')
    await window.sees('By keys')
    await expectFocus(window, /^c$/)

    const menu = window.comment('By keys').getByRole('button', { name: 'More actions' })
    await menu.focus()
    await press(window, 'ArrowDown')
    await expectFocus(window, 'Edit')
    await press(window, 'Escape')
    await expectFocus(window, 'More actions')
    await press(window, 'ArrowDown')
    await expectFocus(window, 'Edit')
    await press(window, 'Enter')
    await expectFocus(window, /^Edit$/)
    await window.thread.getByRole('textbox', { name: 'Edit' }).and(window.page.locator(':focus')).waitFor()
    await press(window, 'Escape')
    await expectFocus(window, 'More actions')
    await press(window, 'ArrowDown', 'ArrowDown')
    await expectFocus(window, 'Delete')
    await press(window, 'Enter')
    await window.sees('for good?')
    await expectFocus(window, 'Delete')
    await press(window, 'Enter')
    await window.seesNot('By keys')
    await expectFocus(window, 'title')
  })

  test('Escape closes what is on top, and nothing below it', async () => {
    const window = await open()
    const reply = window.comment('Comment 1').locator('[data-opens=reply]')
    await reply.focus()
    await press(window, 'Enter')
    const field = window.thread.locator('.panel textarea')
    await expectFocus(window, /^Reply to /)
    await window.page.keyboard.type('For @R')
    const names = window.thread.locator('.names li')
    await names.first().waitFor()
    await press(window, 'Escape')
    await names.first().waitFor({ state: 'detached' })
    expect(await field.inputValue()).toBe('For @R')
    await press(window, 'Escape')
    await field.waitFor({ state: 'detached' })
    await expectFocus(window, /^Reply to /)

    await window.comment('Comment 1').getByRole('button', { name: 'React', exact: true }).focus()
    await press(window, 'Enter')
    await expectFocus(window, 'Like')
    await press(window, 'ArrowRight')
    await expectFocus(window, 'Love')
    await press(window, 'Escape')
    await expectFocus(window, 'React')

    for (const [name, region] of [
      ['Notifications', 'Notifications'],
      ['My comments', 'My comments'],
    ] as const) {
      await window.button(name).focus()
      await press(window, 'Enter')
      await window.thread.getByRole('region', { name: region }).waitFor()
      await press(window, 'Escape')
      await window.thread.getByRole('region', { name: region }).waitFor({ state: 'detached' })
      await expectFocus(window, name)
    }
  })

  test('a choice in the notifications keeps the focus while it is stored', async () => {
    const window = await open()
    await window.button('Notifications').click()
    const choice = window.thread.getByRole('checkbox', { name: 'replies to my comments' })
    await choice.focus()
    const stored = window.page.waitForResponse((response) => response.url().includes('/me/preferences'))
    await press(window, 'Space')
    await stored
    await vi.waitFor(async () => expect(await choice.isChecked()).toBe(false), WAIT)
    expect(await choice.evaluate((each) => each.matches(':focus'))).toBe(true)
    const { reply } = (await window.page.evaluate(
      `fetch('/engagement/me/preferences').then((answer) => answer.json())`,
    )) as { reply: string }
    expect(reply).toBe('none')
  })

  test('a text that waits for a connection is taken back into its field', async () => {
    const window = await open()
    await window.page.context().setOffline(true)
    await window.sees('You are offline.')
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).focus()
    await window.page.keyboard.type('Later')
    await press(window, 'Control+Enter')
    await window.button('Cancel').focus()
    await press(window, 'Enter')
    await expectFocus(window, 'Write a comment')
  })

  test('after a page that could not be loaded the focus is at its beginning', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'There after all')
    let isDown = true
    const window = await paper.read(article, {
      prepare: (page) =>
        page.route('**/engagement/thread?*', (route) =>
          isDown ? route.fulfill({ status: 403, json: { code: 'error' } }) : route.continue(),
        ),
    })
    await window.button('Try again').focus()
    isDown = false
    await press(window, 'Enter')
    await window.sees('There after all')
    await expectFocus(window, 'title')
  })

  test('a comment that a moderator deletes takes no focus with it', async () => {
    const window = await open()
    await window.comment('Comment 1').getByRole('button', { name: 'More actions' }).focus()
    const { data } = await paper.call('GET', `/readers?externalId=bob`)
    expect(data).toHaveLength(1)
    const id = await window.comment('Comment 1').getAttribute('id')
    await paper.call('DELETE', `/comments/${id?.slice(2)}`)
    await window.seesNot('Comment 1')
    await expectFocus(window, 'title')
  })

  test('the next page of the own comments begins with its first', async () => {
    const article = newArticle()
    await paper.call('POST', '/discussions', { externalId: article, url: `${paper.site.url}/articles/${article}` })
    for (let n = 1; n <= 21; n++) await paper.post(article, 'bob', `Number ${n} of bob`)
    const window = await paper.read(article, { as: 'bob' })
    await window.button('My comments').click()
    const list = window.thread.getByRole('region', { name: 'My comments' })
    await list.getByRole('button', { name: 'More comments' }).press('Enter')
    const next = list.getByRole('listitem').nth(20).getByRole('link')
    await vi.waitFor(async () => expect(await next.evaluate((each) => each.matches(':focus'))).toBe(true), WAIT)
  })
})

describeInBrowser('guests by the keyboard alone', () => {
  const guests = useGuestPages()

  test('write, say who they are, confirm and sign out, and the focus is never lost', async () => {
    const window = await guests.site.visit(newPath())
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await window.page.keyboard.press(key)
    }
    const hasFocus = (selector: string) => window.thread.locator(`${selector}:focus`).waitFor()
    await window.button('Write a comment').press('Enter')
    await hasFocus('textarea')
    await window.page.keyboard.type('My words')
    await press('Control+Enter')
    await hasFocus('[name=name]')
    expect(await window.thread.locator('.primary').allInnerTexts()).toEqual(['Send the link'])
    await press('Escape')
    await hasFocus('textarea')
    await press('Control+Enter')
    await hasFocus('[name=name]')
    await window.page.keyboard.type('Gia')
    await press('Tab')
    const email = newEmail()
    await window.page.keyboard.type(email)
    await press('Tab', 'Enter')
    await hasFocus('div.guest')
    await window.sees('in this browser')
    await window.button('Use another address').press('Enter')
    await hasFocus('[name=name]')

    const link = await guests.linkTo(email)
    await window.page.goto('about:blank')
    await window.page.goto(link)
    await hasFocus('.guest .primary')
    await press('Enter')
    await window.sees('You write as Gia.')
    await hasFocus('textarea')
    await window.button('Sign out').press('Enter')
    await window.seesNot('You write as Gia.')
    await expectFocus(window, 'title')
  })
})
