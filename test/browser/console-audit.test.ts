import { beforeAll, expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import {
  changeAnswers,
  enter,
  expectAccessible,
  expectInView,
  NARROW,
  openDesk,
  tabTo,
  WAIT,
} from '../harness/console.ts'

describeInBrowser('The audit log in the console', () => {
  const desk = openDesk()

  beforeAll(async () => {
    // More than a page of them.
    for (let maxLinks = 6; maxLinks < 60; maxLinks++) await desk.ok('PATCH', '/settings', { maxLinks })
    await desk.ok('PATCH', '/settings', {
      bannedWords: ['foo', 'bar'],
      webhookPolicy: { maxAttempts: 5, timeoutMs: 500 },
    })
    await desk.ok('PATCH', '/settings', { bannedWords: ['bar', 'baz'] })
    await desk.ok('POST', '/keys', { label: 'Of the audit', capabilities: ['view_analytics'] })
    await desk.ok('POST', '/discussions', { externalId: 'article', title: 'An article' })
  })

  test('by keyboard alone: choose an action, read its changes, load more, filter by one actor', async () => {
    const page = await desk.visit('/audit')
    const rows = page.getByRole('row')
    await rows.filter({ hasText: 'Created an API key' }).waitFor()
    await tabTo(page.getByRole('combobox', { name: 'Action' }))
    await page.keyboard.type('Changed settings')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await rows.filter({ hasText: 'Created an API key' }).waitFor({ state: 'detached' })
    expect(page.url()).toContain('action=settings.update')

    const [newest] = await rows.filter({ hasText: 'Changed settings' }).all()
    expect(await newest?.locator('del').allTextContents()).toEqual(['foo'])
    expect(await newest?.locator('ins').allTextContents()).toEqual(['baz'])
    // By the labels of the settings page, not by its name in the API.
    expect(await newest?.textContent()).toContain('Banned words was foo')
    expect(await newest?.getByRole('link', { name: 'Settings' }).getAttribute('href')).toMatch(/\/console\/settings$/)

    expect(await rows.filter({ hasText: 'Changed settings' }).count()).toBe(50)
    await enter(page.getByRole('button', { name: 'More', exact: true }))
    await rows.nth(56).waitFor()
    expect(await rows.filter({ hasText: 'Changed settings' }).count()).toBe(56)

    await enter(page.getByRole('button', { name: 'Clear the filters' }))
    await rows.filter({ hasText: 'Created an API key' }).waitFor()
    await page
      .getByRole('button', { name: /^Only what/ })
      .first()
      .focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url(), WAIT).toMatch(/actor=[0-9a-f-]{36}/)
    await rows.filter({ hasText: 'Created a discussion' }).waitFor()
  })

  test('a note leads to its reader, whose id is not spelled out', async () => {
    const author = await desk.service.as('noted')
    const comment = await desk.ok('POST', '/discussions/by-external/article/comments', { body: 'A remark' }, author)
    await desk.ok('POST', `/readers/${comment.author.id}/notes`, { text: 'Look again.' })
    const page = await desk.visit('/audit?action=note.create', { view: NARROW })
    const row = page.getByRole('row').filter({ hasText: 'Look again.' })
    await row.waitFor()
    expect(await row.textContent()).not.toContain(`readerId`)
    await row.getByRole('link', { name: 'the reader' }).click()
    await page.waitForURL(new RegExp(`/readers/${comment.author.id}$`))
  })

  test('an entry that cannot be shown leaves the others in view', async () => {
    const page = await desk.visit('/audit')
    await changeAnswers(page, ({ auditLog }) => {
      if (auditLog) auditLog.nodes[0].action = null
    })
    await page.reload()
    await page.getByRole('cell', { name: 'This entry cannot be shown.' }).waitFor()
    expect(await page.getByRole('row').count()).toBeGreaterThan(50)
    await page.unroute('**/graphql')
  })

  test('links every kind of target that has a page', async () => {
    const hook = await desk.ok('POST', '/webhooks', { url: 'https://receiver.example.com/hooks' })
    const site = await desk.ok('POST', '/sites', { name: 'A site', origins: ['https://www.example.com'] })
    const page = await desk.visit('/audit')
    for (const [name, path] of [
      ['Webhook endpoint', `webhooks/${hook.id}`],
      ['Site', `sites/${site.id}`],
    ] as const) {
      const link = page.getByRole('row').getByRole('link', { name, exact: true })
      await link.waitFor()
      expect(await link.getAttribute('href')).toMatch(new RegExp(`/console/${path}$`))
    }
    expect(await page.getByRole('row').filter({ hasText: 'A site' }).textContent()).toContain(
      'origins is https://www.example.com',
    )
  })

  test('calls targets by their names of today, and leads from a comment to its discussion', async () => {
    const headers = await desk.service.as('ann', { name: 'Ann Author' })
    const path = '/discussions/by-external/article/comments'
    const { id, author, discussionId } = await desk.ok('POST', path, { body: 'What I say.' }, headers)
    await desk.ok('POST', `/comments/${id}/reject`)
    await desk.ok('POST', `/readers/${author.id}/ban`)
    await desk.ok('POST', `/readers/${author.id}/notes`, { text: 'Has been warned.' })
    const { json } = await desk.service.call('POST', '/admin/auth/login', { body: desk.service.admin })
    await desk.ok('POST', '/exports', undefined, { authorization: `Bearer ${json.token}` })
    const page = await desk.visit('/audit')
    const row = (action: string) => page.getByRole('row').filter({ hasText: action }).first()
    await row('Banned a reader').getByText('Ann Author').waitFor()
    await row('Rejected a comment').getByText('What I say.').waitFor()
    await row('Wrote a note').getByText('Has been warned.').waitFor()
    await row('Asked for an export')
      .getByText(/^of .*20\d\d/)
      .waitFor()
    // What has a name shows its id on request.
    const shownId = row('Banned a reader').getByText(author.id)
    expect(await shownId.isVisible()).toBe(false)
    await row('Banned a reader').getByText('Id', { exact: true }).click()
    await shownId.waitFor()
    await row('Created a discussion').getByRole('paragraph').getByText('An article').waitFor()
    await row('Created an API key').getByRole('paragraph').getByText('Of the audit').waitFor()
    const link = row('Rejected a comment').getByRole('link', { name: 'Comment' })
    expect(await link.getAttribute('href')).toMatch(new RegExp(`/console/discussions/${discussionId}$`))
  })

  test('takes a span and an action from the URL; an empty result says what to do', async () => {
    const page = await desk.visit('/audit?from=2020-01-01&to=2020-01-31&actor=key')
    await page.getByText('No matching entry').waitFor()
    expect(await page.getByLabel('From').inputValue()).toBe('2020-01-01')
    const today = new Intl.DateTimeFormat('sv').format(new Date())
    await page.getByLabel('Until').fill(today)
    await page.getByRole('row').filter({ hasText: 'Created a discussion' }).waitFor()
    expect(page.url()).toContain(`to=${today}`)
  })

  test('describes a refused filter in words, not by its place in the request', async () => {
    const page = await desk.visit('/audit?actor=nobody')
    expect(await page.getByRole('alert').textContent()).toMatch(/^Actor must be the id of a key or an admin/)
  })

  test.each([390, 640])('at %i pixels a row shows first what was done, and to what', async (width) => {
    const page = await desk.visit('/audit?action=discussion.create', { view: { width, theme: 'light' } })
    const row = page.getByRole('row').filter({ hasText: 'Created a discussion' })
    await expectInView(row.getByText('Created a discussion'))
    await expectInView(row.getByText('An article').first())
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await desk.visit('/audit', { view: NARROW })
    await page.getByRole('table').waitFor()
    await expectAccessible(page, 'audit')
  })

  test('the names of who has acted stay on one line at 1280 pixels', async () => {
    const json = await desk.service.ok('POST', '/keys', { label: 'pages', capabilities: ['manage_settings'] })
    await desk.service.call('PATCH', '/settings', { headers: { 'x-api-key': json.key }, body: { maxLinks: 5 } })
    // A long change takes all the room that it gets.
    const bannedWords = Array.from({ length: 200 }, (_, n) => `word${n}`)
    await desk.ok('PATCH', '/settings', { bannedWords })
    const page = await desk.visit('/audit')
    await page.setViewportSize({ width: 1280, height: 800 })
    const name = page.getByRole('button', { name: 'Only what pages did' }).first()
    await name.waitFor()
    const lines = (box: { height: number } | null) => Math.round((box?.height ?? 0) / 20)
    expect(lines(await name.boundingBox())).toBe(1)
  })
})
