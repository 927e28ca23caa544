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
    await item(theirs, third).waitFor()
    await item(mine, first).focus()
    await works(theirs, first).waitFor()
    await expectAccessible(theirs, 'moderation-claimed')
    await item(theirs, first).focus()
    for (const key of ['a', 'r', 'x']) {
      await theirs.keyboard.press(key)
      await expectSaid(theirs, 'works on this comment. Press s for the next one.')
    }
    expect(await stateOf(first.id)).toBe('pending')
    await theirs.keyboard.press('s')
    await expectFocus(theirs, second)
    await works(mine, second, 'The moderator works on this comment.').waitFor()
    // It is theirs until the judgement is sent, and goes on to the one that nobody is at.
    await mine.keyboard.press('a')
    await expectFocus(mine, third)
    await works(theirs, third).waitFor()
    expect(await works(theirs, first).count()).toBe(1)
    await mine.keyboard.press('u')
    await expectFocus(mine, first)
    await free(theirs, third)
    await mine.keyboard.press('j')
    await mine.keyboard.press('j')
    await works(theirs, third).waitFor()
    await free(theirs, first)
    await theirs.close()
    await free(mine, second)
  })

  test('all of those selected leaves out what a colleague is at, until one decides anyway', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const mine = await desk.visit('/moderation')
    const theirs = await desk.visit('/moderation', { admin: colleague })
    await item(theirs, second).waitFor()
    await item(mine, first).focus()
    await works(theirs, first).waitFor()
    await theirs.getByRole('checkbox', { name: 'Select all' }).check()
    await theirs.getByRole('button', { name: 'Approve 1' }).click()
    await expectState(second, 'approved')
    expect(await stateOf(first.id)).toBe('pending')
    await item(theirs, first).getByRole('button', { name: 'Decide anyway' }).click()
    await expectFocus(theirs, first)
    await theirs.keyboard.press('r')
    await expectState(first, 'rejected')
    await item(mine, first).getByText('Rejected meanwhile').waitFor()
  })

  test('a moderator who goes to another page gives the comment back; one alone is told of nobody', async () => {
    const [first] = (await postHeld(1)) as [Posted]
    const mine = await desk.visit('/moderation')
    const theirs = await desk.visit('/moderation', { admin: colleague })
    await item(theirs, first).focus()
    await works(mine, first).waitFor()
    await theirs.getByRole('link', { name: 'Readers' }).first().click()
    await free(mine, first)
    await theirs.close()
    await item(mine, first).focus()
    // Long enough for a claim of one's own to come back.
    await mine.waitForResponse((answer) => /claimComments/.test(answer.request().postData() ?? ''))
    await expect.poll(() => works(mine, first).count(), WAIT).toBe(0)
    await mine.keyboard.press('a')
    await expectState(first, 'approved')
  })

  test('an undo gives claims back, and so does a sign-out', async () => {
    const rude = [await post('rude', 'hold one'), await post('rude', 'hold two')] as const
    const mine = await desk.visit('/moderation')
    const theirs = await desk.visit('/moderation', { admin: colleague })
    await item(theirs, rude[0]).focus()
    await theirs.keyboard.press('m')
    const dialog = theirs.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: 'Reject all their pending comments' }).check()
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click()
    for (const comment of rude) await works(mine, comment).waitFor()
    await theirs.keyboard.press('u')
    await expectFocus(theirs, rude[0])
    await free(mine, rude[1])
    await works(mine, rude[0]).waitFor()
    await theirs.getByRole('button', { name: 'Account' }).click()
    await theirs.getByRole('menuitem', { name: 'Sign out' }).click()
    await free(mine, rude[0])
    expect([await stateOf(rude[0].id), await stateOf(rude[1].id)]).toEqual(['pending', 'pending'])
  })
})
