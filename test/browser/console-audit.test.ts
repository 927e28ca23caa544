import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { axeFindings } from '../harness/axe.ts'
import { browserNeeded, hasBrowser, launchBrowser, shoot } from '../harness/browser.ts'
import { enter, tabTo, VIEWS, visitConsole } from '../harness/console.ts'
import { startService, type TestService } from '../harness/service.ts'

const WAIT = { timeout: 20_000, interval: 50 }

describe.skipIf(!hasBrowser)(`The audit log in the console${browserNeeded}`, () => {
  let browser: Browser
  let service: TestService

  beforeAll(async () => {
    service = await startService({ worker: false })
    const write = async (method: string, path: string, body?: object): Promise<void> =>
      void (await service.call(method, path, body === undefined ? {} : { body }))
    // More than a page of them.
    for (let maxLinks = 6; maxLinks < 60; maxLinks++) await write('PATCH', '/settings', { maxLinks })
    await write('PATCH', '/settings', {
      bannedWords: ['foo', 'bar'],
      webhookPolicy: { maxAttempts: 5, timeoutMs: 500 },
    })
    await write('PATCH', '/settings', { bannedWords: ['bar', 'baz'] })
    await write('POST', '/keys', { label: 'Of the audit', capabilities: ['view_analytics'] })
    await write('POST', '/discussions', { externalId: 'article', title: 'An article' })
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  test('by the keyboard alone: an action is chosen, its changes are read, more are loaded, one actor is picked', async () => {
    const { page, complaints, close } = await visitConsole(browser, service, '/audit')
    const rows = page.getByRole('row')
    await rows.filter({ hasText: 'api_key.create' }).waitFor()
    await tabTo(page.getByRole('combobox', { name: 'Action' }))
    await page.keyboard.type('settings')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await rows.filter({ hasText: 'api_key.create' }).waitFor({ state: 'detached' })
    expect(page.url()).toContain('action=settings.update')

    const [newest] = await rows.filter({ hasText: 'settings.update' }).all()
    expect(await newest?.locator('del').allTextContents()).toEqual(['foo'])
    expect(await newest?.locator('ins').allTextContents()).toEqual(['baz'])
    expect(await newest?.getByRole('link', { name: 'settings' }).getAttribute('href')).toMatch(/\/console\/settings$/)

    expect(await rows.filter({ hasText: 'settings.update' }).count()).toBe(50)
    await enter(page.getByRole('button', { name: 'More', exact: true }))
    await rows.nth(56).waitFor()
    expect(await rows.filter({ hasText: 'settings.update' }).count()).toBe(56)

    await enter(page.getByRole('button', { name: 'Clear the filters' }))
    await rows.filter({ hasText: 'api_key.create' }).waitFor()
    await page
      .getByRole('button', { name: /^Only what/ })
      .first()
      .focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url(), WAIT).toMatch(/actor=[0-9a-f-]{36}/)
    await rows.filter({ hasText: 'discussion.create' }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('a span and an action come from the URL; where they leave nothing the page says what to do', async () => {
    const { page, close } = await visitConsole(browser, service, '/audit?from=2020-01-01&to=2020-01-31&actor=key')
    await page.getByText('Nothing of that kind was done').waitFor()
    expect(await page.getByLabel('From').inputValue()).toBe('2020-01-01')
    const today = new Intl.DateTimeFormat('sv').format(new Date())
    await page.getByLabel('Until').fill(today)
    await page.getByRole('row').filter({ hasText: 'discussion.create' }).waitFor()
    expect(page.url()).toContain(`to=${today}`)
    await close()
  })

  test('a refused filter is told in words, not by its place in the request', async () => {
    const { page, close } = await visitConsole(browser, service, '/audit?actor=nobody')
    expect(await page.getByRole('alert').textContent()).toMatch(/^Actor must be the id of a key or an admin/)
    await close()
  })

  test.each(VIEWS)('axe finds nothing at $width pixels, $theme', async (view) => {
    const { page, complaints, close } = await visitConsole(browser, service, '/audit', { view })
    await page.getByRole('table').waitFor()
    expect(await axeFindings(page)).toEqual([])
    await shoot(page, `audit-${view.width}-${view.theme}`)
    expect(complaints).toEqual([])
    await close()
  })
})
