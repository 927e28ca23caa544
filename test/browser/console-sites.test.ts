import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'

import { open, shut } from '../harness/backends.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'
import { startService } from '../harness/service.ts'

const ORIGIN = 'https://www.example.com'

describeInBrowser('sites in the console', () => {
  const desk = openDesk(() => startService({ env: { WEBHOOK_ALLOW_HTTP: 'true' } }))

  const addSite = (name: string, more: object = {}) => desk.ok('POST', '/sites', { name, origins: [ORIGIN], ...more })

  test('by keyboard alone: add a site, copy its lines, edit it, delete it', async () => {
    const page = await desk.visit('/sites')
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await enter(button('Add a site'))
    await tabTo(page.getByRole('textbox', { name: 'Name' }))
    await page.keyboard.type('Magazine')
    await tabTo(page.getByRole('textbox', { name: 'Origins' }))
    // People paste the address of a page.
    await page.keyboard.type(`${ORIGIN}/a/page?of=it`)
    await page.keyboard.press('Enter')
    await page.keyboard.type('http://localhost:8080')
    await enter(button('Add the site'))

    await page.getByRole('heading', { name: 'Magazine' }).waitFor()
    const { data } = await desk.ok('GET', '/sites')
    const site = data.find(({ name }: { name: string }) => name === 'Magazine')
    expect(site).toMatchObject({ origins: [ORIGIN, 'http://localhost:8080'], posting: true })
    const lines = `<script type="module" src="${desk.service.url}/widget.js"></script>
<engagement-thread site="${site.publicKey}"></engagement-thread>`
    await enter(button('Copy').first())
    await button('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(lines)

    await enter(button('Edit'))
    await tabTo(page.getByRole('switch', { name: 'Readers can write' }))
    await page.keyboard.press('Space')
    await enter(button('Save'))
    await page.getByText('posting is off').waitFor()
    expect(await desk.ok('GET', `/sites/${site.id}`)).toMatchObject({ posting: false, origins: site.origins })

    await enter(button('Delete'))
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Pages with its key show no comments any more').waitFor()
    await enter(dialog.getByRole('button', { name: 'Delete' }))
    await page.getByText('There is no site yet').waitFor()
    expect((await desk.service.call('GET', `/sites/${site.id}`)).status).toBe(404)
  })

  test('a refusal of an origin is shown at the field, and what was written stays', async () => {
    const page = await desk.visit('/sites')
    await page.getByRole('button', { name: 'Add a site' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Wrong')
    await page.getByRole('textbox', { name: 'Origins' }).fill('https://*.example.com')
    await page.getByRole('button', { name: 'Add the site' }).click()
    await page.getByRole('dialog').getByText('must be an origin').waitFor()
    expect(await page.getByRole('textbox', { name: 'Origins' }).inputValue()).toBe('https://*.example.com')
  })

  test('the preview shows the comments of the site as its lines do', async () => {
    const { id, publicKey } = await addSite('Preview')
    const { body } = await desk.ok(
      'POST',
      `/discussions/by-external/${encodeURIComponent(`${ORIGIN}/`)}/comments`,
      { body: 'Seen from the console' },
      await desk.service.as('ann'),
    )
    expect(body).toBe('Seen from the console')
    const page = await desk.visit(`/sites/${id}`)
    const thread = page.locator('engagement-thread')
    await thread.getByText('Seen from the console').waitFor()
    await page.getByRole('combobox', { name: 'Theme' }).selectOption('Dark')
    await page.getByLabel('Language').selectOption('German')
    await page.getByLabel('Sort').selectOption('Best first')
    await page.getByLabel('Replies shown at once').selectOption('None')
    await thread.getByRole('heading', { name: 'Kommentare' }).waitFor()
    await thread.getByText('Seen from the console').waitFor()
    const given = ' theme="dark" lang="de" sort="top" replies="0"'
    await page.getByText(`<engagement-thread site="${publicKey}"${given}></engagement-thread>`).waitFor()
  })

  test('the test of a page says what is missing, and whose a token is', async () => {
    const { id } = await addSite('Tested', { posting: false })
    const page = await desk.visit(`/sites/${id}`)
    const address = page.getByRole('textbox', { name: 'Address of the page' })
    const run = async (text: string): Promise<void> => {
      await address.fill(text)
      await page.getByRole('button', { name: 'Test', exact: true }).click()
    }
    const findings = page.locator('form').getByRole('listitem')
    await run('www.example.com')
    await findings.filter({ hasText: 'This is no address of a page' }).waitFor()
    await run('https://other.example/a-page')
    await findings.filter({ hasText: 'https://other.example is not among the origins' }).waitFor()
    await findings.filter({ hasText: 'no issuer is set' }).waitFor()

    const issuer = await startIssuer()
    await desk.ok('PATCH', '/settings', {
      identity: { issuer: issuer.url, jwksUrl: `${issuer.url}/jwks`, audience: 'pages' },
    })
    await expect
      .poll(async () => {
        await run(`${ORIGIN}/none?utm=1#top`)
        await findings.first().waitFor()
        return (await findings.allInnerTexts()).join('\n')
      }, WAIT)
      .toContain(`${issuer.url} has 1 key to check tokens with.`)
    expect((await findings.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim())).toEqual([
      `Good: ${ORIGIN} is an origin of the site.`,
      `Good: The service answers: ${ORIGIN}/none has no comments yet.`,
      `Good: ${issuer.url} has 1 key to check tokens with.`,
      'To do: Nobody can write: posting is off. Edit the site to turn it on.',
    ])

    await page.getByLabel("A reader's token").fill(await issuer.sign('zoe', 'Zoë', 'pages'))
    await run(`${ORIGIN}/none`)
    await findings.filter({ hasText: 'The token is that of Zoë, with the id zoe.' }).waitFor()
    await page.getByLabel("A reader's token").fill(await issuer.sign('zoe', 'Zoë', 'another'))
    await run(`${ORIGIN}/none`)
    await findings.filter({ hasText: 'The token is refused:' }).waitFor()
  })

  test('a site with guests says so, and what keeps them from getting mails', async () => {
    const { id } = await addSite('With guests', { guests: 'email' })
    const list = await desk.visit('/sites')
    const row = list.getByRole('row').filter({ hasText: 'With guests' })
    await row.getByText('not yet').waitFor()
    await row.getByText('no address for mails').waitFor()
    // The test before has set an issuer.
    await row.getByRole('cell', { name: 'yes', exact: true }).waitFor()
    const { identity } = await desk.ok('GET', '/settings')
    await desk.ok('PATCH', '/settings', { identity: { issuer: null, jwksUrl: null, audience: null } })
    await list.reload()
    await row.getByText('no issuer is set').waitFor()
    await desk.ok('PATCH', '/settings', { identity })
    const silent = await addSite('Silent', { guests: 'email', posting: false })
    const cells = list.getByRole('row').filter({ hasText: 'Silent' }).getByRole('cell', { name: 'no', exact: true })
    await expect.poll(() => cells.count(), WAIT).toBe(2)
    await desk.ok('DELETE', `/sites/${silent.id}`)
    await list.close()

    const page = await desk.visit(`/sites/${id}`)
    await page.getByText('Guests cannot write: no address is set that sends the mails').waitFor()
    await page.getByText('Guests need only the lines above.').waitFor()
    const url = 'https://mailer.example.com/'
    await desk.ok('PATCH', '/settings', { guests: { mailUrl: url } })
    await page.getByText('Guests cannot write: there is no secret to sign the mails with').waitFor()
    const badge = page.getByText('guests can write', { exact: true })
    expect(await badge.count()).toBe(0)
    await desk.ok('POST', '/mail-secrets')
    await badge.waitFor()
    const { app, tenant } = desk.service
    const failure = { url, lastFailureAt: new Date(), lastFailure: 'status 503' }
    await app.prisma.guestMailer.create({ data: { tenantId: tenant.id, ...failure } })
    await page.getByText(`Guests get no mails: ${url} did not take the last one (status 503).`).waitFor()
    await expectAccessible(page, 'site with guests')
    await page.getByRole('textbox', { name: 'Address of the page' }).fill(`${ORIGIN}/a-page`)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.locator('form').getByRole('listitem').filter({ hasText: 'Guests get no mails' }).waitFor()
    await app.prisma.guestMailer.updateMany({ data: { recoveredAt: new Date() } })
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Settings of guests' }).waitFor({ state: 'detached' })
  })

  test('is accessible in every view', async () => {
    const { id } = await addSite('Accessible')
    const list = await desk.visit('/sites', { view: NARROW })
    await list.getByRole('link', { name: 'Accessible' }).waitFor()
    await expectAccessible(list, 'sites')
    await list.close()
    const page = await desk.visit(`/sites/${id}`, { view: NARROW })
    await page.locator('engagement-thread').getByRole('heading').waitFor()
    await page.getByRole('textbox', { name: 'Address of the page' }).fill(`${ORIGIN}/a-page`)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.locator('form').getByRole('listitem').first().waitFor()
    await expectAccessible(page, 'site')
  })
})

/** Keys and tokens as an issuer has them. */
async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }] })
  const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(keys))
  const url = await open(server)
  onTestFinished(() => shut(server))
  return {
    url,
    sign: (sub: string, name: string, audience: string) =>
      new SignJWT({ name })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setIssuer(url)
        .setAudience(audience)
        .setSubject(sub)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
  }
}
