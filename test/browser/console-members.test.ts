import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { choose, enter, expectAccessible, NARROW, openDesk, signInAs, visitConsole } from '../harness/console.ts'
import { addMember, bearing, codeOf, tokenFor } from '../harness/members.ts'

describeInBrowser('the members of the console', () => {
  const desk = openDesk()
  const visit = (path: string, options?: Parameters<typeof visitConsole>[3]) =>
    visitConsole(desk.browser, desk.service, path, options)
  const links = (page: Page) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()
  const isLoaded = (page: Page) =>
    vi.waitFor(async () => expect(await page.getByText(/^Loading/).count()).toBe(0), { timeout: 20_000, interval: 50 })
  const openAccount = (page: Page) => enter(page.getByRole('button', { name: 'Account' }))

  test('an owner invites a person, who accepts by the link and sees what the role may use', async () => {
    const page = await visit('/members')
    await enter(page.getByRole('button', { name: 'Invite a member' }))
    await page.getByLabel('E-mail').fill('mod@example.com')
    await enter(page.getByRole('button', { name: 'Make the link' }))
    const link = (await page.getByLabel('The secret').textContent()) ?? ''
    expect(link).toMatch(/\/console\/invitation#in_[0-9a-f]{64}$/)
    await enter(page.getByRole('button', { name: 'I have stored it' }))
    await page
      .getByRole('row', { name: /mod@example.com/ })
      .getByText('invited')
      .waitFor()

    const theirs = await visit('/', { signIn: false })
    await theirs.goto(link)
    await theirs.getByRole('heading', { name: 'You are invited' }).waitFor()
    await theirs.getByRole('textbox', { name: 'Name' }).fill('Mo')
    await theirs.locator('input[type=password]').fill('a password of their own')
    await theirs.keyboard.press('Enter')
    // Without the analytics they begin with the queue.
    await theirs.getByRole('heading', { name: 'Moderation', level: 1 }).waitFor()
    expect(await links(theirs)).toEqual(['Moderation', 'Search', 'Discussions', 'Readers'])
    // No script of the page can read what signs in.
    expect(await theirs.evaluate('document.cookie + JSON.stringify(localStorage)')).not.toContain('eyJ')
    await theirs.goto(`${desk.service.url}/console/keys`)
    await theirs.getByRole('heading', { name: 'You may not use this page' }).waitFor()
    await theirs.getByText('a role that has the capability manage_api_keys, and yours is moderator').waitFor()
    // The link works once.
    const again = await visit('/', { signIn: false })
    await again.goto(link)
    await again.locator('input[type=password]').fill('another password')
    await again.getByRole('textbox', { name: 'Name' }).fill('Eve')
    await again.keyboard.press('Enter')
    await again
      .getByRole('alert')
      .getByText(/has been used/)
      .waitFor()

    // Another role signs them out at once, and lets them in again.
    const actOn = (name: string) => choose(page.getByRole('button', { name: 'Actions on mod@example.com' }), name)
    await actOn('Change the role')
    await page.getByRole('combobox', { name: 'Role' }).click()
    await page.getByRole('option', { name: /^analyst/ }).click()
    await enter(page.getByRole('button', { name: 'Change the role' }))
    await page
      .getByRole('row', { name: /mod@example.com/ })
      .getByText('analyst')
      .waitFor()
    await theirs.goto(`${desk.service.url}/console/`)
    await theirs.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    await signInAs(theirs, { email: 'mod@example.com', password: 'a password of their own' })
    // They were on the page of the queue, which an analyst may not use.
    await theirs.getByRole('heading', { name: 'You may not use this page' }).waitFor()
    expect(await links(theirs)).toEqual(['Overview', 'Team'])
    await theirs.getByRole('link', { name: 'Overview' }).click()
    await theirs.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()

    await actOn('Remove')
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Remove' }))
    await page.getByRole('row', { name: /mod@example.com/ }).waitFor({ state: 'detached' })
  })

  test('every page that a role has works for it', async () => {
    for (const role of ['editor', 'moderator', 'developer', 'analyst'] as const) {
      const member = await addMember(desk.service, desk.service, role)
      const page = await visit('/', { signIn: false })
      await signInAs(page, member)
      await page.getByRole('heading', { level: 1 }).waitFor()
      for (const name of await links(page)) {
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click()
        await page.getByRole('heading', { level: 1, name }).waitFor()
        await isLoaded(page)
        expect(await page.getByRole('alert').allTextContents(), `${role}: ${name}`).toEqual([])
      }
      await page.close()
    }
  })

  test('a second factor is set up with an app, asked for at the next sign-in, and removed', async () => {
    const member = await addMember(desk.service, desk.service, 'moderator')
    const page = await visit('/profile', { signIn: false })
    await signInAs(page, member)
    await enter(page.getByRole('button', { name: 'Set up an app' }))
    await page.getByRole('img', { name: 'QR code of the secret' }).waitFor()
    const secret = (await page.getByLabel('The secret').textContent()) ?? ''
    await page.getByRole('textbox', { name: 'Code' }).fill('000000')
    await page.keyboard.press('Enter')
    await page.getByText('Code is not the one that the app shows now.').waitFor()
    await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret))
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Your recovery codes' }).waitFor()
    const codes = ((await page.getByLabel('The secret').textContent()) ?? '').split('\n')
    expect(codes).toHaveLength(10)
    await enter(page.getByRole('button', { name: 'I have stored it' }))
    await page.getByRole('button', { name: 'Remove the second factor' }).waitFor()
    await openAccount(page)
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.getByLabel('E-mail').fill(member.email)
    await page.locator('input[type=password]').fill(member.password)
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Code' }).waitFor()
    expect(await page.getByRole('textbox', { name: 'Code' }).evaluate('document.activeElement.autocomplete')).toBe(
      'one-time-code',
    )
    await page.keyboard.type(codes[0] ?? '')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await enter(page.getByRole('button', { name: 'Remove the second factor' }))
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Remove' }))
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  test('a member changes the password, and the page stays', async () => {
    const member = await addMember(desk.service, desk.service, 'analyst')
    const page = await visit('/profile', { signIn: false })
    await signInAs(page, member)
    await page.getByLabel('Present password').fill('a guess')
    await page.getByLabel('New password').fill('the next password')
    await page.keyboard.press('Enter')
    await page.getByText('Present password is wrong.').waitFor()
    await page.getByLabel('Present password').fill(member.password)
    await page.keyboard.press('Enter')
    await page.getByText('Your password is changed.').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    expect(await tokenFor(desk.service, { email: member.email, password: 'the next password' })).toMatch(/\w/)
  })

  test('a member of two tenants chooses one, and switches in the menu', async () => {
    const other = await desk.service.addTenant('other-paper')
    const member = await addMember(desk.service, desk.service, 'moderator')
    const owner = bearing(await tokenFor(desk.service, other.admin))
    const invited = await desk.service.call('POST', '/admin/members', {
      headers: owner,
      body: { email: member.email, role: 'analyst' },
    })
    const token = new URL(invited.json.invitation.url).hash.slice(1)
    const body = { token, password: member.password }
    await desk.service.call('POST', '/admin/auth/accept', { headers: { 'x-api-key': '' }, body })
    const page = await visit('/', { signIn: false })
    await page.getByLabel('E-mail').fill(member.email)
    await page.locator('input[type=password]').fill(member.password)
    await page.keyboard.press('Enter')
    await page.getByRole('combobox', { name: 'Tenant' }).selectOption('other-paper')
    await enter(page.getByRole('button', { name: 'Sign in' }))
    await page.getByRole('banner').getByText('other-paper').waitFor()
    expect(await links(page)).toEqual(['Overview', 'Team'])
    await choose(page.getByRole('button', { name: 'Account' }), desk.service.tenant.slug)
    await page.getByRole('banner').getByText(desk.service.tenant.slug).waitFor()
    await page.getByRole('heading', { name: 'Moderation', level: 1 }).waitFor()
  })

  test('the page of an invitation is accessible in every view', async () => {
    const page = await visit('/invitation', { view: NARROW, signIn: false })
    await page.getByRole('heading', { name: 'You are invited', level: 1 }).waitFor()
    await expectAccessible(page, 'invitation')
  })
})
