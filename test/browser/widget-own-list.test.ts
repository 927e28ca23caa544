import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, WAIT } from '../harness/widget.ts'

describeInBrowser("the list of a reader's own comments, in the widget", () => {
  const paper = useNewspaper()

  test('has those of all pages with their states and decisions, and leads to each', async () => {
    const [here, there] = [newArticle(), newArticle()]
    for (const [article, title] of [
      [here, 'The page here'],
      [there, 'The page there'],
    ] as const)
      await paper.call('POST', '/discussions', {
        externalId: article,
        title,
        url: `${paper.site.url}/articles/${article}`,
      })
    await paper.post(here, 'ann', 'Shown to all')
    const rejected = await paper.post(there, 'ann', 'Shown to nobody')
    await paper.call('POST', `/comments/${rejected}/reject`, { reason: 'spam', message: 'Not here, please' })
    const removed = await paper.post(there, 'ann', 'Gone by now')
    await paper.call('DELETE', `/comments/${removed}`, {}, 'ann')
    await paper.post(here, 'eve', 'Of another')

    const ann = await paper.read(here, { as: 'ann', width: 320 })
    await ann.button('My comments').click()
    const list = ann.thread.getByRole('region', { name: 'My comments' })
    await list.getByText('Shown to all').waitFor()
    const items = await list.getByRole('listitem').allInnerTexts()
    expect(items).toHaveLength(3)
    expect(items[0]).toMatch(/The page there[^]*This comment was deleted\./)
    expect(items[1]).toMatch(/The page there[^]*Shown to nobody[^]*not published[^]*Reason: Spam\.[^]*Not here, please/)
    expect(items[2]).toMatch(/The page here[^]*Shown to all/)
    expect(await ann.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    const hrefs = await list.getByRole('link').evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).href))
    expect(hrefs).toHaveLength(2)
    expect(hrefs[0]).toBe(`${paper.site.url}/articles/${there}#comment-${rejected}`)

    // Of this page: it closes, and the comment is marked.
    await list.getByRole('link').last().click()
    await ann.comment('Shown to all').and(ann.page.locator('.linked')).waitFor()
    expect(await list.count()).toBe(0)
  })

  test('says that there are none, and where it cannot be loaded', async () => {
    const article = newArticle()
    await paper.post(article, 'eve', 'Of another')
    let isDown = true
    const bob = await paper.read(article, {
      as: 'bob',
      prepare: (page) =>
        page.route('**/me/comments?limit=20', (route) =>
          isDown ? route.fulfill({ status: 429, json: { code: 'rate_limited' } }) : route.continue(),
        ),
    })
    await bob.button('My comments').click()
    await bob.thread.getByText('That was too fast.').waitFor()
    isDown = false
    await bob.button('My comments').click()
    await bob.button('My comments').click()
    await bob.thread.getByText('You have not written any comments.').waitFor()
    expect(await bob.thread.getByText('That was too fast.').count()).toBe(0)
  })

  test('goes on, opens in the place of the notifications, and closes by Escape to its button', async () => {
    const article = newArticle()
    for (let n = 1; n <= 21; n++) await paper.post(article, 'bob', `Number ${n} of bob`)
    const bob = await paper.read(article, { as: 'bob' })
    await bob.button('Notifications').click()
    await bob.thread.getByRole('region', { name: 'Notifications' }).waitFor()
    const own = bob.button('My comments')
    await own.click()
    const list = bob.thread.getByRole('region', { name: 'My comments' })
    await list.getByText('Number 2 of bob').waitFor()
    expect(await bob.thread.getByRole('region', { name: 'Notifications' }).count()).toBe(0)
    await list.getByRole('button', { name: 'More comments' }).click()
    await list.getByText('Number 1 of bob').waitFor()
    expect(await list.getByRole('listitem').count()).toBe(21)
    await list.getByRole('link').first().press('Escape')
    await list.waitFor({ state: 'detached' })
    await vi.waitFor(async () => expect(await own.evaluate((each) => each.matches(':focus'))).toBe(true), WAIT)
  })
})
