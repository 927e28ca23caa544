import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, visitConsole, WAIT } from '../harness/console.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'

const PHONE = { width: 390, theme: 'dark' } as const

describeInBrowser('The context of a comment in the console', () => {
  const { desk, post, postHeld, stateOf, expectState, item, expectFocus } = openQueue()

  const pane = (page: Page) => page.getByRole('region', { name: 'Context', exact: true })
  /** Counts the requests for a context. */
  const countAsked = (page: Page): (() => number) => {
    let n = 0
    page.on('request', (request) => void (/query CommentContext\b/.test(request.postData() ?? '') && n++))
    return () => n
  }

  test('shows the thread, the reader and the notes; follows the selection once it rests', async () => {
    const parent = await post('eve', 'Where is the ferry?')
    const beside = await post('fay', 'It is late again.', parent.id)
    const reply = await post('gus', 'hold the ferry, I say', parent.id)
    const more = await Promise.all([1, 2, 3].map((n) => post(`other-${n}`, `hold number ${n}`)))
    await post('gus', 'Something else by me.')
    const rejected = await post('gus', 'hold what is rude')
    await desk.ok('POST', `/comments/${rejected.id}/reject`)
    const page = await desk.visit('/moderation')
    await item(page, more[2]!).waitFor()
    const asked = countAsked(page)
    await item(page, reply).focus()
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    expect(asked()).toBe(0)
    await page.keyboard.press('c')
    for (const words of ['Where is the ferry?', 'It is late again.', 'Something else by me.', 'hold what is rude'])
      await pane(page).getByText(words).first().waitFor()
    await pane(page).getByText('rejected', { exact: true }).waitFor()
    await expectFocus(page, reply)
    expect(beside.id).not.toBe(reply.id)
    const before = asked()
    for (const key of ['j', 'j', 'j']) await page.keyboard.press(key)
    await pane(page).getByText('This is their only comment.').waitFor()
    expect(asked() - before).toBe(1)
    await expectAccessible(page, 'moderation-context')
    await page.keyboard.press('c')
    await pane(page).waitFor({ state: 'detached' })
  })

  test('shows the earlier texts of an edited comment, also those that no reader saw', async () => {
    const held = await post('hal', 'hold the first')
    for (const body of ['hold the second', 'hold the third'])
      await desk.service.ok('PATCH', `/comments/${held.id}`, { body }, await desk.service.as('hal'))
    const page = await desk.visit('/moderation')
    await item(page, held).focus()
    await page.keyboard.press('c')
    const texts = pane(page).getByRole('list', { name: 'Earlier texts' }).getByRole('listitem')
    await texts.first().waitFor()
    expect(await texts.count()).toBe(2)
    expect(await texts.first().innerText()).toContain('hold the second')
    expect(await texts.last().innerText()).toContain('hold the first')
    await expectAccessible(page, 'moderation-earlier-texts')
  })

  test('Enter goes into it, where keys still judge; notes come and go; Escape leads back', async () => {
    const [first, second] = (await postHeld(2)) as [Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, first).focus()
    await page.keyboard.press('Enter')
    await pane(page).getByText('Notes', { exact: true }).waitFor()
    const onReader = pane(page).getByRole('textbox', { name: 'A note on the reader' })
    await onReader.focus()
    // These are keys of the queue, too.
    await page.keyboard.type('arrogant jabs')
    await enter(pane(page).getByRole('button', { name: 'Add the note' }).first())
    await pane(page).getByRole('list', { name: 'Notes on the reader' }).getByText('arrogant jabs').waitFor()
    const notes = async () =>
      (await desk.ok('GET', `/readers/${first.author.id}/notes`)).data.map(({ text }: { text: string }) => text)
    expect(await notes()).toEqual(['arrogant jabs'])
    await expect.poll(() => onReader.inputValue(), WAIT).toBe('')
    await pane(page).getByRole('button', { name: 'Delete the note: arrogant jabs' }).press('Enter')
    await expect.poll(notes, WAIT).toEqual([])
    await expect.poll(() => onReader.evaluate((element) => element === document.activeElement), WAIT).toBe(true)
    await page.keyboard.press('Escape')
    await pane(page).waitFor({ state: 'detached' })
    await expectFocus(page, first)
    await page.keyboard.press('Enter')
    await pane(page).waitFor()
    await page.keyboard.press('r')
    await expectFocus(page, second)
    await expectState(first, 'rejected')
    expect(await stateOf(second.id)).toBe('pending')
  })

  test('shows who decided on the comment and on others of its reader, why, and their bans', async () => {
    const [held, other] = [await post('ivy', 'hold this one'), await post('ivy', 'hold that one')]
    await desk.ok('POST', `/comments/${other.id}/reject`, { reason: 'off_topic', message: 'Stay with the bridge.' })
    await desk.ok('POST', `/comments/${held.id}/reject`, { reason: 'spam' })
    await desk.ok('POST', `/comments/${held.id}/approve`)
    await desk.ok('POST', `/readers/${held.author.id}/ban`, { reason: 'Too many' })
    await desk.ok('POST', `/readers/${held.author.id}/unban`)
    // Things of other kinds do not push decisions out of the list.
    for (let n = 1; n <= 25; n++) await desk.ok('POST', `/readers/${held.author.id}/notes`, { text: `Note ${n}` })
    await desk.ok('POST', `/comments/${held.id}/report`, { reason: 'abuse' }, await desk.service.as('jon'))
    const page = await desk.visit('/moderation?status=reported')
    await item(page, held).focus()
    await page.keyboard.press('c')
    const acts = (name: string) => pane(page).getByRole('list', { name, exact: true }).getByRole('listitem')
    await acts('On this comment').nth(1).waitFor()
    expect(await acts('On this comment').allTextContents()).toEqual([
      expect.stringContaining('approved'),
      expect.stringMatching(/rejected.*Spam/),
    ])
    expect(await acts('On their other comments').allTextContents()).toEqual([
      expect.stringMatching(/rejected.*Off topic: Stay with the bridge\..*hold that one/),
    ])
    expect(await acts('Bans').allTextContents()).toEqual([
      expect.stringContaining('ended the ban'),
      expect.stringMatching(/banned them.*Too many/),
    ])
    await enter(pane(page).getByRole('link', { name: 'All that happened around them' }))
    await page.getByRole('tabpanel', { name: 'Timeline' }).getByText('Note 25').waitFor()
    await page.goBack()
    await acts('Bans').first().waitFor()
    await expectAccessible(page, 'moderation-decisions')
  })

  test('on a phone it covers the list, and Escape leads back to the comment', async () => {
    const [first] = (await postHeld(2)) as [Posted, Posted]
    const page = await desk.visit('/moderation', { view: PHONE })
    await item(page, first).focus()
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog', { name: 'Context' })
    await dialog.getByText('Notes', { exact: true }).waitFor()
    await expectAccessible(page, 'moderation-context-phone')
    await page.setViewportSize({ width: 390, height: 800 })
    await dialog.getByText('Notes', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expectFocus(page, first)
  })

  test('back from a discussion, place, focus and judged lines are as they were', async () => {
    const all = await postHeld(12)
    const page = await visitConsole(desk.browser, desk.service, '/moderation')
    await item(page, all[11]!).waitFor()
    await desk.ok('POST', `/comments/${all[2]!.id}/reject`)
    await item(page, all[2]!).getByText('Rejected meanwhile').waitFor()
    await item(page, all[0]!).focus()
    await page.keyboard.press('a')
    await item(page, all[9]!).focus()
    await item(page, all[9]!).scrollIntoViewIfNeeded()
    const place = await item(page, all[9]!).boundingBox()
    await page.keyboard.press('o')
    await page.waitForURL(`**/console/discussions/${all[9]!.discussionId}`)
    await page.getByRole('heading', { level: 1, name: 'The bridge' }).waitFor()
    await expectState(all[0]!, 'approved')
    await page.goBack()
    await item(page, all[2]!).getByText('Rejected meanwhile').waitFor()
    await expectFocus(page, all[9]!)
    await expect
      .poll(async () => Math.abs(((await item(page, all[9]!).boundingBox())?.y ?? NaN) - (place?.y ?? NaN)), WAIT)
      .toBeLessThan(60)
    expect(await page.getByRole('article').count()).toBe(11)
    await page.getByRole('link', { name: 'Moderation' }).click()
  })
})
