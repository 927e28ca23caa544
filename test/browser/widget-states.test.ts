import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newEmail, useGuestPages } from '../harness/guest-pages.ts'
import { faultsInEveryLook, turn } from '../harness/looks.ts'
import { newPath } from '../harness/static-site.ts'
import { newArticle, useNewspaper, type Window } from '../harness/widget.ts'

const ANN = { as: 'ann' }
const FIRST = 'A comment with a'

describeInBrowser('the widget has no faults in any look', () => {
  const paper = useNewspaper()
  /** With everything that a thread can show. */
  const article = newArticle()
  /** Of Ann's, which waits for a moderator, and which was rejected. */
  const held = newArticle()

  beforeAll(async () => {
    await paper.set({
      showEditHistory: true,
      badges: [{ id: 'staff', label: 'Our staff', tone: 'info' }],
      bannedWords: ['turnip'],
    })
    const page = { title: 'A page of this paper', url: `${paper.site.url}/articles/${article}` }
    await paper.call('POST', '/discussions', { externalId: article, ...page })
    const first = await paper.post(article, 'bob', `${FIRST} [link](https://example.com), \`code\` and\n\n> a quote`)
    const reply = await paper.post(article, 'ann', 'A reply', first)
    await paper.post(article, 'bob', 'A deeper one', reply)
    for (const type of ['like', 'love', 'wow'])
      await paper.call('PUT', `/comments/${first}/reaction`, { type }, `fan-of-${type}`)
    await paper.call('PUT', `/comments/${first}/reaction`, { type: 'like' }, 'ann')
    await paper.call('POST', `/comments/${first}/pin`)
    const gone = await paper.post(article, 'bob', 'Gone')
    await paper.post(article, 'ann', 'Left behind', gone)
    await paper.call('DELETE', `/comments/${gone}`)
    const edited = await paper.post(article, 'ann', 'Wrong')
    await paper.call('PATCH', `/comments/${edited}`, { body: 'Right' }, 'ann')
    await paper.post(article, 'bob', Array.from({ length: 40 }, (_, n) => `Line ${n}`).join('\n\n'))
    const { author } = await paper.call('GET', `/comments/${first}`)
    await paper.call('PUT', `/readers/${author.id}/badges`, { badges: ['staff'] })

    await paper.set({ moderationMode: 'pre' })
    const [waits, rejected] = [
      await paper.post(held, 'ann', 'It waits'),
      await paper.post(held, 'ann', 'It was refused'),
    ]
    await paper.set({ moderationMode: 'none' })
    await paper.call('POST', `/comments/${rejected}/reject`, { reason: 'spam', message: 'Not here, please' })
    expect((await paper.call('GET', `/comments/${waits}`)).status).toBe('pending')
  })

  const read = async (options = {}, at = article): Promise<Window> => {
    const window = await paper.read(at, options)
    if (at === article) await window.sees(FIRST)
    return window
  }
  const field = ({ thread }: Window, name: string | RegExp = 'Write a comment') => thread.getByRole('textbox', { name })
  const answer = (path: string, status: number, code: string, headers = {}) => ({
    prepare: (page: Page) => page.route(path, (route) => route.fulfill({ status, headers, json: { code } })),
  })
  /** After Ann has sent a comment. */
  async function refused(status: number, code: string, headers = {}): Promise<Window> {
    const window = await read({ ...ANN, ...answer('**/engagement/comments?*', status, code, headers) })
    await window.write('My words')
    await window.thread.getByRole('alert').waitFor()
    return window
  }
  async function opened(kind: 'menu' | 'react'): Promise<Window> {
    const window = await read(ANN)
    await window.comment(FIRST).locator(`[data-opens=${kind}]`).click()
    await window.thread.locator('.popup').waitFor()
    return window
  }
  async function inPanel(name: string, text: string): Promise<Window> {
    const window = await read(ANN)
    await window.choose(name, text)
    await window.thread.locator('.panel').waitFor()
    return window
  }

  const STATES: Readonly<Record<string, () => Promise<Window>>> = {
    empty: async () => {
      const window = await read(ANN, newArticle())
      await window.sees('No comments yet.')
      return window
    },
    loading: async () => {
      const window = await read(
        { prepare: (page: Page) => page.route('**/engagement/thread?*', () => undefined) },
        held,
      )
      await window.thread.locator('.wait').waitFor()
      return window
    },
    'that cannot be loaded': async () => {
      const window = await read(answer('**/engagement/thread?*', 403, 'error'), held)
      await window.button('Try again').waitFor()
      return window
    },
    'of an unknown page': async () => {
      const window = await read(answer('**/engagement/thread?*', 404, 'unknown_page'), held)
      await window.thread.getByText('There are no comments for this page.').waitFor()
      return window
    },
    'signed out': () => read(),
    'in a theme of its own, light': () => read({ query: 'page=dark&theme=light' }),
    'in a theme of its own, dark': () => read({ query: 'page=light&theme=dark' }),
    'signed in': () => read(ANN),
    'with a thread open and a comment marked': async () => {
      const window = await read(ANN)
      await window.button('Show 1 reply').click()
      await window.comment('A deeper one').getByRole('link').click()
      await window.thread.locator('.linked').waitFor()
      return window
    },
    'with news': async () => {
      const page = newArticle()
      const parent = await paper.post(page, 'bob', FIRST)
      const window = await read(ANN, page)
      await window.sees(FIRST)
      await paper.post(page, 'bob', 'While you look')
      await paper.post(page, 'bob', 'An answer', parent)
      await window.button('1 new comment').waitFor()
      await window.button('1 new reply').waitFor()
      return window
    },
    'that waits or was rejected': async () => {
      const window = await read(ANN, held)
      await window.sees(/Not here, please[^]*Awaiting moderation/)
      return window
    },
    'of a muted reader': async () => {
      const page = newArticle()
      await paper.post(page, 'cy', FIRST)
      const window = await read(ANN, page)
      await window.choose(/^Mute /, FIRST)
      await window.button('Unmute').waitFor()
      return window
    },
    'with a reply': async () => {
      const window = await read(ANN)
      await window.comment(FIRST).locator('[data-opens=reply]').first().click()
      await field(window, /^Reply to/).fill('An **answer**')
      await window.thread.getByRole('toolbar').waitFor()
      return window
    },
    'with a preview': async () => {
      const window = await read(ANN)
      await field(window).fill('> Quoted\n\nA **text** with a [link](https://example.com)')
      await window.button('Preview').click()
      await window.thread.getByRole('group', { name: 'Preview' }).getByText('Quoted').waitFor()
      return window
    },
    'with an edit': () => inPanel('Edit', 'Right'),
    'with the versions of a comment': async () => {
      const window = await read()
      await window.comment('Right').getByRole('button', { name: 'edited' }).click()
      await window.thread.getByRole('dialog').getByText('Wrong').first().waitFor()
      return window
    },
    'with a question before it deletes': () => inPanel('Delete', 'Right'),
    'with a report': () => inPanel('Report', 'Line 0'),
    'that was reported': async () => {
      const window = await inPanel('Report', 'Line 0')
      await window.thread.getByRole('combobox').last().selectOption('spam')
      await window.button('Send report').click()
      await window.thread.getByText('The moderators will see it.').last().waitFor()
      return window
    },
    'with its menu': () => opened('menu'),
    'with its reactions': () => opened('react'),
    'with readers to mention': async () => {
      const window = await read(ANN)
      await field(window).click()
      await window.page.keyboard.type('To @')
      await window.thread.locator('.names li').first().waitFor()
      return window
    },
    'with notifications': async () => {
      const window = await read(ANN)
      await window.button(/^Notifications/).click()
      await window.thread.getByText('Your comment was not published').waitFor()
      return window
    },
    "with the reader's own comments": async () => {
      const window = await read(ANN)
      await window.button('My comments').click()
      await window.thread.getByText('It was refused').waitFor()
      return window
    },
    'with a text that is too long': async () => {
      const window = await read(ANN)
      await field(window).fill('word '.repeat(2001))
      await window.thread.getByText('characters too many').waitFor()
      return window
    },
    'with a word that is banned': async () => {
      const window = await read(ANN)
      await window.write('A turnip')
      await window.thread.getByRole('alert').waitFor()
      return window
    },
    'in slow mode': () => refused(429, 'slow_mode', { 'retry-after': '90' }),
    'with a refusal': () => refused(413, 'error'),
    'whose reader is signed out with a text': async () => {
      const window = await refused(403, 'identity_required')
      await window.button('Sign in to comment').waitFor()
      return window
    },
    'without a connection': async () => {
      const window = await read(ANN)
      // Its texts cannot be loaded later.
      await turn(window.page, 'ar')
      await turn(window.page, 'en', 'ltr')
      await window.page.context().setOffline(true)
      await window.sees('You are offline.')
      await window.write('Sent later')
      await window.thread.getByText('sent as soon as there is a connection').waitFor()
      return window
    },
    'of a reader who is banned': async () => {
      const { data } = await paper.call('GET', '/readers?externalId=bob')
      await paper.call('POST', `/readers/${data[0].id}/ban`, {})
      const window = await read({ as: 'bob' })
      await window.sees('You cannot take part')
      await paper.call('POST', `/readers/${data[0].id}/unban`)
      return window
    },
    ...Object.fromEntries(
      (['lock', 'archive'] as const).map((verb) => [
        `after its ${verb}`,
        async () => {
          const page = newArticle()
          const id = await paper.post(page, 'bob', FIRST)
          await paper.call('PUT', `/comments/${id}/reaction`, { type: 'like' }, 'ann')
          const { id: discussion } = await paper.call('GET', `/discussions/by-external/${page}`)
          await paper.call('POST', `/discussions/${discussion}/${verb}`)
          const window = await read(ANN, page)
          await window.sees(verb === 'lock' ? 'Comments are closed.' : 'archived')
          return window
        },
      ]),
    ),
  }

  test.each(Object.keys(STATES))('%s', async (name) => {
    const window = await STATES[name]!()
    expect(await faultsInEveryLook(window.page, name)).toEqual([])
  })
})

