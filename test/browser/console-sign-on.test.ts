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
    await before.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await before.getByText('Use your identity provider').count()).toBe(0)
    await before.close()
    const page = await visit('/settings#single-sign-on')
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
      await enter(theirs.getByRole('button', { name: 'Use your identity provider' }))
      await theirs.getByLabel('Tenant').fill(tenant)
      await theirs.keyboard.press('Enter')
    }
    await start('no-such-tenant')
    await theirs.getByRole('alert').getByText('There is no such tenant').waitFor()
    provider.login('sam', { ...claims, groups: [] })
    await start(desk.service.tenant.slug)
    await theirs.getByRole('alert').getByText('gives you no role').waitFor()
    // A reload does not say it again.
    expect(new URL(theirs.url()).hash).toBe('')
    await expectAccessible(theirs)
    const again = await visit('/', { signIn: false })
    provider.login('sam', claims)
    await enter(again.getByRole('button', { name: 'Use your identity provider' }))
    await again.getByLabel('Tenant').fill(desk.service.tenant.slug)
    await again.keyboard.press('Enter')
    await again.getByRole('heading', { name: 'Moderation', level: 1 }).waitFor()
    expect(await again.evaluate('document.cookie + JSON.stringify(localStorage)')).not.toContain('eyJ')
    await again.goto(`${desk.service.url}/console/profile`)
    await again.getByText('You have signed in at the identity provider').waitFor()
    expect(await again.getByRole('button', { name: 'Change the password' }).count()).toBe(0)

    // Without it, who came by it is out.
    await enter(section.getByRole('button', { name: 'Turn it off' }))
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Turn off' }))
    await section.getByText('It is never shown again').waitFor()
    await again.goto(`${desk.service.url}/console/`)
    await again.getByRole('dialog', { name: 'Your sign-in has ended' }).waitFor()
  })
})
