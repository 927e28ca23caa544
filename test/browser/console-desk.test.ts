import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, expectInView, NARROW, tabTo, WAIT } from '../harness/console.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'

describeInBrowser('The desk in the console', () => {
  const { desk, post, postHeld, stateOf, expectState, item, expectFocus, expectSaid, leaveDiscussion } = openQueue()

  test('rejects with a reason and a message by keyboard, which the author reads', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await desk.visit('/moderation', { view: NARROW })
    await item(page, first).focus()
    await page.keyboard.press('m')
    const dialog = page.getByRole('dialog', { name: 'Reject the comment of Name of reader-1' })
    await dialog.waitFor()
    await expectAccessible(page, 'moderation-reject')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expectFocus(page, first)
    await page.keyboard.press('m')
    await tabTo(dialog.getByRole('radio', { name: 'Spam' }))
    await page.keyboard.press('Space')
    await tabTo(dialog.getByRole('textbox', { name: 'Message' }))
    // These are keys of the queue, too.
    await page.keyboard.type('arrogant jabs')
    await enter(dialog.getByRole('button', { name: 'Reject', exact: true }))
    await dialog.waitFor({ state: 'detached' })
    await expectFocus(page, second)
    await expectState(first, 'rejected')
    const seen = await desk.ok('GET', `/comments/${first.id}`, undefined, await desk.service.as('reader-1'))
    expect(seen.decision).toMatchObject({ action: 'reject', reason: 'spam', message: 'arrogant jabs' })
    expect(await stateOf(second.id)).toBe('pending')
    // It comes back as a line, which says what the author was told. So does the queue.
    await page.keyboard.press('u')
    await item(page, first).getByText('Told to the author: Spam: arrogant jabs').waitFor()
    await expectAccessible(page)
    await page.getByRole('radio', { name: 'Rejected' }).press('Space')
    await item(page, first).getByText('Told to the author: Spam: arrogant jabs').waitFor()
  })

  test('a rejection with neither a reason nor a message says that one is needed', async () => {
    const [first] = (await postHeld(1)) as [Posted]
    const page = await desk.visit('/moderation', { view: NARROW })
    await item(page, first).focus()
    await page.keyboard.press('m')
    const dialog = page.getByRole('dialog')
    const reject = dialog.getByRole('button', { name: 'Reject', exact: true })
    const missing = dialog.getByText('Choose a reason, or write a message.')
    await tabTo(dialog.getByRole('textbox', { name: 'Message' }))
    await page.keyboard.type('  ')
    await enter(reject)
    await missing.waitFor()
    await expectAccessible(page)
    await dialog.getByRole('textbox', { name: 'Message' }).fill('Not here.')
    await enter(reject)
    await dialog.waitFor({ state: 'detached' })
    await expectState(first, 'rejected')
  })

  test('what its author edits after it was selected is not approved with the others, and says so', async () => {
    const [first, second, third] = (await postHeld(3)) as [Posted, Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, third).waitFor()
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await desk.ok(
      'PATCH',
      `/comments/${second.id}`,
      { body: 'hold this advertisement' },
      await desk.service.as('reader-2'),
    )
    await item(page, second).getByText('hold this advertisement').waitFor()
    await page.keyboard.press('Shift+A')
    await expectSaid(page, 'Approved: 2 comments. One was passed over: its author has edited it since.')
    await item(page, second).getByRole('alert').getByText('Its author has edited it since you selected it.').waitFor()
    for (const comment of [first, third]) await expectState(comment, 'approved')
    expect(await stateOf(second.id)).toBe('pending')
    // Selected once more, it was read.
    await item(page, second).focus()
    await page.keyboard.press('x')
    await page.keyboard.press('Shift+A')
    await expectState(second, 'approved')
  })

  test('a judgement counts in every queue at once, before it is sent', async () => {
    const { reportThreshold } = await desk.ok('GET', '/settings')
    await desk.ok('PATCH', '/settings', { reportThreshold: 1 })
    // The report takes it out of view.
    const both = await post('ann', 'A remark')
    await desk.ok('POST', `/comments/${both.id}/report`, { reason: 'spam' }, await desk.service.as('cleo'))
    await desk.ok('PATCH', '/settings', { reportThreshold })
    await post('bob', 'hold one')
    const page = await desk.visit('/moderation')
    const shows = (name: string) => page.getByRole('radio', { name, exact: true }).waitFor({ state: 'attached' })
    await shows('Pending 2')
    await shows('Reported 1')
    await item(page, both).focus()
    await page.keyboard.press('r')
    await shows('Pending 1')
    await shows('Reported')
    expect(await stateOf(both.id)).toBe('pending')
    await page.keyboard.press('u')
    await shows('Pending 2')
    await shows('Reported 1')
  })

  test('rejects all pending comments of a reader, also those that are not in view, and no others', async () => {
    const rude: Posted[] = []
    for (let n = 0; n < 27; n++) rude.push(await post('rude', `hold ${n}`))
    const other = await post('ann', 'hold mine')
    const page = await desk.visit('/moderation')
    await item(page, rude[24]!).waitFor()
    expect(await item(page, rude[26]!).count()).toBe(0)
    await item(page, rude[0]!).focus()
    const rejectAll = async (): Promise<void> => {
      await page.keyboard.press('m')
      await page.getByRole('dialog').getByText('Waiting now: 27').waitFor()
      await tabTo(page.getByRole('checkbox', { name: 'Reject all their pending comments' }))
      await page.keyboard.press('Space')
      await enter(page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }))
      await expectSaid(page, 'Rejected: 27 comments.')
    }
    await rejectAll()
    await item(page, other).waitFor()
    await page.keyboard.press('u')
    await expectFocus(page, rude[0]!)
    expect(await stateOf(rude[0]!.id)).toBe('pending')
    await rejectAll()
    for (const comment of rude) await expectState(comment, 'rejected')
    expect(await stateOf(other.id)).toBe('pending')
  })

  test('bans for a day and rejects all pending comments of the reader; u takes back one after the other', async () => {
    const [first, second] = [await post('lout', 'hold one'), await post('lout', 'hold two')]
    const page = await desk.visit('/moderation')
    const ban = async () => (await desk.ok('GET', `/readers/${first.author.id}`)).ban
    await item(page, second).waitFor()
    await item(page, first).focus()
    await page.keyboard.press('b')
    const dialog = page.getByRole('dialog')
    await enter(dialog.getByRole('button', { name: '1 day' }))
    await dialog.getByRole('radiogroup', { name: 'Their comments' }).getByText('Reject pending').click()
    expect(await dialog.getByText('For good').count()).toBe(1)
    await enter(dialog.getByRole('button', { name: 'Ban', exact: true }))
    await expectSaid(page, 'Rejected: 2 comments.')
    const { until } = await ban()
    expect(Date.parse(until) - Date.now()).toBeLessThanOrEqual(86_400_000)
    await page.keyboard.press('u')
    await item(page, second).waitFor()
    await page.keyboard.press('u')
    await expect.poll(ban, WAIT).toBe(null)
    expect([await stateOf(first.id), await stateOf(second.id)]).toEqual(['pending', 'pending'])
  })

  test('on a phone all choices of a ban are in view', async () => {
    const [first] = (await postHeld(1)) as [Posted]
    const page = await desk.visit('/moderation', { view: NARROW })
    await item(page, first).focus()
    await page.keyboard.press('b')
    const treatments = page.getByRole('dialog').getByRole('radiogroup', { name: 'Their comments' })
    for (const name of ['Keep', 'Reject pending', 'Withhold', 'Reject all'])
      await expectInView(treatments.getByText(name, { exact: true }))
  })

  test('as comments are judged, the next ones come to the end by themselves', async () => {
    const all = await postHeld(30)
    const page = await desk.visit('/moderation')
    await item(page, all[24]!).waitFor()
    expect(await item(page, all[25]!).count()).toBe(0)
    await item(page, all[0]!).focus()
    await page.keyboard.press('r')
    await page.keyboard.press('r')
    await item(page, all[26]!).waitFor()
    await expectFocus(page, all[2]!)
    expect(await page.getByRole('button', { name: /^Show/ }).count()).toBe(0)
  })

  test('s leaves a comment for later, and keys with Ctrl, Alt or Cmd are not those of the queue', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, second).waitFor()
    await item(page, first).focus()
    for (const key of ['Control+a', 'Alt+r', 'Meta+s', 'Control+m']) await page.keyboard.press(key)
    await expectFocus(page, first)
    await page.keyboard.press('s')
    await expectFocus(page, second)
    expect(await page.getByRole('article').count()).toBe(2)
  })

  test('marks in the text what has held it, and the tab says how many comments wait', async () => {
    const comment = await post('ann', '😀 Please hold the <b>tram</b>, and hold on')
    const page = await desk.visit('/moderation')
    await item(page, comment).locator('mark').first().waitFor()
    expect(await item(page, comment).locator('mark').allTextContents()).toContain('hold')
    await item(page, comment).getByText('😀 Please hold the <b>tram</b>, and hold on').waitFor()
    await expect.poll(() => page.title(), WAIT).toBe('(1) Moderation · Engagement Service')
    await post('bob', 'hold two')
    await expect.poll(() => page.title(), WAIT).toBe('(2) Moderation · Engagement Service')
    await expectAccessible(page, 'moderation-marks')
  })

  test('says why comments that are not in view were refused with the others of their reader', async () => {
    const shown: Posted[] = []
    for (let n = 1; n <= 26; n++) shown.push(await post('rude', `hold ${n}`))
    leaveDiscussion()
    const archived = await post('rude', 'hold the last one')
    await desk.ok('POST', `/discussions/${archived.discussionId}/archive`)
    const page = await desk.visit('/moderation')
    await item(page, shown[24]!).waitFor()
    expect(await item(page, archived).count()).toBe(0)
    await item(page, shown[0]!).focus()
    await page.keyboard.press('m')
    await page.getByRole('dialog').getByText('Waiting now: 27').waitFor()
    await page.getByRole('checkbox', { name: 'Reject all their pending comments' }).check()
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }))
    await expectSaid(page, 'Rejected: 26 of 27; 1 that is not in view: ')
    await expectSaid(page, 'archived')
    for (const comment of shown) await expectState(comment, 'rejected')
    await page.close()
    await desk.ok('DELETE', `/discussions/${archived.discussionId}`)
  })
})
