import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { axeFindings } from '../harness/axe.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { choose, enter, expectAccessible, NARROW, openDesk, signInAs, tabTo, visitConsole } from '../harness/console.ts'

const SESSION = 'engagement-console-session'

describeInBrowser('signing in to the console', () => {
  const desk = openDesk()

  /** In its own context, signed in through the form, because these tests spoil and end sessions. */
  const visit = (path: string, options?: Parameters<typeof visitConsole>[3]) =>
    visitConsole(desk.browser, desk.service, path, options)

  const signInForm = (page: Page) => page.getByRole('button', { name: 'Sign in' })
  /** Makes the service refuse what the page sends from now on. */
  const spoil = (page: Page) => page.context().clearCookies()

  test.each(['{', '5', '{"member":null}', '{"member":{}}'])('takes a stored session %s for none', async (stored) => {
    const page = await visit('/', { signIn: false })
    await page.evaluate(([key, value]) => localStorage.setItem(key, value), [SESSION, stored] as const)
    await page.reload()
    await signInForm(page).waitFor()
    expect(await signInForm(page).count()).toBe(1)
  })

  test('reports a wrong password; the right one opens the requested page', async () => {
    const page = await visit('/keys', { signIn: false })
    await page.getByLabel('E-mail').waitFor()
    await page.keyboard.type(desk.service.admin.email)
    await tabTo(page.locator('input[type=password]'))
    await page.keyboard.type('something else')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('alert').textContent()).toBe('The e-mail address or the password is wrong.')
    expect(await page.getByLabel('E-mail').inputValue()).toBe(desk.service.admin.email)

    await page.locator('input[type=password]').fill('')
    await page.locator('input[type=password]').focus()
    await page.keyboard.type(desk.service.admin.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
    await page.getByRole('banner').getByText(desk.service.tenant.slug).waitFor()
  })

  test('a sign-in that ends while a member types loses nothing: they sign in above the page and continue', async () => {
    const page = await visit('/keys')
    await page.getByRole('table').waitFor()
    await spoil(page)
    await page.reload()
    await page.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    await signInAs(page, desk.service.admin)
    await enter(page.getByRole('button', { name: 'Create a key' }))
    await page.getByRole('textbox', { name: 'Label' }).fill('Typed before')

    await spoil(page)
    await enter(page.getByRole('button', { name: 'Create the key' }))
    await page.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    expect(await axeFindings(page)).toEqual([])
    await signInAs(page, desk.service.admin)
    // The refused request has been sent again.
    await page.getByLabel('The secret').waitFor()
    await enter(page.getByRole('button', { name: 'I have stored it' }))
    await page.getByRole('cell', { name: 'Typed before', exact: true }).waitFor()
    const { json } = await desk.service.call('GET', '/keys')
    expect(json.data.filter(({ label }: { label: string }) => label === 'Typed before')).toHaveLength(1)
  })

  test('signing out signs out every tab, and hides everything seen', async () => {
    const page = await visit('/keys')
    const other = await page.context().newPage()
    await other.goto(`${desk.service.url}/console/keys`)
    await other.getByRole('table').waitFor()
    await enter(page.getByRole('button', { name: 'Account' }))
    await page.getByText(desk.service.admin.email).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await signInForm(page).waitFor()
    await signInForm(other).waitFor()
    await other.reload()
    await signInForm(other).waitFor()
    expect(await page.evaluate((key) => localStorage.getItem(key), SESSION)).toBeNull()
  })

  const refuse = (page: Page) =>
    page.route('**/graphql', (route) =>
      route.fulfill({
        status: 401,
        contentType: 'application/problem+json',
        body: '{"code":"invalid_admin_token","detail":"It has expired."}',
      }),
    )

  test('a sign-in that one tab finds ended takes nothing from the others: after one sign-in, all continue', async () => {
    const page = await visit('/keys')
    const other = await page.context().newPage()
    await other.goto(`${desk.service.url}/console/keys`)
    await enter(other.getByRole('button', { name: 'Create a key' }))
    await other.getByRole('textbox', { name: 'Label' }).fill('In the other tab')
    await refuse(page)
    await page.getByRole('link', { name: 'Readers' }).click()
    await page.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    await other.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    expect(await page.evaluate((key) => localStorage.getItem(key), SESSION)).toContain('"hasEnded":true')
    await page.unroute('**/graphql')
    await signInAs(page, desk.service.admin)
    await other.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor({ state: 'detached' })
    expect(await other.getByRole('textbox', { name: 'Label' }).inputValue()).toBe('In the other tab')
  })

  test('an admin who signs in again in a new tab is recognised, however the address is typed', async () => {
    const page = await visit('/keys')
    await enter(page.getByRole('button', { name: 'Create a key' }))
    await page.getByRole('textbox', { name: 'Label' }).fill('Still here')
    await refuse(page)
    await enter(page.getByRole('button', { name: 'Create the key' }))
    await page.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    await page.unroute('**/graphql')
    const other = await page.context().newPage()
    await other.goto(`${desk.service.url}/console/keys`)
    await signInAs(other, { ...desk.service.admin, email: desk.service.admin.email.toUpperCase() })
    await other.getByRole('cell', { name: /^ek_/ }).first().waitFor()
    // The waiting request was sent.
    expect(await page.getByLabel('The secret').textContent()).toMatch(/^ek_/)
  })

  test('a page that only listens asks for a sign-in once its stream is refused, and sends no more requests until then', async () => {
    const { json } = await desk.service.call('POST', '/discussions', { body: { externalId: 'listening' } })
    const page = await visit('/keys')
    let refused = 0
    await page.route('**/graphql/stream**', (route) => {
      refused++
      return route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{}' })
    })
    await page.clock.install()
    await page.goto(`${desk.service.url}/console/discussions/${json.id}`)
    await page.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    const before = refused
    // Longer than the longest pause between two attempts.
    await page.clock.runFor(31_000)
    // The test's own request comes after any that the page has made meanwhile.
    await page.evaluate(() => fetch('/graphql/stream?after'))
    expect(refused).toBe(before + 1)
    await page.unroute('**/graphql/stream**')
    await signInAs(page, desk.service.admin)
  })

  test('nothing that one admin has seen or begun passes to another one, who signs in in another tab', async () => {
    const globe = await desk.service.addTenant('globe')
    const page = await visit('/keys')
    await enter(page.getByRole('button', { name: 'Create a key' }))
    await page.getByRole('textbox', { name: 'Label' }).fill('Only for the first tenant')
    await refuse(page)
    await enter(page.getByRole('button', { name: 'Create the key' }))
    await page.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()

    const other = await page.context().newPage()
    await other.goto(`${desk.service.url}/console/keys`)
    const asGlobe: string[] = []
    await page.unroute('**/graphql')
    page.on('request', (request) => asGlobe.push(request.postData() ?? ''))
    await signInAs(other, globe.admin)
    await page.getByRole('banner').getByText('globe', { exact: true }).waitFor()
    await page.getByRole('cell', { name: /^ek_/ }).first().waitFor()
    expect(await page.getByText('Only for the first tenant').count()).toBe(0)
    expect(await page.getByText(desk.service.tenant.slug, { exact: true }).count()).toBe(0)
    expect(asGlobe.filter((body) => body.includes('Only for the first tenant'))).toEqual([])
  })

  test('a page kept by the browser shows nothing to a person who goes back to it after the sign-out', async () => {
    const page = await visit('/keys')
    await page.getByRole('table').waitFor()
    await page.evaluate((key) => {
      localStorage.removeItem(key)
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))
    }, SESSION)
    await signInForm(page).waitFor()
    expect(await page.getByRole('table').count()).toBe(0)
  })

  test('the theme follows the system until one is chosen, and is then kept', async () => {
    const page = await visit('/keys', { view: { width: 1280, theme: 'dark' } })
    const scheme = () => page.locator('html').getAttribute('data-mantine-color-scheme')
    expect(await scheme()).toBe('dark')
    await choose(page.getByRole('button', { name: 'Theme' }), 'Light')
    expect(await scheme()).toBe('light')
    await page.reload()
    expect(await scheme()).toBe('light')
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await visit('/', { view: NARROW, signIn: false })
    await signInForm(page).waitFor()
    await expectAccessible(page, 'sign-in')
  })
})
