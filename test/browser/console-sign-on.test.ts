import { afterAll, beforeAll, expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, openDesk, visitConsole } from '../harness/console.ts'
import { CLIENT, startProvider, type TestProvider } from '../harness/oidc-provider.ts'
import { startService } from '../harness/service.ts'

describeInBrowser('single sign-on in the console', () => {
  const desk = openDesk(() => startService({ worker: false, env: { WEBHOOK_ALLOW_HTTP: 'true' } }))
  let provider: TestProvider

  beforeAll(async () => {
    provider = await startProvider(`${desk.service.url}/api/v1/admin/auth/oidc/callback`)
  })
  afterAll(() => provider.close())

  const claims = { email: 'sso@example.com', email_verified: true, name: 'Sam', groups: ['mods'] }
  const visit = (path: string, options?: Parameters<typeof visitConsole>[3]) =>
    visitConsole(desk.browser, desk.service, path, options)

  test('an owner sets it up, a person signs in by it, and a refusal says why', async () => {
    const before = await visit('/', { signIn: false })
    await before.page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await before.page.getByText('Use your identity provider').count()).toBe(0)
    await before.close()
    const { page, complaints, close } = await visit('/settings#single-sign-on')
    const section = page.getByRole('region', { name: 'Single sign-on' })
    await section.getByText(`${desk.service.url}/api/v1/admin/auth/oidc/callback`).waitFor()
    const fill = (label: string, text: string) => section.getByLabel(label).fill(text)
    const save = () => enter(section.getByRole('button', { name: 'Save the single sign-on' }))
    await fill('Issuer', provider.issuer)
    await fill('Client ID', CLIENT.clientId)
    await fill('Domains of e-mail addresses', 'not a domain, Example.com')
    await fill('Claim with the roles', 'groups')
    await section.getByRole('textbox', { name: 'Roles', exact: true }).fill('mods = moderater\n')
    await save()
    await section.getByText(/^Domains of e-mail addresses, number 1, must be a domain/).waitFor()
    await fill('Domains of e-mail addresses', 'Example.com')
    await section.getByRole('textbox', { name: 'Roles', exact: true }).fill('mods = moderator\n')
    await save()
    await section.getByText('Client secret is required with another issuer or client.').waitFor()
    await section.locator('input[type=password]').fill(CLIENT.clientSecret)
    await save()
    await page.getByText('Single sign-on is saved.').waitFor()
    await section.getByText('Leave it empty to keep the present one').waitFor()
    expect(await section.locator('input[type=password]').inputValue()).toBe('')
    await expectAccessible(page)

    const theirs = await visit('/', { signIn: false })
    const start = async (tenant: string): Promise<void> => {
      await enter(theirs.page.getByRole('button', { name: 'Use your identity provider' }))
      await theirs.page.getByLabel('Tenant').fill(tenant)
      await theirs.page.keyboard.press('Enter')
    }
    await start('no-such-tenant')
    await theirs.page.getByRole('alert').getByText('There is no such tenant').waitFor()
    provider.login('sam', { ...claims, groups: [] })
    await start(desk.service.tenant.slug)
    await theirs.page.getByRole('alert').getByText('gives you no role').waitFor()
    // A reload does not say it again.
    expect(new URL(theirs.page.url()).hash).toBe('')
    await expectAccessible(theirs.page)
    const again = await visit('/', { signIn: false })
    provider.login('sam', claims)
    await enter(again.page.getByRole('button', { name: 'Use your identity provider' }))
    await again.page.getByLabel('Tenant').fill(desk.service.tenant.slug)
    await again.page.keyboard.press('Enter')
    await again.page.getByRole('heading', { name: 'Moderation', level: 1 }).waitFor()
    expect(await again.page.evaluate('document.cookie + JSON.stringify(localStorage)')).not.toContain('eyJ')
    await again.page.goto(`${desk.service.url}/console/profile`)
    await again.page.getByText('You have signed in at the identity provider').waitFor()
    expect(await again.page.getByRole('button', { name: 'Change the password' }).count()).toBe(0)

    // Without it, who came by it is out.
    await enter(section.getByRole('button', { name: 'Turn it off' }))
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Turn off' }))
    await section.getByText('It is never shown again').waitFor()
    await again.page.goto(`${desk.service.url}/console/`)
    await again.page.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
    expect([...complaints, ...theirs.complaints, ...again.complaints]).toEqual([])
    for (const each of [theirs, again]) await each.close()
    await close()
  })
})
