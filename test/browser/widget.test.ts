import { expect, test, vi } from 'vitest'

import { describeInBrowser, openSleeper } from '../harness/browser.ts'
import { first } from '../harness/processes.ts'
import { runningMs } from '../harness/standstill.ts'
import { newArticle, useNewspaperOfProcesses, type Window } from '../harness/widget.ts'

const WAIT = { timeout: 20_000, interval: 20 }

describeInBrowser('the widget in two windows', () => {
  const paper = useNewspaperOfProcesses()

  /** Ann's and Bob's windows on one article, both with their streams. */
  async function twoWindows(article: string): Promise<[Window, Window]> {
    const windows = await Promise.all([paper.read(article, { as: 'ann' }), paper.read(article, { as: 'bob' })])
    await vi.waitFor(async () => expect(await streams(article)).toBe(2), WAIT)
    return windows
  }
  async function streams(article: string): Promise<number> {
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    return (await paper.call('GET', `/discussions/${id}/presence`)).streams
  }

  /** An action in one window shows in the other one within a second. */
  async function withinASecond(seen: () => Promise<unknown>): Promise<void> {
    const began = runningMs()
    await seen()
    expect(runningMs() - began).toBeLessThan(1000)
  }

  test("posts, replies, reactions, edits and deletions of one reader show in the other's window within a second", async () => {
    const article = newArticle()
    const [ann, bob] = await twoWindows(article)
    await ann.write('The **first** word')
    await ann.sees('The first word')
    await withinASecond(() => bob.sees('The first word'))

    await bob.button('Reply').click()
    await bob.thread.getByRole('textbox', { name: 'Reply to Ann' }).fill('An answer')
    await bob.page.keyboard.press('Control+Enter')
    await bob.sees('An answer')
    await withinASecond(() => ann.button('1 new reply').waitFor())
    await ann.button('1 new reply').click()
    await ann.sees('An answer')

    await bob.comment('The first word').getByRole('button', { name: 'React' }).click()
    await bob.comment('The first word').getByRole('button', { name: 'Love' }).click()
    await bob.button('Love 1').and(bob.page.locator('[aria-pressed=true]')).first().waitFor()
    await withinASecond(() => ann.button('Love 1').and(ann.page.locator('[aria-pressed=false]')).waitFor())

    await ann.choose('Edit', 'The first word')
    const box = ann.thread.getByRole('textbox', { name: 'Edit' })
    expect(await box.inputValue()).toBe('The **first** word')
    await box.fill('The second thought')
    await ann.button('Save').click()
    await ann.sees('The second thought')
    await withinASecond(() => bob.sees(/The second thought[^]*An answer/))
    expect(await bob.comment('The second thought').innerText()).toContain('edited')

    await bob.choose('Delete', 'An answer')
    await bob.thread.getByRole('button', { name: 'Delete' }).last().click()
    await bob.seesNot('An answer')
    await withinASecond(() => ann.seesNot('An answer'))
    await ann.choose('Delete', 'The second thought')
    await ann.thread.getByRole('button', { name: 'Delete' }).last().click()
    await ann.sees('No comments yet')
    await withinASecond(() => bob.sees('This comment was deleted.'))
  })

  test('a comment that waits for a moderator is shown only to its author, even after a reload, and to all once approved', async () => {
    const article = newArticle()
    await paper.setInTest({ moderationMode: 'pre' })
    const [ann, bob] = await twoWindows(article)
    await ann.write('Please look at this')
    await ann.sees(/Please look at this[^]*Awaiting moderation/)
    await ann.page.reload()
    await ann.sees(/Please look at this[^]*Awaiting moderation/)
    const elsewhere = await paper.read(article, { as: 'ann' })
    await elsewhere.sees(/Please look at this[^]*Awaiting moderation/)
    await elsewhere.page.close()
    await bob.sees('No comments yet')
    await vi.waitFor(async () => expect(await streams(article)).toBe(2), WAIT)
    const queue = await paper.call('GET', '/moderation/queue?status=pending')
    const { id } = queue.data[0].comment
    await paper.call('POST', `/comments/${id}/approve`)
    await withinASecond(() => bob.sees('Please look at this'))
    await ann.seesNot('Awaiting moderation')
    await paper.call('POST', `/comments/${id}/pin`)
    await withinASecond(() => bob.sees('Pinned'))
    await paper.call('POST', `/comments/${id}/reject`)
    await withinASecond(() => bob.sees('This comment is not shown.'))
  })

  test('a rejected comment says so to its author, even after a reload, and can be deleted, not edited', async () => {
    const article = newArticle()
    await paper.setInTest({ moderationMode: 'pre' })
    const ann = await paper.read(article, { as: 'ann' })
    await ann.write('Not for print')
    await ann.sees(/Not for print[^]*Awaiting moderation/)
    await ann.write('Nor this')
    await ann.sees(/Nor this[^]*Awaiting moderation/)
    const queue = await paper.call('GET', '/moderation/queue?status=pending')
    const idOf = (body: string) =>
      queue.data.find(({ comment }: { comment: { body: string } }) => comment.body === body).comment.id
    await paper.call('POST', `/comments/${idOf('Not for print')}/reject`)
    await paper.call('DELETE', `/comments/${idOf('Nor this')}`)
    for (let n = 0; n < 2; n++) {
      await ann.page.reload()
      await ann.sees(/Not for print[^]*This comment was not published/)
      await ann.seesNot('Nor this')
      await ann.seesNot('Awaiting moderation')
    }
    expect(await ann.menu('Not for print')).toEqual(['Delete'])
    await ann.thread.getByRole('menuitem', { name: 'Delete' }).click()
    await ann.thread.getByRole('button', { name: 'Delete' }).last().click()
    await ann.seesNot('Not for print')
    await ann.page.reload()
    await ann.sees('No comments yet')
  })

  test('a comment withdrawn while its author reads is shown to the author again after a reload', async () => {
    const article = newArticle()
    const ann = await paper.read(article, { as: 'ann' })
    await ann.write('In view for a while')
    await ann.sees('In view for a while')
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    const { data } = await paper.call('GET', `/discussions/${id}/comments`)
    await paper.call('POST', `/comments/${data[0].id}/reject`)
    await ann.sees(/In view for a while[^]*This comment was not published/)
    await ann.page.reload()
    await ann.sees(/In view for a while[^]*This comment was not published/)
    expect(await ann.thread.getByText('is not shown').count()).toBe(0)
  })

  test('a decision reaches its author while they read, with its reason and message, and nobody else', async () => {
    const article = newArticle()
    const [ann, bob] = await twoWindows(article)
    await ann.write('Cheap watches')
    await bob.sees('Cheap watches')
    const { id } = await paper.call('GET', `/discussions/by-external/${article}`)
    const { data } = await paper.call('GET', `/discussions/${id}/comments`)
    await paper.post(article, 'bob', 'No, thanks', data[0].id)
    await paper.call('POST', `/comments/${data[0].id}/reject`, { reason: 'spam', message: 'No <b>ads</b> here.' })
    const seen = /Cheap watches[^]*This comment was not published[^]*Reason: Spam\. No <b>ads<\/b> here\./
    await withinASecond(() => ann.sees(seen))
    await bob.sees('This comment is not shown.')
    expect(await bob.thread.getByText('ads').count()).toBe(0)
    await ann.page.reload()
    await ann.sees(seen)
  })

  test('a decision that no event tells is seen within a minute', async () => {
    const article = newArticle()
    await paper.setInTest({ moderationMode: 'pre' })
    const before = new Date(Date.now() + 1000).toISOString()
    await paper.call('POST', '/readers/me/notifications/read', { before }, 'ann')
    const ann = await paper.read(article, { as: 'ann', prepare: (page) => page.clock.install() })
    await ann.write('Waits')
    await ann.sees(/Waits[^]*Awaiting moderation/)
    const { data } = await paper.call('GET', '/moderation/queue?status=pending')
    const { id } = data.find(({ comment }: { comment: { body: string } }) => comment.body === 'Waits').comment
    await paper.call('POST', `/comments/${id}/reject`, { message: 'Be kind.' })
    await ann.page.clock.runFor(61_000)
    await ann.sees(/Waits[^]*This comment was not published[^]*Be kind\./)
    expect(await ann.thread.getByText('Awaiting').count()).toBe(0)
    await ann.button('Notifications: 1 unread').waitFor()
  })

  test('a reader who is muted is not read, until their comment is asked for or the mute ends', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'Loud and long')
    const [ann, eve] = [await paper.read(article, { as: 'ann' }), await paper.read(article, { as: 'eve' })]
    await ann.choose(/^Mute /)
    await ann.sees('You have muted this reader.')
    await ann.seesNot('Loud and long')
    await paper.post(article, 'bob', 'Louder')
    await ann.button('1 new comment').click()
    await vi.waitFor(async () => expect(await ann.thread.getByText('You have muted').count()).toBe(2), WAIT)
    await ann.seesNot('Louder')
    await eve.sees('Loud and long')
    await ann.page.reload()
    await vi.waitFor(async () => expect(await ann.thread.getByText('You have muted').count()).toBe(2), WAIT)
    await ann.thread.getByRole('button', { name: 'Show', exact: true }).last().click()
    await ann.sees('Loud and long')
    await ann.seesNot('Louder')
    await ann.button('Unmute').click()
    await ann.sees('Louder')
    await ann.page.reload()
    await ann.sees(/Louder[^]*Loud and long/)
    expect(await ann.thread.getByText('You have muted').count()).toBe(0)
  })

  test('badges of authors show their labels', async () => {
    const article = newArticle()
    await paper.setInTest({ badges: [{ id: 'staff', label: 'Staff <3', tone: 'info' }] })
    await paper.post(article, 'eve', 'By the house')
    const { data } = await paper.call('GET', '/readers?externalId=eve')
    await paper.call('PUT', `/readers/${data[0].id}/badges`, { badges: ['staff'] })
    const window = await paper.read(article)
    await window.sees(/Staff <3[^]*By the house/)
    expect(await window.thread.locator('[part~=badge-staff].info').count()).toBe(1)
    await paper.set({ badges: [] })
    await window.page.reload()
    await window.seesNot('Staff')
  })

  test('both windows continue after a restart of the service; comments sent meanwhile arrive once', async () => {
    const article = newArticle()
    const [ann, bob] = await twoWindows(article)
    await ann.write('Before')
    await bob.sees('Before')
    const api = first(paper.service.apis)
    await api.stop()
    await bob.write('Meanwhile')
    await api.start()
    await bob.sees(/Meanwhile|That did not work/)
    if (await bob.button('Post').isVisible()) await bob.button('Post').click()
    await bob.sees(/Bob[^]*Meanwhile/)
    await ann.sees('1 new comment')
    await ann.button('1 new comment').click()
    await ann.sees('Meanwhile')
    await ann.write('After')
    await bob.sees('1 new comment')
    expect((await paper.call('GET', `/discussions/by-external/${article}`)).commentCount).toBe(3)
  })

  test('a window that slept catches up when it wakes', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'Good night')
    const sleeper = await openSleeper(paper.browser, `${paper.site.url}/articles/${article}`)
    const text = () => sleeper.evaluate<string>(`document.querySelector('engagement-thread').shadowRoot.textContent`)
    try {
      await vi.waitFor(async () => expect(await text()).toContain('Good night'), WAIT)
      await vi.waitFor(async () => expect(await streams(article)).toBe(1), WAIT)
      await sleeper.freeze()
      await vi.waitFor(async () => expect(await streams(article)).toBe(0), WAIT)
      await paper.post(article, 'bob', 'While you slept')
      await paper.post(article, 'bob', 'And another')
      await sleeper.unfreeze()
      await vi.waitFor(async () => expect(await text()).toContain('2 new comments'), WAIT)
    } finally {
      await sleeper.close()
    }
  })

  test('beyond the replay window the page is loaded again', async () => {
    const article = newArticle()
    await paper.setInTest({ stream: { replayEvents: 100 } })
    await paper.post(article, 'ann', 'Long ago')
    const bob = await paper.read(article, { as: 'bob' })
    await bob.sees('Long ago')
    await vi.waitFor(async () => expect(await streams(article)).toBe(1), WAIT)
    await bob.page.evaluate(`dispatchEvent(new Event('pagehide'))`)
    for (let n = 1; n <= 120; n++) await paper.post(article, 'ann', `Number ${n}`)
    await bob.page.evaluate(`dispatchEvent(new Event('pageshow'))`)
    await bob.sees('Number 120')
    expect(await bob.thread.getByRole('heading').innerText()).toMatch(/121/)
  })

  test('a post under way while the page is loaded again is shown when it is answered', async () => {
    const article = newArticle()
    await paper.setInTest({ stream: { replayEvents: 100 }, moderationMode: 'pre' })
    await paper.post(article, 'ann', 'Long ago')
    let answer = (): void => undefined
    const answered = new Promise<void>((resolve) => (answer = resolve))
    const bob = await paper.read(article, {
      as: 'bob',
      prepare: (page) =>
        page.route('**/engagement/comments?*', async (route) => {
          if (route.request().method() === 'POST') await answered
          return route.continue()
        }),
    })
    await vi.waitFor(async () => expect(await streams(article)).toBe(1), WAIT)
    await bob.write('Under way')
    await paper.set({ moderationMode: 'none' })
    await bob.page.evaluate(`dispatchEvent(new Event('pagehide'))`)
    for (let n = 1; n <= 120; n++) await paper.post(article, 'ann', `Number ${n}`)
    await bob.page.evaluate(`dispatchEvent(new Event('pageshow'))`)
    await bob.sees('Number 120')
    await paper.set({ moderationMode: 'pre' })
    answer()
    await bob.sees(/Under way[^]*Awaiting moderation/)
    expect(await bob.thread.getByRole('textbox', { name: 'Write a comment' }).inputValue()).toBe('')
  })

  test('comments of others do not move what the reader is reading', async () => {
    const article = newArticle()
    for (let n = 1; n <= 15; n++) await paper.post(article, 'ann', `Paragraph ${n}`)
    const read = await paper.post(article, 'ann', 'The one that is read')
    for (let n = 1; n <= 3; n++) await paper.post(article, 'ann', `Later ${n}`)
    const bob = await paper.read(article, { as: 'bob' })
    await vi.waitFor(async () => expect(await streams(article)).toBe(1), WAIT)
    await bob.comment('The one that is read').evaluate((element) => element.scrollIntoView({ block: 'center' }))
    const place = async () => (await bob.comment('The one that is read').boundingBox())?.y
    const before = await place()
    const lower = async () => (await bob.comment('Paragraph 14').boundingBox())?.y
    const lowerBefore = await lower()
    await paper.post(article, 'ann', 'News')
    await paper.post(article, 'ann', 'More news')
    await paper.post(article, 'ann', 'News of replies', read)
    await bob.button('2 new comments').waitFor()
    await bob.button('1 new reply').waitFor()
    expect(await place()).toBe(before)
    expect(await lower()).toBe(lowerBefore)
    expect(await bob.thread.getByRole('status').textContent()).toBe('2 new comments')
    await bob.button('2 new comments').click()
    await bob.sees(/More news[^]*News[^]*Later 3/)
  })
})
