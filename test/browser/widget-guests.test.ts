import { expect, test, vi } from 'vitest'

import { DIFFICULTY } from '../../src/domains/guests/proof.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { newEmail, useGuestPages } from '../harness/guest-pages.ts'
import { newPath } from '../harness/static-site.ts'
import { textIn, WAIT, type Window } from '../harness/widget.ts'

describeInBrowser('guests in the widget', () => {
  const guests = useGuestPages()
  const { linkTo } = guests

  /** Writes, and asks for the mail. */
  async function ask(path: string, email: string): Promise<Window> {
    const window = await guests.write(email, path)
    await window.button('Send the link').click()
    await window.sees(`A mail was sent to ${email}.`)
    return window
  }
  const confirm = async (window: Window): Promise<void> => {
    await window.button('Confirm').click()
    await window.sees('You write as Gia Ferro.')
  }

  /** The keys of the drafts that the tab's browser has stored for the top level. */
  const keysIn = ({ page }: Window) =>
    page.evaluate<string[]>(
      `Object.entries(localStorage).flatMap(([name, value]) => (name.endsWith(':new') ? [JSON.parse(value).key] : []))`,
    )

  test('write first, confirm an address by one click, and post what they had written', async () => {
    const [path, email] = [newPath(), newEmail()]
    const typing = await ask(path, email)
    expect(await textIn(typing)).toBe('My words')
    const [key] = await keysIn(typing)

    const link = await linkTo(email)
    expect(link).toMatch(new RegExp(`^${guests.site.origin}${path}#engagement-guest=[0-9a-f]{64}$`))
    const confirming = await guests.site.visit(link)
    await confirming.button('Confirm').waitFor()
    expect(confirming.page.url()).toBe(guests.site.origin + path)
    await confirm(confirming)
    // Nothing is posted by itself. The text is there in both tabs.
    expect(await textIn(confirming)).toBe('My words')
    await typing.sees('You write as Gia Ferro.')
    expect(await textIn(typing)).toBe('My words')
    await typing.seesNot('A mail was sent')
    // By their draft's key, the tabs know that it is the same.
    expect(await keysIn(confirming)).toEqual([key])

    await confirming.button('Post').click()
    await confirming.sees(/Gia Ferro[^]*My words/)
    // The other tab has the comment in the place of the text.
    await typing.sees(/Gia Ferro[^]*My words/)
    expect(await textIn(typing)).toBe('')
    await vi.waitFor(async () => {
      const { data } = await guests.site.ok('GET', `/discussions/by-external/${guests.site.idOf(path)}/comments`)
      expect(data.map(({ body }: { body: string }) => body)).toEqual(['My words'])
    }, WAIT)

    // On other pages of the site, and after a reload.
    const elsewhere = await guests.site.visit(newPath())
    await elsewhere.sees('You write as Gia Ferro.')
    await elsewhere.page.reload()
    await elsewhere.sees('You write as Gia Ferro.')
    // Signed out there, they are signed out here.
    await elsewhere.button('Sign out').click()
    await elsewhere.seesNot('You write as')
    await confirming.seesNot('You write as')
    expect(await elsewhere.page.evaluate('Object.keys(localStorage).filter((key) => key.includes("guest"))')).toEqual(
      [],
    )
  })

  test('a tab keeps a text that differs from the one that another tab has posted', async () => {
    const [path, email] = [newPath(), newEmail()]
    const typing = await ask(path, email)
    const confirming = await guests.site.visit(await linkTo(email))
    await confirm(confirming)
    await typing.sees('You write as Gia Ferro.')
    await typing.thread.getByRole('textbox', { name: 'Write a comment' }).fill('My words, and more')
    await confirming.button('Post').click()
    await typing.sees(/Gia Ferro[^]*My words/)
    expect(await textIn(typing)).toBe('My words, and more')
  })

  test('may answer a comment: the reply is open again, with its text, in the tab of the link', async () => {
    const [path, email] = [newPath(), newEmail()]
    await guests.site.post(path, 'A question')
    const window = await guests.site.visit(path)
    await window.comment('A question').getByRole('button', { name: 'Reply' }).click()
    const reply = window.comment('A question')
    await reply.getByRole('textbox').fill('An answer')
    await reply.getByRole('button', { name: 'Post' }).click()
    await window.thread.getByLabel('Name', { exact: true }).fill('Gia Ferro')
    await window.thread.getByLabel('E-mail address').fill(email)
    await window.page.keyboard.press('Enter')
    await window.sees(`A mail was sent to ${email}.`)
    await window.page.close()
    const confirming = await guests.site.visit(await linkTo(email))
    await confirm(confirming)
    const area = confirming.comment('A question').getByRole('textbox')
    await vi.waitFor(async () => expect(await area.inputValue()).toBe('An answer'), WAIT)
    await confirming.comment('A question').getByRole('button', { name: 'Post' }).click()
    await confirming.sees(/A question[^]*An answer/)
  })

  test('are asked who they are before a reaction', async () => {
    const path = newPath()
    await guests.site.post(path, 'A question')
    const window = await guests.site.visit(path)
    await window.comment('A question').getByRole('button', { name: 'Like' }).click()
    const name = window.thread.getByLabel('Name', { exact: true })
    await name.waitFor()
    await vi.waitFor(async () => expect(await name.evaluate((each) => each.matches(':focus'))).toBe(true), WAIT)
    await window.page.keyboard.press('Escape')
    await name.waitFor({ state: 'detached' })
  })

  test('a link is confirmed once, says when it is not valid, and spends nothing when it is opened', async () => {
    const [path, email] = [newPath(), newEmail()]
    const typing = await ask(path, email)
    await typing.page.close()
    const link = await linkTo(email)
    // A scanner that runs scripts opens it, and presses nothing.
    const scanner = await guests.site.visit(link)
    await scanner.button('Confirm').waitFor()
    await scanner.page.close()
    const [one, two] = [await guests.site.visit(link), await guests.site.visit(link)]
    await confirm(one)
    await two.button('Confirm').click()
    await two.sees('This link is no longer valid.')
    // Where the page is open already.
    await one.page.evaluate(`location.hash = '#engagement-guest=${'0'.repeat(64)}'`)
    await one.button('Confirm').click()
    await one.sees('This link is no longer valid.')
    expect(one.page.url()).toBe(guests.site.origin + path)
    await one.sees('You write as Gia Ferro.')
  })

  test('a key of the keyboard does not take the link away, and Cancel does', async () => {
    const [path, email] = [newPath(), newEmail()]
    await ask(path, email)
    const confirming = await guests.site.visit(await linkTo(email))
    await confirming.button('Confirm').waitFor()
    await confirming.thread.getByRole('textbox', { name: 'Write a comment' }).press('Control+Enter')
    const isFocused = () => confirming.button('Confirm').evaluate((own) => own.matches(':focus'))
    await vi.waitFor(async () => expect(await isFocused()).toBe(true), WAIT)
    expect(await confirming.thread.getByRole('textbox', { name: 'E-mail address' }).count()).toBe(0)
    await confirming.button('Cancel').click()
    await confirming.seesNot('Confirm')
    await confirming.button('Post').click()
    await confirming.thread.getByRole('textbox', { name: 'E-mail address' }).waitFor()
    // The link is not spent.
    await confirm(await guests.site.visit(await linkTo(email)))
  })

  test('no Post button is there while the page loads for a guest who has confirmed', async () => {
    const email = newEmail()
    const typing = await ask(newPath(), email)
    await typing.page.close()
    const confirming = await guests.site.visit(await linkTo(email))
    await confirming.button('Confirm').waitFor()
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    await confirming.page.route('**/thread?*', (route) => held.then(() => route.continue()))
    await confirming.button('Confirm').click()
    await confirming.button('Confirm').waitFor({ state: 'detached' })
    expect([await textIn(confirming), await confirming.button('Post').count()]).toEqual(['My words', 0])
    release()
    await confirming.button('Post').click()
    await confirming.sees(/Gia Ferro[^]*My words/)
  })

  test("a page's own reader can post with a link open, and reads why it is refused", async () => {
    const reader = await guests.site.visit(newPath(), async (page) => {
      await page.route('**/thread?*', async (route) => {
        const answer = await route.fetch()
        const known = { id: 'ann', name: 'Ann Okafor', avatarUrl: null, ban: null }
        await route.fulfill({ response: answer, json: { ...(await answer.json()), reader: known } })
      })
    })
    await reader.thread.getByRole('textbox', { name: 'Write a comment' }).fill('Of Ann')
    const open = () => reader.page.evaluate(`location.hash = '#engagement-guest=${'0'.repeat(64)}'`)
    await open()
    await reader.button('Confirm').waitFor()
    await reader.button('Post').waitFor()
    await reader.button('Cancel').click()
    await reader.seesNot('Cancel')
    await open()
    await reader.button('Confirm').click()
    await reader.sees('This link is no longer valid.')
    await reader.button('Post').waitFor()
    expect(await reader.thread.getByLabel('E-mail address').count()).toBe(0)
  })

  test('refusals are told in words, with what was typed', async () => {
    const window = await ask(newPath(), newEmail())
    await window.button('Use another address').click()
    const answer = async (code: string, status: number, words: string, headers = {}) => {
      await window.page.route('**/guests', (route) =>
        route.fulfill({
          status,
          json: { code },
          headers: { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'Retry-After', ...headers },
        }),
      )
      await window.button('Send the link').click()
      await window.sees(words)
      await window.page.unroute('**/guests')
    }
    await answer('rate_limited', 429, 'Try again in 4 minutes.', { 'retry-after': '200' })
    await answer('invalid_proof', 403, 'The check did not work.')
    await answer('guests_disabled', 403, 'Only signed-in readers can comment here.')
    expect(await window.thread.getByLabel('Name', { exact: true }).inputValue()).toBe('Gia Ferro')
    expect(await textIn(window)).toBe('My words')
  })

  test('a guest who is ended is asked again, and keeps the text', async () => {
    const [path, email] = [newPath(), newEmail()]
    const typing = await ask(path, email)
    await typing.page.close()
    const window = await guests.site.visit(await linkTo(email))
    await confirm(window)
    const { data } = await guests.site.ok('GET', '/readers')
    const guest = data.find(({ name, id }: { name: string; id: string }) => name === 'Gia Ferro' && id !== '')
    await window.page
      .evaluate(`for (const key of Object.keys(localStorage).filter((key) => key.startsWith('engagement-guest:')))
      localStorage.setItem(key, 'gt_' + '0'.repeat(64))`)
    expect(guest).toBeDefined()
    await window.write('Another text')
    await window.sees('You are signed out.')
    await window.button('Post').click()
    await window.thread.getByLabel('E-mail address').waitFor()
    expect(await textIn(window)).toBe('Another text')
  })

  test("a page's own reader wins over a guest", async () => {
    const [path, email] = [newPath(), newEmail()]
    const typing = await ask(path, email)
    await typing.page.close()
    await confirm(await guests.site.visit(await linkTo(email)))
    const tokens: (string | undefined)[] = []
    await guests.site.visit(path, async (page) => {
      await page.addInitScript(`window.identity = async () => 'an-issuers-token'`)
      page.on('request', (request) => {
        if (request.url().includes('/thread?')) tokens.push(request.headers()['authorization'])
      })
    })
    // An element in the page's HTML may ask once before the page has named its reader.
    await vi.waitFor(() => expect(tokens).toContain('Bearer an-issuers-token'), WAIT)
    expect(tokens.slice(tokens.indexOf('Bearer an-issuers-token')).join(' ')).not.toContain('gt_')
  })

  test('the proof of work holds up no click: no task of the page is long', async () => {
    const { counter } = DIFFICULTY
    DIFFICULTY.counter = 400
    try {
      const email = newEmail()
      const window = await guests.write(email)
      await window.page.evaluate(`window.long = []
        new PerformanceObserver((list) => long.push(...list.getEntries().map((each) => each.duration))).observe({ type: 'longtask' })`)
      await window.button('Send the link').click()
      await window.sees(`A mail was sent to ${email}.`)
      // A busy machine may hold up one task. The work itself would be one of seconds.
      const long = await window.page.evaluate<number[]>('window.long')
      expect(long.filter((each) => each > 50).length, String(long)).toBeLessThanOrEqual(2)
    } finally {
      DIFFICULTY.counter = counter
    }
  })
})
