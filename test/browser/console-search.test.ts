import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, WAIT } from '../harness/console.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'

const isSearch = (body: string | null): boolean => /query CommentSearch\b/.test(body ?? '')

describeInBrowser('The search in the console', () => {
  const { desk, post, stateOf, expectState, item, expectFocus, expectSaid, leaveDiscussion } = openQueue()

  const shown = (page: Page) =>
    page.getByRole('article').evaluateAll((all) => all.map((each) => each.dataset['comment']))
  const expectShown = async (page: Page, ...comments: readonly Posted[]): Promise<void> => {
    await expect.poll(() => shown(page), WAIT).toEqual(comments.map(({ id }) => id))
  }
  const field = (page: Page) => page.getByRole('searchbox', { name: 'Words' })

  test('/ goes to the field from anywhere; what is found is marked, judged, and taken back', async () => {
    const first = await post('ann', 'The Zürich ferry, again: ZURICH!')
    const second = await post('bob', 'hold Zurich ferries')
    const third = await post('cyd', 'Zürich, but no boats')
    const page = await desk.visit('/readers')
    await page.getByRole('table').waitFor()
    await page.keyboard.press('/')
    await page.waitForURL('**/console/search')
    await expect.poll(() => field(page).evaluate((element) => element === document.activeElement), WAIT).toBe(true)
    await page.keyboard.type('zurich ferr')
    await page.waitForURL(/search=zurich\+ferr$/)
    await expectShown(page, second, first)
    expect(await item(page, first).locator('mark').allTextContents()).toEqual(['Zürich', 'ferry', 'ZURICH'])
    await item(page, second).getByText('pending', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await expectFocus(page, second)
    expect(await field(page).inputValue()).toBe('zurich ferr')
    await page.reload()
    await expectShown(page, second, first)
    await field(page).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('j')
    await expectFocus(page, second)
    await page.keyboard.press('r')
    await expectFocus(page, first)
    await item(page, second).getByText('Rejected').first().waitFor()
    await page.keyboard.press('u')
    await expectSaid(page, 'Undone: not rejected.')
    await item(page, second).getByText('pending', { exact: true }).waitFor()
    await expectFocus(page, second)
    await page.keyboard.press('a')
    await expectState(second, 'approved')
    await expectShown(page, second, first)
    const remove = async (): Promise<void> => {
      await enter(item(page, first).getByRole('button', { name: 'Delete' }))
      const dialog = page.getByRole('dialog', { name: 'Delete the comment of' })
      await dialog.getByRole('radio', { name: 'Against the law' }).check()
      await enter(dialog.getByRole('button', { name: 'Delete' }))
      await dialog.waitFor({ state: 'detached' })
    }
    await remove()
    await expectSaid(page, 'Deleted.')
    await page.keyboard.press('u')
    await expectSaid(page, 'Undone: not deleted.')
    expect(await stateOf(first.id)).toBe('approved')
    await remove()
    await expectState(first, 'deleted')
    const { data: decided } = await desk.ok('GET', `/audit-log?action=comment.delete`)
    expect(decided[0].after).toMatchObject({ reason: 'illegal' })
    await page.keyboard.press('u')
    await expectSaid(page, 'gone for good')
    // Within the page `/` goes to the field again, and then it is a letter.
    await item(page, second).focus()
    await page.keyboard.press('/')
    await expect.poll(() => field(page).evaluate((element) => element === document.activeElement), WAIT).toBe(true)
    await page.keyboard.press('Control+a')
    await page.keyboard.type('boats a/b')
    await expect.poll(() => field(page).inputValue(), WAIT).toBe('boats a/b')
    await page.getByText('No comment was found').waitFor()
    expect(await stateOf(third.id)).toBe('approved')
  })

  test('says what an author was told once they are, and nothing of one who has a shadow ban', async () => {
    const told = await post('pat', 'ships in a bottle')
    const untold = await post('quin', 'ships in a harbour')
    await desk.ok('POST', `/readers/${untold.author.id}/ban`, { shadow: true })
    const page = await desk.visit('/search?search=ships')
    const dialog = page.getByRole('dialog', { name: 'Reject the comment of' })
    const words = (comment: Posted) => item(page, comment).getByText('Told to the author: Spam')
    for (const comment of [told, untold]) {
      await item(page, comment).getByRole('button', { name: 'Reject, and say why' }).click()
      await dialog.getByRole('radio', { name: 'Spam' }).check()
      await enter(dialog.getByRole('button', { name: 'Reject' }))
      await dialog.waitFor({ state: 'detached' })
      expect(await words(comment).count()).toBe(0)
    }
    await expectState(untold, 'rejected')
    await words(told).waitFor()
    expect(await words(untold).count()).toBe(0)
  })

  test('says nothing of a rejection on a comment that was approved meanwhile, until that is taken back', async () => {
    const comment = await post('rita', 'ships at noon')
    const page = await desk.visit('/search?search=noon')
    const dialog = page.getByRole('dialog', { name: 'Reject the comment of' })
    const words = item(page, comment).getByText('Told to the author: Spam')
    await item(page, comment).getByRole('button', { name: 'Reject, and say why' }).click()
    await dialog.getByRole('radio', { name: 'Spam' }).check()
    await enter(dialog.getByRole('button', { name: 'Reject' }))
    await dialog.waitFor({ state: 'detached' })
    const answered = page.waitForResponse((response) => /ModerateComments/.test(response.request().postData() ?? ''))
    await item(page, comment).getByRole('button', { name: 'Approve' }).click()
    await answered
    await expectState(comment, 'rejected')
    expect(await words.count()).toBe(0)
    await page.keyboard.press('u')
    await words.waitFor()
  })

  test('says of a tenant without comments that there are none, and blames a filter only where one is set', async () => {
    const { admin } = await desk.service.addTenant('newcomer')
    const page = await desk.visit('/search', { admin })
    await page.getByText('There are no comments yet').waitFor()
    await page.goto(`${page.url()}?status=pending`)
    await page.getByText('Try fewer words, or fewer filters.').waitFor()
    expect(await page.getByText('There are no comments yet').count()).toBe(0)
  })

  test('filters by state, reader, page and day, in both orders; the address has it all', async () => {
    const old = await post('dora', 'A quay of stone')
    const held = await post('dora', 'hold a quay of wood')
    leaveDiscussion()
    const other = await post('emil', 'A quay of sand')
    const path = `/search?search=quay&reader=${old.author.id}`
    const page = await desk.visit(path, { view: NARROW })
    await expectShown(page, held, old)
    await expectAccessible(page, 'search')
    expect(await page.getByRole('combobox', { name: 'Reader' }).inputValue()).toBe('Name of dora')
    await page.goto(`${page.url()}&status=pending`)
    await expectShown(page, held)
    await page.goto(`${desk.service.url}/console/search?search=quay&sort=oldest`)
    await expectShown(page, old, held, other)
    await enter(item(page, other).getByRole('link', { name: 'all of this page' }))
    await page.waitForURL(new RegExp(`search=quay&sort=oldest&discussion=${other.discussionId}`))
    await expectShown(page, other)
    await page.goBack()
    await expectShown(page, old, held, other)
    await page.getByLabel('Until').fill('2020-01-01')
    await page.waitForURL(/to=2020-01-01/)
    await page.getByText('No comment was found').waitFor()
  })

  test('goes on by itself where an answer is partial, and asks after some; More brings the next page', async () => {
    const all: Posted[] = []
    for (let n = 0; n < 27; n++) all.push(await post(`sailor-${n}`, `Anchor number ${n}`))
    const page = await desk.visit('/readers')
    let partial = 0
    await page.route('**/graphql', (route) => {
      if (!isSearch(route.request().postData())) return route.continue()
      partial++
      const pageInfo = { hasNextPage: true, endCursor: `part-${partial}` }
      const comments = { nodes: [], partial: true, pageInfo }
      if (partial > 1) expect(route.request().postData()).toContain(`part-${partial - 1}`)
      return route.fulfill({ json: { data: { comments } } })
    })
    await page.goto(`${desk.service.url}/console/search?search=anchor`)
    await page.getByText('Only a part of the comments was looked at so far. The button “More” goes on.').waitFor()
    expect(partial).toBe(5)
    await page.unroute('**/graphql')
    await page.goto(`${desk.service.url}/console/search?search=anchor+number`)
    await item(page, all[2]!).waitFor()
    expect(await page.getByRole('article').count()).toBe(25)
    await page.getByRole('button', { name: 'More' }).focus()
    await page.keyboard.press('Enter')
    await item(page, all[0]!).waitFor()
    expect(await page.getByText('Only a part').count()).toBe(0)
  })
})
