import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, openDesk, visitConsole, WAIT } from '../harness/console.ts'

/** The files in which pages other than the first one come. */
const PAGE_FILES = /\/console\/assets\/(keys|webhooks|readers|audit)-[\w-]+\.js$/

describeInBrowser('Loading the pages of the console', () => {
  // Only its service and browser are used: each test has its own context, without cached files.
  const desk = openDesk()

  test('offline, a page that is not loaded yet says so inside the console, and loads once the network is back', async () => {
    const page = await visitConsole(desk.browser, desk.service, '/', { isBroken: true })
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.context().setOffline(true)
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    await enter(navigation.getByRole('link', { name: 'API keys' }))
    await page.getByRole('alert').getByText('This part could not be loaded.').waitFor()
    // The way to every other page is still there.
    await enter(navigation.getByRole('link', { name: 'Webhooks' }))
    await page.getByRole('alert').getByText('This part could not be loaded.').waitFor()
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
    await enter(navigation.getByRole('link', { name: 'API keys' }))
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('a page whose file fails just as the network comes back is loaded once more', async () => {
    const page = await visitConsole(desk.browser, desk.service, '/', { isBroken: true })
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    let requests = 0
    await page.route(PAGE_FILES, async (route) => {
      if (++requests > 1) return route.continue()
      await page.route(/\/console\/$/, (document) => document.abort())
      await page.evaluate(`dispatchEvent(new Event('online'))`)
      await route.abort()
    })
    await enter(page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'API keys' }))
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    expect(requests).toBe(2)
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('charts are loaded once more where the network comes back before their failure is shown', async () => {
    // The overview has charts from the first comment on.
    const body = { body: 'Finally.' }
    await desk.ok('POST', '/discussions/by-external/harbour/comments', body, await desk.service.as('ann'))
    const page = await visitConsole(desk.browser, desk.service, '/keys', { isBroken: true })
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await page.route(/\/console\/$/, (document) => document.abort())
    let requests = 0
    await page.route(/\/console\/assets\/chart-[\w-]+\.js$/, async (route) => {
      if (++requests > 1) return route.continue()
      await route.abort()
      // React may wait 300 ms before it shows a failure.
      await page.evaluate(`setTimeout(() => dispatchEvent(new Event('online')), 100)`)
    })
    await enter(navigation.getByRole('link', { name: 'Overview' }))
    await expect.poll(() => requests, WAIT).toBe(2)
    await expect.poll(() => page.getByRole('alert').count(), WAIT).toBe(0)
  })

  test('a file that an upgrade has removed makes the console reload itself once', async () => {
    const page = await visitConsole(desk.browser, desk.service, '/', { isBroken: true })
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.evaluate('globalThis.isFirstPage = true')
    let isGone = true
    await page.route(PAGE_FILES, (route) => (isGone ? route.fulfill({ status: 404 }) : route.continue()))
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    await enter(navigation.getByRole('link', { name: 'API keys' }))
    // The reload did not help, and there is no second one.
    await page.getByRole('alert').getByText('This part could not be loaded.').waitFor()
    expect(await page.evaluate('globalThis.isFirstPage ?? false')).toBe(false)
    expect(page.url()).toMatch(/\/console\/keys$/)
    await page.evaluate('globalThis.isReloaded = true')
    isGone = false
    await enter(page.getByRole('button', { name: 'Try again' }))
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    expect(await page.evaluate('globalThis.isReloaded')).toBe(true)
  })
})