describeInBrowser('the widget has no faults in any look where guests write', () => {
  const guests = useGuestPages()
  const write = (prepare?: (page: Page) => Promise<unknown>): Promise<Window> =>
    guests.write('gia@example.com', undefined, prepare)
  async function openLink(): Promise<Window> {
    const email = newEmail()
    const window = await guests.write(email)
    await window.button('Send the link').click()
    await window.sees('A mail was sent')
    const link = await guests.linkTo(email)
    await window.page.goto('about:blank')
    await window.page.goto(link)
    await window.button('Confirm').waitFor()
    return window
  }

  const STATES: Readonly<Record<string, () => Promise<Window>>> = {
    form: () => write(),
    'proof under way': async () => {
      const window = await write((page) => page.route('**/challenge', () => undefined))
      await window.button('Send the link').click()
      await window.thread.getByText('One moment').last().waitFor()
      return window
    },
    refusal: async () => {
      const headers = { 'access-control-allow-origin': '*' }
      const window = await write((page) =>
        page.route('**/guests', (route) => route.fulfill({ status: 403, headers, json: { code: 'invalid_proof' } })),
      )
      await window.button('Send the link').click()
      await window.thread.getByText('The check did not work.').waitFor()
      return window
    },
    'mail under way': async () => {
      const window = await write()
      await window.button('Send the link').click()
      await window.sees('A mail was sent to gia@example.com.')
      return window
    },
    'link of a mail': openLink,
    'link of a mail in another browser': async () => {
      const window = await guests.site.visit(`${newPath()}#engagement-guest=${'0'.repeat(64)}`)
      await window.sees('waits there')
      return window
    },
    'link that is over': async () => {
      const window = await guests.site.visit(`${newPath()}#engagement-guest=${'0'.repeat(64)}`)
      await window.button('Confirm').click()
      await window.sees('This link is no longer valid.')
      return window
    },
    'guest who has confirmed': async () => {
      const window = await openLink()
      await window.button('Confirm').click()
      await window.sees('You write as Gia Ferro.')
      return window
    },
  }

  test.each(Object.keys(STATES))('a %s', async (name) => {
    const window = await STATES[name]!()
    expect(await faultsInEveryLook(window.page, name)).toEqual([])
  })
})
