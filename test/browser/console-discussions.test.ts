import { beforeAll, expect, test } from 'vitest'

import { importFile } from '../../src/transfer/import/import.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { choose, enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'
import { MAKE_GUEST } from '../harness/guests.ts'

const HOSTILE = `<img src=x onerror="document.title='taken'"> \u202E${'long'.repeat(100)} <script>alert(1)</script>`

describeInBrowser('discussions in the console', () => {
  const desk = openDesk()

  const post = async (reader: string, page: string, body: string, parentId?: string) => {
    const path = `/discussions/by-external/${page}/comments`
    return desk.ok('POST', path, { body, ...(parentId !== undefined && { parentId }) }, await desk.service.as(reader))
  }

  beforeAll(async () => {
    await desk.ok('PATCH', '/settings', { suspectWords: ['casino'] })
    for (const [externalId, title] of [
      ['harbour', 'The harbour is to be rebuilt'],
      ['budget', 'The budget of next year'],
    ]) {
      await desk.ok('POST', '/discussions', { externalId, title, url: `https://paper.example/${externalId}` })
    }
    const first = await post('ann', 'budget', 'Who pays for it?')
    await desk.ok('PATCH', '/settings', { badges: [{ id: 'staff', label: 'Our staff', tone: 'warning' }] })
    await desk.ok('PUT', `/readers/${first.author.id}/badges`, { badges: ['staff'] })
    const reply = await post('ben', 'budget', 'All of us.', first.id)
    await post('ann', 'budget', 'As always.', reply.id)
    await post('cleo', 'budget', 'Better build a casino.', first.id)
    await post('cleo', 'budget', HOSTILE)
    await desk.ok('POST', `/comments/${reply.id}/report`, { reason: 'abuse' }, await desk.service.as('dan'))
    await desk.ok('PUT', `/comments/${first.id}/reaction`, { type: 'like' }, await desk.service.as('dan'))
  })

  test('a note on a comment and on its author is written where the thread is read', async () => {
    const { id, author, discussionId } = await post('fay', 'notes', 'Look at this.')
    const page = await desk.visit(`/discussions/${discussionId}`)
    const card = page.getByRole('article').filter({ hasText: 'Look at this.' })
    await choose(card.getByRole('button', { name: /^Actions on/ }), 'Notes')
    const dialog = page.getByRole('dialog', { name: /^Notes on the comment of/ })
    for (const of of ['comment', 'reader']) {
      await tabTo(dialog.getByRole('textbox', { name: `A note on the ${of}` }))
      await page.keyboard.type(`On the ${of}.`)
      await enter(dialog.getByRole('button', { name: 'Add the note' }).nth(of === 'comment' ? 0 : 1))
      await dialog
        .getByRole('list', { name: `Notes on the ${of}` })
        .getByText(`On the ${of}.`)
        .waitFor()
    }
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect((await desk.ok('GET', `/comments/${id}/notes`)).data).toMatchObject([{ text: 'On the comment.' }])
    expect((await desk.ok('GET', `/readers/${author.id}/notes`)).data).toMatchObject([{ text: 'On the reader.' }])
  })

  test('by keyboard alone: find a discussion by title, follow it live, moderate, lock, unlock and archive', async () => {
    const page = await desk.visit('/discussions')
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const comment = (text: string) => page.getByRole('article').filter({ hasText: text })
    const act = (text: string, action: string) =>
      choose(comment(text).getByRole('button', { name: /^Actions on/ }), action)
    await page.getByRole('link', { name: 'The budget of next year' }).waitFor()
    await tabTo(page.getByLabel('External id or title'))
    await page.keyboard.type('harb rebu')
    await page.getByText('No discussion was found').waitFor()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('rebuilt harb')
    await page.waitForURL(/search=rebuilt\+harb$/)
    await page.getByRole('link', { name: 'The harbour is to be rebuilt' }).waitFor()
    expect(await page.getByRole('link', { name: 'The budget of next year' }).count()).toBe(0)
    await enter(page.getByRole('link', { name: 'The harbour is to be rebuilt' }))
    await page.getByText('There is no comment yet').waitFor()
    const link = page.getByRole('link', { name: /https:\/\/paper\.example\/harbour/ })
    expect(await link.getAttribute('rel')).toContain('noopener')

    // A comment posted while the page is open.
    const said = await post('ann', 'harbour', 'At last.')
    await comment('At last.').getByText('Our staff').waitFor()
    await post('cleo', 'harbour', 'With a casino beside it?')
    await comment('casino').getByText('pending').waitFor()
    await post('ben', 'harbour', 'It was time.', said.id)
    await enter(button('Show 1 reply'))
    await comment('It was time.').waitFor()

    const stateOf = async (text: string): Promise<string | undefined> => {
      const { data } = await desk.ok('GET', `/discussions/by-external/harbour/comments`)
      return data.find(({ body }: { body: string }) => body.includes(text))?.status
    }
    expect(await stateOf('casino')).toBeUndefined()
    await act('casino', 'Approve')
    await comment('casino').getByText('pending').waitFor({ state: 'detached' })
    await expect.poll(() => stateOf('casino'), WAIT).toBe('approved')
    await act('At last.', 'Pin')
    await comment('At last.').getByText('pinned').waitFor()
    await act('casino', 'Reject')
    await comment('casino').getByText('rejected').waitFor()
    await act('casino', 'Delete')
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Delete' }))
    await comment('casino').waitFor({ state: 'detached' })

    const tryToPost = async () => {
      const headers = await desk.service.as('ann')
      const asked = { body: { body: 'May I?' }, headers }
      return (await desk.service.call('POST', '/discussions/by-external/harbour/comments', asked)).json
    }
    await enter(button('Lock'))
    await button('Unlock').waitFor()
    expect((await tryToPost()).code).toBe('discussion_locked')
    await enter(button('Unlock'))
    await button('Lock').waitFor()
    expect((await tryToPost()).status).toBe('approved')
    await enter(button('Archive'))
    await tabTo(page.getByRole('dialog').getByRole('textbox'))
    await page.keyboard.type('harbou')
    expect(await button('Archive for good').isDisabled()).toBe(true)
    await page.keyboard.type('r')
    await page.keyboard.press('Enter')
    await page.getByText('The discussion is archived').waitFor()
    expect((await tryToPost()).code).toBe('discussion_archived')
  })

  test('a comment is rejected with a reason and a message, taken back with u, and deleted as the page is left', async () => {
    const first = await post('gil', 'quay', 'Buy my boats.')
    const second = await post('hal', 'quay', 'And my nets.')
    const page = await desk.visit(`/discussions/${first.discussionId}`)
    const card = (text: string) => page.getByRole('article').filter({ hasText: text })
    const menu = (text: string) => card(text).getByRole('button', { name: /^Actions on/ })
    const said = (words: string) => page.locator('output').filter({ hasText: words })
    const statusOf = async (id: string) => (await desk.ok('GET', `/comments/${id}`)).status
    const dialog = page.getByRole('dialog')

    await choose(menu('boats'), 'Reject, and say why')
    await tabTo(dialog.getByRole('radio', { name: 'Spam' }))
    await page.keyboard.press('Space')
    await tabTo(dialog.getByRole('textbox', { name: 'Message' }))
    await page.keyboard.type('No offers here.')
    await enter(dialog.getByRole('button', { name: 'Reject' }))
    await card('boats').getByText('rejected').waitFor()
    await said('Rejected.').waitFor()
    // The numbers have it at once, too.
    await page.getByRole('radio', { name: 'Rejected (1)' }).waitFor({ state: 'attached' })
    await page.keyboard.press('u')
    await said('Undone: not rejected.').waitFor()
    await card('boats').getByText('rejected').waitFor({ state: 'detached' })
    await page.getByRole('radio', { name: 'Rejected (0)' }).waitFor({ state: 'attached' })
    await expectAccessible(page)
    expect(await statusOf(first.id)).toBe('approved')

    await choose(menu('boats'), 'Reject, and say why')
    await tabTo(dialog.getByRole('textbox', { name: 'Message' }))
    await page.keyboard.type('No offers here.')
    await enter(dialog.getByRole('button', { name: 'Reject' }))
    await expect.poll(() => statusOf(first.id), WAIT).toBe('rejected')
    await card('boats').getByText('Told to the author: No offers here.').waitFor()
    const { data } = await desk.ok('GET', '/readers/me/comments', undefined, await desk.service.as('gil'))
    expect(data[0].decision).toMatchObject({ action: 'reject', message: 'No offers here.' })
    await card('boats').getByText('rejected').waitFor()
    // The service has it: u does the opposite.
    await page.keyboard.press('u')
    await expect.poll(() => statusOf(first.id), WAIT).toBe('approved')

    await choose(menu('nets'), 'Delete')
    await enter(dialog.getByRole('button', { name: 'Delete' }))
    await card('nets').waitFor({ state: 'detached' })
    expect(await statusOf(second.id)).toBe('approved')
    await enter(page.getByRole('link', { name: 'Discussions' }))
    await expect.poll(() => statusOf(second.id), WAIT).toBe('deleted')
  })

  test('? shows the keys that the page has, and a guest has a badge', async () => {
    const { discussionId, author } = await post('gia', 'guests', 'I have no account.')
    await desk.service.app.db.query(MAKE_GUEST, [desk.service.tenant.id, author.id])
    const page = await desk.visit(`/discussions/${discussionId}`)
    await page.getByRole('article').getByText('guest', { exact: true }).waitFor()
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Keys for moderating' })
    await dialog.waitFor()
    expect(await dialog.locator('kbd').allTextContents()).toEqual(['u', '/', '?'])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Shortcuts' }).waitFor()
    await page.getByRole('link', { name: 'gia' }).click()
    await page.getByRole('heading', { level: 1, name: 'gia' }).waitFor()
    await page.getByText('guest', { exact: true }).first().waitFor()
    await page.goto(`${desk.service.url}/console/readers?search=gia`)
    await page.getByRole('row', { name: /gia/ }).getByText('guest', { exact: true }).waitFor()
  })

  test('an approval of a text that was edited meanwhile is refused, and says why', async () => {
    const held = await post('ida', 'lock', 'At the casino.')
    const page = await desk.visit(`/discussions/${held.discussionId}`)
    const card = page.getByRole('article')
    await card.getByText('pending').waitFor()
    // The page gets no news of it: it approves what it shows.
    await page.route('**/graphql*', (route) =>
      /ModerateComments/.test(route.request().postData() ?? '') ? route.continue() : route.abort(),
    )
    await desk.ok('PATCH', `/comments/${held.id}`, { body: 'In the casino.' }, await desk.service.as('ida'))
    await choose(card.getByRole('button', { name: /^Actions on/ }), 'Approve')
    await card.getByRole('alert').waitFor()
    await card.getByText('pending').waitFor()
    expect((await desk.ok('GET', `/comments/${held.id}`)).status).toBe('pending')
  })

  test('shows comments that only moderators see in their places, or alone on request; their HTML does not run', async () => {
    const { data } = await desk.ok('GET', '/discussions?search=budget')
    const page = await desk.visit(`/discussions/${data[0].id}?sort=oldest`)
    const articles = page.getByRole('article')
    await articles.nth(2).waitFor()
    // The held reply opens its level, at its place behind the reply in view.
    await page.getByText('Better build a casino.').waitFor()
    const texts = await articles.allTextContents()
    expect(texts.map((text) => /Who pays|All of us|casino|onerror/.exec(text)?.[0])).toEqual([
      'Who pays',
      'All of us',
      'casino',
      'onerror',
    ])
    expect(await articles.nth(1).textContent()).toContain('1 report')
    expect(await articles.nth(2).textContent()).toContain('a suspect word')
    expect(await articles.nth(3).locator('img').count()).toBe(0)
    expect(await page.title()).toContain('The budget of next year')
    await post('ann', 'budget', 'مرحبا بالعالم')
    const fromRight = page.getByText('مرحبا بالعالم')
    expect(await fromRight.evaluate((body) => getComputedStyle(body).direction)).toBe('rtl')
    await page.getByRole('radio', { name: 'Reported (1)' }).press('Space')
    await page.getByText('Who pays for it?').waitFor({ state: 'detached' })
    expect(page.url()).toContain('show=reported')
    expect(await articles.count()).toBe(1)
  })

  test('another tenant’s discussion is not found', async () => {
    const other = await desk.service.addTenant('elsewhere')
    const { data } = await desk.ok('GET', '/discussions?search=budget')
    const page = await desk.visit(`/discussions/${data[0].id}`, { admin: other.admin })
    await page.getByRole('heading', { name: 'There is no such discussion', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
    await enter(page.getByRole('link', { name: 'All discussions' }))
    await page.getByText('There is no discussion yet').waitFor()
  })

  test('gives a page another external id; one that leads elsewhere is refused', async () => {
    const { data } = await desk.ok('GET', '/discussions?search=budget')
    const page = await desk.visit(`/discussions/${data[0].id}`)
    const field = page.getByRole('dialog').getByRole('textbox', { name: 'External id' })
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await field.fill('harbour')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByText('Another discussion has this external id').waitFor()
    await field.fill('budget of 2027')
    await page.getByRole('button', { name: 'Save' }).click()
    await field.waitFor({ state: 'detached' })
    const former = await desk.ok('GET', `/discussions/by-external/${data[0].externalId}`)
    expect(former).toMatchObject({ id: data[0].id, externalId: 'budget of 2027', title: data[0].title })
  })

  test('gives a discussion rules of its own, and takes them back', async () => {
    await desk.ok('PATCH', '/settings', { slowModeSeconds: 60 })
    const { id } = await desk.ok('POST', '/discussions', { externalId: 'ruled', title: 'To be ruled' })
    const rules = async () => {
      const { moderationMode, slowModeSeconds, closesAt } = await desk.ok('GET', `/discussions/${id}`)
      return { moderationMode, slowModeSeconds, closesAt }
    }
    const page = await desk.visit(`/discussions/${id}`, { view: NARROW })
    const dialog = page.getByRole('dialog')
    const pick = async (label: string, option: string) => {
      await dialog.getByRole('combobox', { name: label }).click()
      await page.getByRole('option', { name: option }).click()
    }
    const save = async () => {
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await page.getByRole('button', { name: 'Rules' }).click()
    const slow = dialog.getByRole('combobox', { name: 'Slow mode' })
    await expect.poll(() => slow.inputValue(), WAIT).toBe('As the settings say: one comment in 1 minute')
    await expectAccessible(page)
    await pick('Moderation', 'Each comment waits for a moderator')
    await pick('Slow mode', 'One comment in 5 minutes')
    const closesAt = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 86_400_000)
    const local = new Date(closesAt.getTime() - closesAt.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
    // Browsers take a year of five digits, which is no time for JavaScript.
    await dialog.getByLabel('Locks itself').fill('12026-01-01T00:00')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('A day and a time, or nothing.').waitFor()
    await dialog.getByLabel('Locks itself').fill(local)
    await save()
    expect(await rules()).toEqual({ moderationMode: 'pre', slowModeSeconds: 300, closesAt: closesAt.toISOString() })
    await page.getByText('one comment in 5 minutes').waitFor()
    await page.getByText('each comment waits for a moderator').waitFor()
    await expectAccessible(page)

    // What is left alone is not sent.
    await page.getByRole('button', { name: 'Rules' }).click()
    await desk.ok('PATCH', `/discussions/${id}`, { moderationMode: 'post' })
    await pick('Slow mode', 'As the settings say: one comment in 1 minute')
    await dialog.getByLabel('Locks itself').fill('')
    await save()
    expect(await rules()).toEqual({ moderationMode: 'post', slowModeSeconds: null, closesAt: null })
    await desk.ok('PATCH', '/settings', { slowModeSeconds: 0 })
  })

  test('a discussion is deleted by its external id, also an archived one, and its page begins another one', async () => {
    const begin = async (): Promise<{ discussionId: string }> =>
      desk.ok('POST', '/discussions/by-external/wharf/comments', { body: 'Ahoy' }, await desk.service.as('ann'))
    const { discussionId } = await begin()
    const { id: parentId } = await post('ben', 'wharf', 'A casino!')
    await desk.ok('POST', '/comments/bulk', { ids: [parentId], action: 'approve' })
    await post('ann', 'wharf', 'No.', parentId)
    await desk.ok('POST', `/discussions/${discussionId}/archive`)
    const page = await desk.visit(`/discussions/${discussionId}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('the reasons and messages of decisions').waitFor()
    await dialog.getByRole('textbox').fill('wharf')
    await expectAccessible(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download the comments' }).click(),
    ])
    await dialog.getByText('Downloaded: 3').waitFor()
    expect(download.suggestedFilename()).toBe('wharf.jsonl')
    const file = await download.path()
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await page.getByRole('heading', { name: 'Discussions' }).waitFor()
    const begun = page.getByText('wharf is deleted.')
    await begun.waitFor()
    expect(await begun.textContent()).toContain('Its 3 comments are removed in the background')
    await page.getByRole('link', { name: 'The budget of next year' }).waitFor()
    expect(await page.getByRole('link', { name: 'wharf' }).count()).toBe(0)
    await page.goto(page.url().replace(/discussions.*/, `discussions/${discussionId}`))
    await page.getByText('no such discussion').waitFor()
    expect((await begin()).discussionId).not.toBe(discussionId)

    const other = await desk.service.addTenant('moved')
    const { counts, refused } = await importFile(desk.service.app, other.tenant.id, { source: 'jsonl', path: file })
    expect({ counts, refused: refused.total }).toMatchObject({ counts: { readers: 2, comments: 3 }, refused: 0 })
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await desk.visit('/discussions', { view: NARROW })
    await page.getByRole('link', { name: 'The budget of next year' }).waitFor()
    await expectAccessible(page, 'discussions')
    await page.getByRole('link', { name: 'The budget of next year' }).click()
    await page.getByText('Better build a casino.').waitFor()
    await expectAccessible(page, 'discussion')
    await page.getByRole('button', { name: 'Archive' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page)
  })
})
