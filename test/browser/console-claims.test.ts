import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { expectAccessible, NARROW, WAIT } from '../harness/console.ts'
import { addMember, type TestMember } from '../harness/members.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'

describeInBrowser('Two moderators in the console', () => {
  const { desk, post, postHeld, expectState, stateOf, item, expectFocus, expectSaid } = openQueue()
  let colleague: TestMember
  beforeAll(async () => {
    colleague = await addMember(desk.service, desk.service, 'moderator')
  })

  const works = (page: Page, comment: Posted, name: string | RegExp = /works on this comment/) =>
    item(page, comment).getByText(name)
  const free = (page: Page, comment: Posted) => works(page, comment).waitFor({ state: 'detached' })

  test('a comment that one is at is left to them: keys say so, and s and the next judgement skip it', async () => {
    const [first, second, third] = (await postHeld(3)) as [Posted, Posted, Posted]
    const mine = await desk.visit('/moderation')
    const theirs = await desk.visit('/moderation', { admin: colleague, view: NARROW })
    await item(theirs.page, third).waitFor()
    await item(mine.page, first).focus()
    await works(theirs.page, first).waitFor()
    await expectAccessible(theirs.page, 'moderation-claimed')
    await item(theirs.page, first).focus()
    for (const key of ['a', 'r', 'x']) {
      await theirs.page.keyboard.press(key)
      await expectSaid(theirs.page, 'works on this comment. Press s for the next one.')
    }
    expect(await stateOf(first.id)).toBe('pending')
    await theirs.page.keyboard.press('s')
    await expectFocus(theirs.page, second)
    await works(mine.page, second, 'The moderator works on this comment.').waitFor()
    // It is theirs until the judgement is sent, and goes on to the one that nobody is at.
    await mine.page.keyboard.press('a')
    await expectFocus(mine.page, third)
    await works(theirs.page, third).waitFor()
    expect(await works(theirs.page, first).count()).toBe(1)
    await mine.page.keyboard.press('u')
    await expectFocus(mine.page, first)
    await free(theirs.page, third)
    await mine.page.keyboard.press('j')
    await mine.page.keyboard.press('j')
    await works(theirs.page, third).waitFor()
    await free(theirs.page, first)
    await theirs.close()
    await free(mine.page, second)
    expect([mine.complaints, theirs.complaints]).toEqual([[], []])
    await mine.close()
  })

  test('all of those selected leaves out what a colleague is at, until one decides anyway', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const mine = await desk.visit('/moderation')
    const theirs = await desk.visit('/moderation', { admin: colleague })
    await item(theirs.page, second).waitFor()
    await item(mine.page, first).focus()
    await works(theirs.page, first).waitFor()
    await theirs.page.getByRole('checkbox', { name: 'Select all' }).check()
    await theirs.page.getByRole('button', { name: 'Approve 1' }).click()
    await expectState(second, 'approved')
    expect(await stateOf(first.id)).toBe('pending')
    await item(theirs.page, first).getByRole('button', { name: 'Decide anyway' }).click()
    await expectFocus(theirs.page, first)
    await theirs.page.keyboard.press('r')
    await expectState(first, 'rejected')
    await item(mine.page, first).getByText('Rejected meanwhile').waitFor()
    await theirs.close()
    await mine.close()
  })

  test('a moderator who goes to another page gives the comment back; one alone is told of nobody', async () => {
    const [first] = (await postHeld(1)) as [Posted]
    const mine = await desk.visit('/moderation')
    const theirs = await desk.visit('/moderation', { admin: colleague })
    await item(theirs.page, first).focus()
    await works(mine.page, first).waitFor()
    await theirs.page.getByRole('link', { name: 'Readers' }).first().click()
    await free(mine.page, first)
    await theirs.close()
    await item(mine.page, first).focus()
    // Long enough for a claim of one's own to come back.
    await mine.page.waitForResponse((answer) => /claimComments/.test(answer.request().postData() ?? ''))
    await expect.poll(() => works(mine.page, first).count(), WAIT).toBe(0)
    await mine.page.keyboard.press('a')
    await expectState(first, 'approved')
    await mine.close()
  })

  test('an undo gives claims back, and so does a sign-out', async () => {
    const rude = [await post('rude', 'hold one'), await post('rude', 'hold two')] as const
    const mine = await desk.visit('/moderation')
    const theirs = await desk.visit('/moderation', { admin: colleague })
    await item(theirs.page, rude[0]).focus()
    await theirs.page.keyboard.press('m')
    const dialog = theirs.page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: 'Reject all their pending comments' }).check()
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click()
    for (const comment of rude) await works(mine.page, comment).waitFor()
    await theirs.page.keyboard.press('u')
    await expectFocus(theirs.page, rude[0])
    await free(mine.page, rude[1])
    await works(mine.page, rude[0]).waitFor()
    await theirs.page.getByRole('button', { name: 'Account' }).click()
    await theirs.page.getByRole('menuitem', { name: 'Sign out' }).click()
    await free(mine.page, rude[0])
    expect([await stateOf(rude[0].id), await stateOf(rude[1].id)]).toEqual(['pending', 'pending'])
    await mine.close()
    await theirs.close()
  })
})
