import type { Request } from 'playwright-core'
import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, tabTo, visitConsole, WAIT } from '../harness/console.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'
import { startProxy } from '../harness/proxy.ts'

describeInBrowser('Moderation in the console', () => {
  const queue = openQueue()
  const { desk, post, postHeld, stateOf, item, expectFocus, expectSaid } = queue
  const expectState = (id: string, state: string): Promise<void> => queue.expectState({ id }, state)

  test('opens on the reported comments where nothing else waits, and stays where somebody chooses', async () => {
    const reported = await post('uma', 'A claim about the bridge.')
    await desk.ok('POST', `/comments/${reported.id}/report`, { reason: 'spam' }, await desk.service.as('bob'))
    const counts = async () => (({ pending, reported: n }) => [pending, n])(await desk.ok('GET', '/overview'))
    await expect.poll(counts, WAIT).toEqual([0, 1])
    const page = await desk.visit('/moderation')
    await item(page, reported).waitFor()
    expect(new URL(page.url()).search).toBe('?status=reported')
    await page.getByRole('radio', { name: 'Pending' }).press('Space')
    await page.getByText('Nothing is waiting').waitFor()
    expect(new URL(page.url()).search).toBe('')
    await enter(page.getByRole('link', { name: 'Unreviewed' }))
    await expect.poll(() => new URL(page.url()).search, WAIT).toBe('?status=unreviewed')
  })

  test('by keyboard alone: move, approve, reject, pin, select and judge together', async () => {
    const [first, second, third, fourth, fifth] = (await postHeld(5)) as [Posted, Posted, Posted, Posted, Posted]
    const page = await desk.visit('/moderation')
    await item(page, fifth).waitFor()

    await page.keyboard.press('j')
    await expectFocus(page, first)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('k')
    await expectFocus(page, first)
    await page.keyboard.press('a')
    await expectFocus(page, second)
    await expectSaid(page, 'Approved.')
    await item(page, first).waitFor({ state: 'detached' })
    expect(await item(page, second).evaluate((element) => getComputedStyle(element).outlineStyle)).toBe('solid')
    await page.keyboard.press('p')
    await expectSaid(page, 'Only an approved comment can be pinned')
    await page.keyboard.press('r')
    await expectFocus(page, third)
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('Shift+A')
    await expectFocus(page, fifth)
    await expectSaid(page, 'Approved: 2 comments.')
    await expectState(first.id, 'approved')
    await expectState(second.id, 'rejected')
    await expectState(third.id, 'approved')
    await expectState(fourth.id, 'approved')
    await page.keyboard.press('o')
    await page.waitForURL(`**/console/discussions/${fifth.discussionId}`)
  })

  test('at the end of a batch the focus moves to the next page, which is loaded ahead', async () => {
    const all = await postHeld(30)
    const page = await desk.visit('/moderation')
    await item(page, all[24]!).waitFor()
    expect(await page.getByRole('article').count()).toBe(25)
    await page.keyboard.press('j')
    // Faster than the service answers, like a moderator who approves one after the other.
    for (const comment of all) {
      await expectFocus(page, comment)
      await page.keyboard.press('a')
    }
    for (const { id } of all) await expectState(id, 'approved')
    await expect.poll(() => page.getByRole('article').count(), WAIT).toBe(0)
  })

  test('the focus goes to a comment that arrives after the last one was judged', async () => {
    const first = await post('ann', 'hold one')
    const page = await desk.visit('/moderation')
    await item(page, first).focus()
    await page.keyboard.press('a')
    await item(page, first).waitFor({ state: 'detached' })
    const second = await post('bob', 'hold two')
    await enter(page.getByRole('button', { name: 'Show 1 new' }))
    await expectFocus(page, second)
  })

  test('a dialog returns the focus to the comment that it came from', async () => {
    const comment = await post('to-ban', 'hold this')
    const page = await desk.visit('/moderation')
    await item(page, comment).getByText('First seen').waitFor()
    const dialog = page.getByRole('dialog')
    await page.keyboard.press('j')
    for (const key of ['b', '?']) {
      await page.keyboard.press(key)
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await expectFocus(page, comment)
    }
    await page.keyboard.press('b')
    await enter(dialog.getByRole('button', { name: 'Ban', exact: true }))
    await dialog.waitFor({ state: 'detached' })
    await expectFocus(page, comment)
  })

  test('bans a reader for a term with a reason, in a dialog where shortcuts are off, and undoes it', async () => {
    const comment = await post('rude', 'hold this')
    const page = await desk.visit('/moderation')
    await item(page, comment).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('b')
    await tabTo(page.getByRole('textbox', { name: 'Reason' }))
    await page.keyboard.type('arrogant jabber')
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Ban', exact: true }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expectSaid(page, 'Banned: Name of rude.')
    const ban = async () => (await desk.ok('GET', `/readers/${comment.author.id}`)).ban
    expect(await ban()).toMatchObject({ reason: 'arrogant jabber', shadow: false, until: expect.any(String) })
    await item(page, comment).getByText('banned', { exact: true }).waitFor()
    expect(await stateOf(comment.id)).toBe('pending')
    await page.keyboard.press('u')
    await expect.poll(ban, WAIT).toBe(null)
  })

  test("shows another moderator's recent ban before replacing it, and undo restores that ban", async () => {
    const comment = await post('banned-twice', 'hold this')
    const page = await desk.visit('/moderation')
    await item(page, comment).getByText('First seen').waitFor()
    await desk.ok('POST', `/readers/${comment.author.id}/ban`, { reason: 'For good reasons', shadow: true })
    await item(page, comment).getByRole('button', { name: 'Ban' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'End the ban' }).waitFor()
    expect(await dialog.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('For good reasons')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('For others')
    await dialog.getByRole('checkbox', { name: 'In shadow' }).uncheck()
    await dialog.getByRole('button', { name: 'Ban', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const ban = async () => (await desk.ok('GET', `/readers/${comment.author.id}`)).ban
    expect(await ban()).toMatchObject({ reason: 'For others', shadow: false })
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(ban, WAIT).toMatchObject({ until: null, reason: 'For good reasons', shadow: true })
  })

  test('while a moderator reads, new comments wait until requested, and comments judged by others are marked', async () => {
    const first = await post('ann', 'hold one')
    const second = await post('bob', 'hold two')
    const page = await desk.visit('/moderation')
    await item(page, second).waitFor()
    const third = await post('cyd', 'hold three')
    await desk.ok('POST', `/comments/${first.id}/reject`)
    await item(page, first).getByText('Rejected meanwhile').waitFor()
    const show = page.getByRole('button', { name: 'Show 1 new' })
    await show.waitFor()
    expect(await item(page, third).count()).toBe(0)
    await enter(show)
    await item(page, third).getByText('hold three').waitFor()
    await expectFocus(page, third)
    await enter(page.getByRole('button', { name: 'Clear 1 done' }))
    await item(page, first).waitFor({ state: 'detached' })
    expect(await page.getByRole('article').count()).toBe(2)
  })

  test('a held comment is announced within a second, and comments being read or selected stay in place', async () => {
    const all = await postHeld(12)
    const page = await desk.visit('/moderation')
    const last = item(page, all[11]!)
    await last.waitFor()
    await page.getByText('Pending').getByText('12').waitFor()
    await last.focus()
    await page.keyboard.press('x')
    await last.scrollIntoViewIfNeeded()
    const place = await last.boundingBox()
    await post('late', 'hold late')
    // Twice the promised time, because the machine runs everything at once.
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor({ timeout: 2000 })
    await page.getByText('Pending').getByText('13').waitFor({ timeout: 2000 })
    expect(await last.boundingBox()).toEqual(place)
    await desk.ok('POST', `/comments/${all[0]!.id}/reject`)
    await item(page, all[0]!).getByText('Rejected meanwhile').waitFor({ timeout: 2000 })
    const approveOne = page.getByRole('button', { name: 'Approve 1', exact: true })
    expect(await approveOne.count()).toBe(1)
    await expectFocus(page, all[11]!)
    await page.keyboard.press('Escape')
    await approveOne.waitFor({ state: 'detached' })
    await expectFocus(page, all[11]!)
  })

  test('says that the service is down, and shows missed comments once it is back', async () => {
    const first = await post('ann', 'hold one')
    const proxy = await startProxy({ host: '127.0.0.1', port: Number(new URL(desk.service.url).port) })
    const throughProxy = { url: `http://127.0.0.1:${proxy.port}`, admin: desk.service.admin }
    const page = await visitConsole(desk.browser, throughProxy, '/moderation')
    await item(page, first).waitFor()
    await proxy.down()
    await page.getByRole('alert').waitFor()
    expect(await item(page, first).isVisible()).toBe(true)
    await post('bob', 'hold two')
    await proxy.up()
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.close()
    await proxy.close()
  })

  test('of several comments judged together, the refused one shows the reason', async () => {
    const fine = await post('ann', 'hold one')
    queue.leaveDiscussion()
    const stuck = await post('bob', 'hold two')
    await desk.ok('POST', `/discussions/${stuck.discussionId}/archive`)
    const page = await desk.visit('/moderation')
    await item(page, stuck).waitFor()
    await tabTo(page.getByRole('checkbox', { name: 'Select all' }))
    await page.keyboard.press('Space')
    await enter(page.getByRole('button', { name: 'Reject 2' }))
    await expectState(fine.id, 'rejected')
    await item(page, stuck).getByRole('alert').waitFor()
    expect(await item(page, stuck).getByRole('alert').textContent()).toContain('archived')
    await expectSaid(page, 'Rejected: 1 of 2; one was refused')
  })

  test('offline, a judgement says that the service cannot be reached, not that it was refused', async () => {
    const comment = await post('ann', 'hold one')
    const page = await desk.visit('/moderation')
    await item(page, comment).waitFor()
    await item(page, comment).focus()
    await page.context().setOffline(true)
    await page.keyboard.press('r')
    await expectSaid(page, 'Nothing was done. The service cannot be reached.')
    await page.context().setOffline(false)
    await item(page, comment).focus()
    await page.keyboard.press('r')
    await expectState(comment.id, 'rejected')
  })

  test('a comment that its author has edited since it came into view is shown again, not approved unread', async () => {
    const edited = await post('ann', 'hold one')
    const page = await desk.visit('/moderation')
    await item(page, edited).getByText('hold one').waitFor()
    // Until the test ends the block, the page gets the old state of the queue.
    const isQueue = (request: Request) => /query ModerationQueue\b/.test(request.postData() ?? '')
    const answered = page.waitForResponse((response) => isQueue(response.request()))
    await post('bob', 'hold another')
    const body = await (await answered).text()
    await page.route('**/graphql', (route) =>
      isQueue(route.request()) ? route.fulfill({ body, contentType: 'application/json' }) : route.continue(),
    )
    await desk.ok('PATCH', `/comments/${edited.id}`, { body: 'hold two' }, await desk.service.as('ann'))
    await item(page, edited).focus()
    await page.keyboard.press('a')
    await item(page, edited).getByRole('alert').getByText('The comment was edited').waitFor()
    await expectState(edited.id, 'pending')
    await page.unroute('**/graphql')
    // The next message of the queue brings it.
    await post('cyd', 'hold a third')
    await item(page, edited).getByText('hold two').waitFor()
    await item(page, edited).focus()
    await page.keyboard.press('a')
    await expectState(edited.id, 'approved')
  })

  test('a reported comment shows its reports, its parent, its page and its author’s history; keeping it answers the reports', async () => {
    await desk.ok('PATCH', '/settings', { badges: [{ id: 'paid', label: 'Subscriber', tone: 'success' }] })
    const parent = await post('eve', 'The bridge is open.')
    const reply = await post('fay', 'Buy now!', parent.id)
    await desk.ok('PUT', `/readers/${reply.author.id}/badges`, { badges: ['paid'] })
    const report = { reason: 'spam', note: 'Sells things' }
    await desk.ok('POST', `/comments/${reply.id}/report`, report, await desk.service.as('cyd', { name: 'Cyd' }))
    const page = await desk.visit('/moderation?status=reported')
    const one = item(page, reply)
    await one.getByText('Sells things').waitFor()
    for (const words of [
      'Spam',
      'Cyd',
      'one report',
      'replies to Name of eve',
      'The bridge is open.',
      '1 approved',
      'Subscriber',
    ]) {
      await one.getByText(words).first().waitFor()
    }
    expect(await one.getByRole('link', { name: 'The bridge', exact: true }).getAttribute('href')).toContain(
      reply.discussionId,
    )
    expect(await one.getByRole('link', { name: /in a new tab/ }).getAttribute('href')).toBe(
      `https://news.example.com/bridge#comment-${reply.id}`,
    )
    await enter(one.getByRole('button', { name: 'Keep' }))
    await expectSaid(page, 'Kept.')
    await expect.poll(async () => (await desk.ok('GET', '/moderation/queue?status=reported')).data, WAIT).toEqual([])
    expect(await stateOf(reply.id)).toBe('approved')
  })

  test('a mention shows the name of its reader, in all places, and the marks stay at their words', async () => {
    const first = await post('vera', 'The bridge opens at six.')
    const name = '@Name of vera'
    const held = await post('walt', `[@](reader:${first.author.id}) must hold a ticket.`)
    const answer = await post('xena', `Yes, [@](reader:${first.author.id}) must.`)
    const page = await desk.visit('/moderation')
    const shows = async (path: string, ...texts: readonly string[]): Promise<void> => {
      if (path !== '') await page.goto(`${desk.service.url}/console${path}`)
      for (const text of texts) await page.getByText(text).first().waitFor()
      expect(await page.locator('body').innerText()).not.toContain('reader:')
    }
    await shows('', `${name} must hold a ticket.`)
    expect(await item(page, held).locator('mark').innerText()).toBe('hold')
    await item(page, held).getByRole('button', { name: 'Context' }).click()
    await shows('', `${name} must hold a ticket.`)
    await shows(`/discussions/${first.discussionId}`, `Yes, ${name} must.`)
    await shows(`/readers/${answer.author.id}`, `Yes, ${name} must.`)
    await shows('/search?search=must', `Yes, ${name} must.`)
  })

  test('an empty queue shows nothing above its message', async () => {
    const { admin } = await desk.service.addTenant('idle')
    const page = await desk.visit('/moderation', { admin })
    await page.getByText('Nothing is waiting').waitFor()
    expect(await page.getByRole('toolbar').count()).toBe(0)
  })

  test('shortcuts can be switched off, and stay off', async () => {
    const comment = await post('ann', 'hold this')
    // The switch is kept in the browser's storage, which the other tests share.
    const page = await visitConsole(desk.browser, desk.service, '/moderation')
    await item(page, comment).waitFor()
    await page.keyboard.press('?')
    await tabTo(page.getByRole('switch', { name: 'Use these keys' }))
    await page.keyboard.press('Space')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.reload()
    await item(page, comment).focus()
    await page.keyboard.press('r')
    // Had the key acted, the comment would have been rejected first, and this button would be
    // gone.
    await enter(item(page, comment).getByRole('button', { name: 'Approve' }))
    await expectState(comment.id, 'approved')
    const { data } = await desk.ok('GET', '/audit-log?action=comment.reject')
    expect(data.map(({ targetId }: { targetId: string }) => targetId)).not.toContain(comment.id)
  })

  /** A queue as on a usual morning, with texts of hostile readers. */
  async function fill(): Promise<{ reply: Posted; other: Posted; last: Posted }> {
    // Marked, because the same reader's equal text within a day would be held.
    const mark = queue.mark()
    const parent = await post('ann', `When will the bridge be open again? My bus (${mark}) goes a long way round.`)
    const reply = await post(
      'bob',
      'They hold the works up on purpose, as everybody knows. Ask who owns the ferry!',
      parent.id,
    )
    const links = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `https://${name}.example.com/offer`)
    await post('cyd', `Six offers of today: ${links.join(' ')}`)
    await post('eve', `hold ${'w'.repeat(300)} \u202Ereversed`)
    return {
      reply,
      other: await post('fay', 'I hold that the ferry is fine.'),
      last: await post('dan', 'Please hold the tram for the night shift, too.'),
    }
  }

  test('axe finds no violation and no view is wider than the screen', async () => {
    const { reply, other, last } = await fill()
    const page = await desk.visit('/moderation', { view: NARROW })
    await item(page, last).focus()
    await page.keyboard.press('a')
    await expectSaid(page, 'Approved.')
    await desk.ok('POST', `/comments/${other.id}/reject`)
    await item(page, other).getByText('Rejected meanwhile').waitFor()
    await item(page, reply).focus()
    await item(page, reply)
      .getByText(/\d approved/)
      .waitFor()
    await page.keyboard.press('x')
    await page.evaluate('scrollTo(0, 0)')
    // None of the queues is cut.
    const queues = await page.getByRole('radiogroup', { name: 'Queue' }).locator('label').all()
    expect(queues).toHaveLength(4)
    for (const label of queues) {
      const { x = 0, width = 0 } = (await label.boundingBox()) ?? {}
      expect([x >= 0, x + width <= (page.viewportSize()?.width ?? 0)]).toEqual([true, true])
      expect(await label.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true)
    }
    await expectAccessible(page, 'moderation')
    await page.keyboard.press('b')
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page)
  })
})
