import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test, vi } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, type ReadOptions, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

const LANGUAGES = readdirSync(join(ROOT, 'src/clients/widget/languages')).map((file) => file.slice(0, -'.ts'.length))

describeInBrowser('notifications and mentions in the widget', () => {
  const paper = useNewspaper()

  const bell = ({ thread }: Window) => thread.getByRole('button', { name: /^Notifications/ })
  const inbox = ({ thread }: Window) => thread.getByRole('region', { name: 'Notifications' })
  const box = ({ thread }: Window) => thread.getByRole('textbox', { name: 'Write a comment' })
  const options = ({ thread }: Window) => thread.locator('#names').getByRole('option')

  /** Ann's window, with its stream. */
  async function annReads(article: string, more: ReadOptions = {}): Promise<Window> {
    const ann = await paper.read(article, { as: 'ann', ...more })
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    const streams = async () => (await paper.call('GET', `/discussions/${id}/presence`)).streams
    await vi.waitFor(async () => expect(await streams()).toBe(1), WAIT)
    return ann
  }
  const allRead = (as: string) =>
    paper.call('POST', '/readers/me/notifications/read', { before: new Date(Date.now() + 1000).toISOString() }, as)
  const unread = async (as: string) => (await paper.call('GET', '/readers/me/notifications/count', undefined, as)).count

  test('a reply rings the bell at once; its link leads to the comment, and then it is read', async () => {
    const article = newArticle()
    const root = await paper.post(article, 'ann', 'Who comes along?')
    await allRead('ann')
    const ann = await annReads(article)
    expect(await bell(ann).getAttribute('aria-label')).toBe('Notifications')
    await paper.post(article, 'bob', 'I do, with *two* friends.', root)
    await vi.waitFor(
      async () => expect(await bell(ann).getAttribute('aria-label')).toBe('Notifications: 1 unread'),
      WAIT,
    )
    await bell(ann).click()
    const entry = inbox(ann).getByRole('listitem')
    await entry.getByText('I do, with two friends.').waitFor()
    // Not by its colour alone.
    await entry.getByText('Unread:').waitFor()
    await entry.getByRole('link', { name: /replied to you/ }).click()
    await vi.waitFor(async () => expect(await ann.page.evaluate(() => location.hash)).toMatch(/^#comment-/), WAIT)
    await ann.thread.locator('article.linked').getByText('with two friends').waitFor()
    await inbox(ann).waitFor({ state: 'detached' })
    await vi.waitFor(async () => expect(await unread('ann')).toBe(0), WAIT)
    expect(await bell(ann).getAttribute('aria-label')).toBe('Notifications')
  })

  test.each(LANGUAGES)('the head of the thread is one line on a phone: %s', async (lang) => {
    const article = newArticle()
    for (let n = 0; n < 2; n++) await paper.post(article, 'ann', `Comment ${n}`)
    const ann = await paper.read(article, { as: 'ann', width: 360, query: `lang=${lang}` })
    const isInOneLine = async (): Promise<void> => {
      const middles = await ann.thread
        .locator('.header h2, .header select, .bell button')
        .evaluateAll((all) =>
          all.map((each) => each.getBoundingClientRect()).map(({ top, height }) => top + height / 2),
        )
      expect(middles.length).toBe(4)
      for (const middle of middles) expect(Math.abs(middle - middles[0]!)).toBeLessThan(8)
      expect(await ann.page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    }
    const count = async (answer: { count: number; hasMore: boolean }): Promise<void> => {
      await ann.page.route('**/me/notifications/count', (route) => route.fulfill({ json: answer }))
      await ann.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    }
    const many = ann.thread.locator('.bell button', { hasText: '+' })
    await ann.thread.locator('.bell button').last().waitFor()
    await isInOneLine()
    await count({ count: 99, hasMore: true })
    await many.waitFor()
    await isInOneLine()
    await count({ count: 0, hasMore: false })
    await many.waitFor({ state: 'detached' })
    await ann.thread.locator('h2 .quiet').evaluate((each) => (each.textContent = '1 234'))
    await isInOneLine()
  })

  test('the list reads on, marks all as read, and leads to other pages; Escape closes it', async () => {
    const [article, other] = [newArticle(), newArticle()]
    const root = await paper.post(other, 'ann', 'Elsewhere')
    await paper.call('PUT', `/discussions/by-external/${other}`, {}).catch(() => null)
    for (let n = 0; n < 23; n++) await paper.post(other, 'bob', `Answer ${n}`, root)
    await paper.post(article, 'ann', 'Here')
    const ann = await annReads(article)
    await vi.waitFor(async () => expect(await bell(ann).textContent()).toMatch(/2\d/), WAIT)
    await bell(ann).click()
    const entries = inbox(ann).getByRole('listitem')
    await vi.waitFor(async () => expect(await entries.count()).toBe(20), WAIT)
    await ann.button('More notifications').click()
    await vi.waitFor(async () => expect(await entries.count()).toBeGreaterThan(22), WAIT)
    await ann.button('Mark all as read').click()
    await vi.waitFor(async () => expect(await unread('ann')).toBe(0), WAIT)
    await vi.waitFor(async () => expect(await bell(ann).getAttribute('aria-label')).toBe('Notifications'), WAIT)
    expect(await inbox(ann).locator('.unread').count()).toBe(0)
    await entries
      .first()
      .getByText(/Answer 22/)
      .waitFor()
    await ann.page.keyboard.press('Escape')
    await inbox(ann).waitFor({ state: 'detached' })
    expect(
      await bell(ann).evaluate(
        (button) =>
          button.getRootNode() instanceof ShadowRoot && (button.getRootNode() as ShadowRoot).activeElement === button,
      ),
    ).toBe(true)
  })

  test('tells of decisions, and of nothing that the reader does not want', async () => {
    const article = newArticle()
    const root = await paper.post(article, 'ann', 'A root')
    await allRead('ann')
    const waiting = await paper.post(article, 'ann', 'It is rejected')
    await paper.call('POST', `/comments/${waiting}/reject`, { reason: 'spam' })
    const ann = await annReads(article)
    await bell(ann).click()
    await inbox(ann).getByText('Your comment was not published').waitFor()
    const wanted = inbox(ann).getByRole('checkbox', { name: 'replies to my comments' })
    expect(await wanted.isChecked()).toBe(true)
    await wanted.uncheck()
    await vi.waitFor(
      async () => expect((await paper.call('GET', '/readers/me/preferences', undefined, 'ann')).reply).toBe('none'),
      WAIT,
    )
    await allRead('ann')
    await paper.post(article, 'bob', 'Unwanted', root)
    expect(await unread('ann')).toBe(0)
    await ann.page.reload()
    await bell(ann).click()
    await inbox(ann).getByText('replies to my comments').waitFor()
    expect(await wanted.isChecked()).toBe(false)
    await wanted.check()
    await vi.waitFor(
      async () => expect((await paper.call('GET', '/readers/me/preferences', undefined, 'ann')).reply).toBe('all'),
      WAIT,
    )
  })

  test('the bell forgets what leaves the view, and hears of decisions, while the page is open', async () => {
    const article = newArticle()
    const root = await paper.post(article, 'ann', 'Who comes along?')
    const other = await paper.post(article, 'ann', 'And who stays?')
    await allRead('ann')
    const ann = await annReads(article)
    const rings = (label: string) =>
      vi.waitFor(async () => expect(await bell(ann).getAttribute('aria-label')).toBe(label), WAIT)
    const taken = await paper.post(article, 'bob', 'I do', root)
    await rings('Notifications: 1 unread')
    await paper.call('DELETE', `/comments/${taken}`, {})
    await rings('Notifications')
    const judged = await paper.post(article, 'bob', 'I do not', root)
    await rings('Notifications: 1 unread')
    await paper.call('POST', `/comments/${judged}/reject`, {})
    await rings('Notifications')
    await paper.call('POST', `/comments/${judged}/approve`, {})
    await rings('Notifications: 1 unread')
    await paper.call('POST', `/comments/${other}/reject`, { reason: 'spam' })
    await rings('Notifications: 2 unread')
    await ann.button('1 new reply').click()
    await ann.choose(/^Mute/, 'I do not')
    await rings('Notifications: 1 unread')
    await ann.button('Unmute').first().click()
    await rings('Notifications: 2 unread')
  })

  test('opening the list counts again what has left the view on other pages', async () => {
    const [article, elsewhere] = [newArticle(), newArticle()]
    const root = await paper.post(elsewhere, 'ann', 'Elsewhere')
    await paper.post(article, 'ann', 'Here')
    await allRead('ann')
    const answer = await paper.post(elsewhere, 'carl', 'An answer', root)
    const ann = await annReads(article)
    await vi.waitFor(
      async () => expect(await bell(ann).getAttribute('aria-label')).toBe('Notifications: 1 unread'),
      WAIT,
    )
    await paper.call('DELETE', `/comments/${answer}`, {})
    await bell(ann).click()
    await inbox(ann).waitFor()
    await vi.waitFor(async () => expect(await bell(ann).getAttribute('aria-label')).toBe('Notifications'), WAIT)
    expect(await ann.button('Mark all as read').count()).toBe(0)
  })

  test('`@` and a few letters find an author, by the keyboard alone; the other reader sees the name live', async () => {
    const article = newArticle()
    // Here already, since it is signed for Ann under another name.
    await allRead('ann')
    for (const [name, text] of [
      ['ann', 'I was first'],
      ['bob', 'I came later'],
    ] as const) {
      const window = await paper.read(article, { as: name })
      await window.write(text)
      await window.sees(text)
      await window.page.close()
    }
    const ann = await annReads(article)
    const bob = await paper.read(article, { as: 'bob' })
    await bob.sees('I was first')
    await box(bob).pressSequentially('Come, @')
    await vi.waitFor(async () => expect(await options(bob).allTextContents()).toHaveLength(1), WAIT)
    await bob.page.keyboard.type('ok')
    await vi.waitFor(async () => expect(await box(bob).getAttribute('aria-activedescendant')).toBe('name-0'), WAIT)
    // A <textarea> may be no combobox: it says what opens, and that it is open by what it controls.
    expect(await box(bob).getAttribute('role')).toBeNull()
    expect(await box(bob).getAttribute('aria-haspopup')).toBe('listbox')
    expect(await box(bob).getAttribute('aria-controls')).toBe('names')
    expect(await options(bob).first().getAttribute('aria-selected')).toBe('true')
    expect(await bob.thread.getByText('1 reader found').count()).toBe(1)
    await bob.page.keyboard.press('ArrowDown')
    await bob.page.keyboard.press('Enter')
    expect(await box(bob).inputValue()).toBe('Come, @Ann Okafor ')
    expect(await options(bob).count()).toBe(0)
    await bob.page.keyboard.type('at six.')
    await bob.button('Post').click()
    await bob.sees('Come, @Ann Okafor at six.')
    await ann.button('1 new comment').click()
    await ann.sees('Come, @Ann Okafor at six.')
    await vi.waitFor(
      async () => expect(await bell(ann).getAttribute('aria-label')).toBe('Notifications: 1 unread'),
      WAIT,
    )
    const { data } = await paper.call('GET', `/discussions/by-external/${article}/comments?sort=newest`)
    expect(data[0].body).toMatch(/^Come, \[@\]\(reader:[\da-f-]{36}\) at six\.$/)

    // An edit shows the name, and keeps the mention.
    await bob.choose('Edit', 'at six')
    const edit = bob.thread.getByRole('textbox', { name: 'Edit' })
    expect(await edit.inputValue()).toBe('Come, @Ann Okafor at six.')
    await edit.fill('Come, @Ann Okafor at seven.')
    await bob.button('Save').click()
    await bob.sees('Come, @Ann Okafor at seven.')
    await ann.sees('Come, @Ann Okafor at seven.')
  })

  test('Escape closes the names and leaves the text; a click chooses; an address is no name', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'A root')
    const bob = await paper.read(article, { as: 'bob' })
    await bob.sees('A root')
    await box(bob).pressSequentially('write to ann@')
    await bob.page.keyboard.type('example.org, @a')
    await options(bob).first().waitFor()
    await bob.page.keyboard.press('Escape')
    await vi.waitFor(async () => expect(await options(bob).count()).toBe(0), WAIT)
    await bob.page.keyboard.type('n')
    await options(bob).first().waitFor()
    // The caret moves: Enter is a new line again.
    await bob.page.keyboard.press('Home')
    await bob.page.keyboard.press('Enter')
    expect(await options(bob).count()).toBe(0)
    expect(await box(bob).inputValue()).toBe('\nwrite to ann@example.org, @an')
    await bob.page.keyboard.press('Control+Home')
    await bob.page.keyboard.press('Delete')
    await bob.page.keyboard.press('End')
    // So does a deleted `@`.
    for (let n = 0; n < 2; n++) await bob.page.keyboard.press('Backspace')
    await options(bob).first().waitFor()
    await bob.page.keyboard.press('Backspace')
    await vi.waitFor(async () => expect(await options(bob).count()).toBe(0), WAIT)
    await bob.page.keyboard.type('@an')
    await options(bob).first().click()
    expect(await box(bob).inputValue()).toMatch(/^write to ann@example\.org, @\S.* $/)
  })

  test('a mention of an author whom the page has not loaded gets its name as well', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'The first of many')
    const { author } = (await paper.call('GET', `/discussions/by-external/${article}/comments`)).data[0]
    for (let n = 0; n < 21; n++) await paper.post(article, 'carl', `Comment ${n}`)
    const bob = await paper.read(article, { as: 'bob' })
    await bob.sees('Comment 20')
    await vi.waitFor(async () => expect(await bob.thread.locator('article').count()).toBe(20), WAIT)
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    await vi.waitFor(async () => expect((await paper.call('GET', `/discussions/${id}/presence`)).streams).toBe(1), WAIT)
    await paper.post(article, 'carl', `Ask [@](reader:${author.id}) of it.`)
    await bob.button('1 new comment').click()
    await bob.sees(`Ask @${author.name} of it.`)
  })

  test('a name of the other direction turns neither the text that begins with it nor what tells of it', async () => {
    const article = newArticle()
    const name = 'وقار'
    const path = `/discussions/by-external/${article}/comments`
    const waqar = await paper.service.as('waqar', { name })
    const { json } = await paper.service.call('POST', path, { body: { body: 'Good morning' }, headers: waqar })
    const root = await paper.post(article, 'ann', 'Who knows it?')
    await allRead('ann')
    const answer = `- [@](reader:${json.author.id}) knows it.\n- So do I.`
    await paper.service.call('POST', path, { body: { body: answer, parentId: root }, headers: waqar })
    const ann = await annReads(article)
    await ann.sees('So do I.')
    const list = ann.comment('So do I.').locator('[part=body] ul').last()
    expect(await list.evaluate((one) => getComputedStyle(one).direction)).toBe('ltr')
    await bell(ann).click()
    const entry = inbox(ann).getByRole('listitem').first()
    await entry.getByText('So do I.').waitFor()
    /** How far from the left the first of these words in the entry begins. */
    const leftOf = (selector: string, words: string) =>
      entry
        .locator(selector)
        .first()
        .evaluate((one, sought) => {
          const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT)
          while (texts.nextNode()) {
            const node = texts.currentNode
            const at = node.nodeValue?.indexOf(sought) ?? -1
            if (at < 0) continue
            const range = document.createRange()
            range.setStart(node, at)
            range.setEnd(node, at + sought.length)
            return range.getBoundingClientRect().left
          }
          throw new Error(`there is no ${sought}`)
        }, words)
    expect(await leftOf('bdi', name)).toBeLessThan(await leftOf('bdi', 'replied'))
    expect(await leftOf('p', name)).toBeLessThan(await leftOf('p', 'knows'))
  })

  test('with a backend of an earlier release there is no bell, and with nobody signed in neither', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'A root')
    const missing = { status: 404, contentType: 'application/problem+json', body: '{"code":"not_found"}' }
    const ann = await paper.read(article, {
      as: 'ann',
      prepare: (page) => page.route('**/engagement/me/notifications/count*', (route) => route.fulfill(missing)),
    })
    await ann.sees('A root')
    await vi.waitFor(async () => expect(await bell(ann).count()).toBe(0), WAIT)
    const nobody = await paper.read(article)
    await nobody.sees('A root')
    expect(await bell(nobody).count()).toBe(0)
  })
})
