import type { Page, Request } from 'playwright-core'
import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, tabTo, visitConsole, WAIT } from '../harness/console.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'

const isJudgement = (request: Request): boolean => /mutation ModerateComments\b/.test(request.postData() ?? '')
const isQueue = (request: Request): boolean => /query ModerationQueue\b/.test(request.postData() ?? '')

/** Counts the page's requests of one kind. */
function count(page: Page, isCounted: (request: Request) => boolean): () => number {
  let n = 0
  page.on('request', (request) => void (isCounted(request) && n++))
  return () => n
}

describeInBrowser('Judgements in the console', () => {
  const { desk, post, postHeld, stateOf, expectState, item, expectFocus, expectSaid } = openQueue()

  /** Approves a comment while judgements do not reach the service. */
  const approveInVain = async (page: Page, comment: Posted): Promise<void> => {
    await page.route('**/graphql', (route) => (isJudgement(route.request()) ? route.abort() : route.continue()))
    await item(page, comment).focus()
    await page.keyboard.press('a')
    await item(page, comment).waitFor({ state: 'detached' })
  }

  test('u takes back the last judgement, then the one before, and the service hears of neither', async () => {
    const [first, second, third] = (await postHeld(3)) as [Posted, Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, third).waitFor()
    const sent = count(page, isJudgement)
    const expectCount = async (n: number): Promise<void> => {
      await expect.poll(() => page.title(), WAIT).toBe(`(${n}) Moderation · Engagement Service`)
    }
    await expectCount(3)
    await item(page, first).focus()
    await page.keyboard.press('a')
    await page.keyboard.press('r')
    await expectCount(1)
    for (const judged of [first, second]) await item(page, judged).waitFor({ state: 'detached' })
    await expectFocus(page, third)
    await page.keyboard.press('u')
    await expectSaid(page, 'Undone: not rejected.')
    await expectFocus(page, second)
    await expectCount(2)
    await page.keyboard.press('u')
    await expectSaid(page, 'Undone: not approved.')
    await expectFocus(page, first)
    const shown = await page.getByRole('article').evaluateAll((all) => all.map((each) => each.dataset['comment']))
    expect(shown).toEqual([first.id, second.id, third.id])
    await page.keyboard.press('u')
    await expectSaid(page, 'There is nothing to undo.')
    // The third is sent after the others would have been.
    await item(page, third).focus()
    await page.keyboard.press('a')
    await expectCount(2)
    await expectState(third, 'approved')
    await expectCount(2)
    expect(sent()).toBe(1)
    expect([await stateOf(first.id), await stateOf(second.id)]).toEqual(['pending', 'pending'])
  })

  test('a judgement shows while the service does not answer, and is sent once', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, second).waitFor()
    const sent = count(page, isJudgement)
    let answer = (): void => undefined
    const isAllowed = new Promise<void>((resolve) => (answer = resolve))
    await page.route('**/graphql', async (route) => {
      if (isJudgement(route.request())) await isAllowed
      await route.continue()
    })
    await item(page, first).focus()
    await page.keyboard.press('a')
    await item(page, first).waitFor({ state: 'detached' })
    await expect.poll(sent, WAIT).toBe(1)
    // An answer that still has the comment does not bring it back.
    await post('late', 'hold late')
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
    expect(await item(page, first).count()).toBe(0)
    answer()
    await expectState(first, 'approved')
    expect(sent()).toBe(1)
  })

  test('a judgement that was sent cannot become pending again: u brings its line with the other judgement', async () => {
    const [first] = (await postHeld(1)) as [Posted]
    const page = await desk.visit('/moderation')
    await item(page, first).focus()
    await page.keyboard.press('r')
    await expectState(first, 'rejected')
    await page.keyboard.press('u')
    await expectSaid(page, 'cannot wait again')
    await expectFocus(page, first)
    // Keys do not act on a judged comment; its buttons do.
    await page.keyboard.press('a')
    await expectSaid(page, 'You have decided on this comment')
    await enter(item(page, first).getByRole('button', { name: 'Approve instead' }))
    await item(page, first).waitFor({ state: 'detached' })
    await expectState(first, 'approved')
    await page.keyboard.press('u')
    await expectState(first, 'rejected')
  })

  test.each(['closing the page', 'going to another page', 'signing out'])('%s sends what waits', async (how) => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await visitConsole(desk.browser, desk.service, '/moderation')
    await item(page, second).waitFor()
    await item(page, first).focus()
    await page.keyboard.press('a')
    await page.keyboard.press('r')
    if (how === 'closing the page') {
      await page.goto('about:blank')
    } else if (how === 'signing out') {
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
    } else {
      await page.getByRole('link', { name: 'Readers' }).click()
    }
    // Sooner than after the grace period.
    await expect.poll(() => stateOf(first.id), { timeout: 4_000, interval: 50 }).toBe('approved')
    await expect.poll(() => stateOf(second.id), { timeout: 4_000, interval: 50 }).toBe('rejected')
  })

  test('a judgement that cannot be sent brings the comment back, and says why', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, second).waitFor()
    await approveInVain(page, first)
    await item(page, first).getByRole('alert').getByText('cannot be reached').waitFor()
    await expectSaid(page, 'Nothing was done.')
    await expectFocus(page, second)
    await page.unroute('**/graphql')
    await item(page, first).focus()
    await page.keyboard.press('a')
    await expectState(first, 'approved')
  })

  test('a judgement that is refused after its page was left brings the comment back there', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, second).waitFor()
    await approveInVain(page, first)
    const refused = page.waitForEvent('requestfailed', { predicate: isJudgement })
    await item(page, second).getByRole('link').first().click()
    await refused
    await page.goBack()
    await item(page, second).waitFor()
    await page.clock.setSystemTime(Date.now() + 60_000)
    const third = await post('third', 'hold third')
    await page.getByRole('button', { name: 'Show 2 new' }).click()
    await item(page, first).waitFor()
    await item(page, third).waitFor()
    expect(await stateOf(first.id)).toBe('pending')
  })

  test('with the switch a judgement is sent at once, also after the page was opened again', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await visitConsole(desk.browser, desk.service, '/moderation')
    await item(page, second).waitFor()
    await tabTo(page.getByRole('switch', { name: 'Send judgements at once' }))
    await page.keyboard.press('Space')
    await page.reload()
    await item(page, first).focus()
    const asked = page.waitForRequest(isJudgement, { timeout: 4_000 })
    await page.keyboard.press('a')
    await asked
    await expectState(first, 'approved')
  })

  test('more than ten are judged together only after a question, and are taken back together', async () => {
    const all = await postHeld(12)
    const page = await desk.visit('/moderation', { view: NARROW })
    await item(page, all[11]!).waitFor()
    const sent = count(page, isJudgement)
    await tabTo(page.getByRole('checkbox', { name: 'Select all' }))
    await page.keyboard.press('Space')
    await enter(page.getByRole('button', { name: 'Reject 12' }))
    await page.getByRole('dialog', { name: 'Reject 12 comments?' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.getByRole('article').count()).toBe(12)
    await page.keyboard.press('Shift+R')
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Reject' }))
    await expectSaid(page, 'Rejected: 12 comments.')
    expect(await page.getByRole('article').count()).toBe(0)
    await page.keyboard.press('u')
    await expect.poll(() => page.getByRole('article').count(), WAIT).toBe(12)
    await expectFocus(page, all[0]!)
    // Ten need no question.
    for (const comment of all.slice(0, 10)) {
      await item(page, comment).focus()
      await page.keyboard.press('x')
    }
    await page.keyboard.press('Shift+A')
    await expectSaid(page, 'Approved: 10 comments.')
    for (const comment of all.slice(0, 10)) await expectState(comment, 'approved')
    expect(sent()).toBe(1)
    expect(await stateOf(all[11]!.id)).toBe('pending')
  })

  test('judged comments leave the page, so that a late judgement asks no more of it than an early one', async () => {
    const all = await postHeld(90)
    const page = await desk.visit('/moderation')
    await item(page, all[24]!).waitFor()
    const asked = count(page, isQueue)
    const sizes: number[] = []
    await page.keyboard.press('j')
    for (const [n, comment] of all.entries()) {
      await expectFocus(page, comment)
      await page.keyboard.press(n % 2 === 0 ? 'a' : 'r')
      sizes.push(await page.getByRole('article').count())
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(60)
    for (const [n, comment] of all.entries()) await expectState(comment, n % 2 === 0 ? 'approved' : 'rejected')
    // The queue is empty: a change asks for one page, not for the four that there were. Another
    // change or a poll may fall into the same time.
    await page.getByText('Nothing is waiting').waitFor()
    const before = asked()
    await post('late', 'hold late')
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
    expect(asked() - before).toBeLessThanOrEqual(2)
  })
})
