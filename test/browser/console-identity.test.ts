import { expect, test } from 'vitest'

import { axeFindings } from '../harness/axe.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, openDesk } from '../harness/console.ts'
import { copySnippets, type LanguageName, languagesHere, languagesMissing, runSnippet } from '../harness/snippets.ts'
import { unnamed } from '../harness/sql.ts'

/** Prints an assertion about a reader whose name is not ASCII. */
const MAIN: Readonly<Record<LanguageName, string>> = {
  Node: `import { signIdentity } from './snippet.mjs'
process.stdout.write(signIdentity('reader-Node', { name: 'Zoë' }))`,
  Python: `from snippet import sign_identity
print(sign_identity('reader-Python', {'name': 'Zoë'}), end='')`,
  PHP: `<?php require 'snippet.php'; echo sign_identity('reader-PHP', ['name' => 'Zoë']);`,
  Go: `package main

import "fmt"

func main() {
	assertion, err := Sign("reader-Go", map[string]any{"name": "Zoë"})
	if err != nil {
		panic(err)
	}
	fmt.Print(assertion)
}`,
}

describeInBrowser('identity in the console', () => {
  const desk = openDesk()

  const KEY_SET = unnamed(`UPDATE identity_key_sets SET due_at = now() + interval '1 day', error = $3,
       fetched_at = now() - $1::int * interval '1 hour', failing_since = now() - $2::int * interval '1 hour'`)
  const setKeySet = ({ fetched, failing, error }: { fetched: number; failing: number; error: string }) =>
    desk.service.app.db.query(KEY_SET, [fetched, failing, error])

  const post = (headers: Record<string, string>) =>
    desk.service.call('POST', '/discussions/by-external/page/comments', { headers, body: { body: 'text' } })

  test(`by keyboard alone: rotate the secret, and each snippet signs with it${languagesMissing}`, async () => {
    const { kid } = desk.service.identitySecret
    const page = await desk.visit('/identity')
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const rotate = button('Rotate the secret')
    await enter(rotate)
    await page.getByText(`Assertions signed with ${kid} are taken for 24 hours more`).waitFor()
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Rotate the secret' }))
    const secret = (await page.getByLabel('The secret', { exact: true }).textContent()) ?? ''
    expect(secret).toMatch(/^ids_[0-9a-f]{64}$/)
    await enter(button('I have stored it'))
    await page
      .getByRole('row', { name: new RegExp(kid) })
      .getByText('in 23 h 59 min')
      .waitFor()
    expect(await page.content()).not.toContain(secret)
    expect((await post(await desk.service.as('ann'))).status).toBe(201)

    const snippets = await copySnippets(page)
    for (const name of languagesHere) {
      const env = { ENGAGEMENT_IDENTITY_SECRET: secret }
      const assertion = await runSnippet(name, { snippet: snippets[name], main: MAIN[name], env })
      const { status, json, text } = await post({ 'x-service-identity': assertion })
      expect(status, `${name}: ${text}`).toBe(201)
      expect(json.author).toMatchObject({ externalId: `reader-${name}`, name: 'Zoë' })
      const withoutSecret = { snippet: snippets[name], main: MAIN[name], env: { ENGAGEMENT_IDENTITY_SECRET: '' } }
      await expect(runSnippet(name, withoutSecret), name).rejects.toThrow(/ENGAGEMENT_IDENTITY_SECRET/)
    }
  })

  test('shows the identity provider of the settings; without keys it says so', async () => {
    const page = await desk.visit('/identity')
    await page.getByText('None is set.').waitFor()
    const identity = { issuer: 'https://login.example', jwksUrl: 'https://login.example/keys.json' }
    await desk.ok('PATCH', '/settings', { identity })
    await page.reload()
    await page.getByText(identity.jwksUrl).waitFor()
    await page.getByText(identity.issuer, { exact: true }).waitFor()
    await page.getByText('The keys have not been fetched yet.').waitFor()
    await setKeySet({ fetched: 3, failing: 2, error: 'connection refused' })
    await page.reload()
    await page.getByText('The keys cannot be fetched: connection refused').waitFor()
    await page.getByText(/until they expire in 20 h 59 min; after that its assertions are refused/).waitFor()
    await setKeySet({ fetched: 25, failing: 24, error: 'timeout' })
    await page.reload()
    await page.getByText('Its assertions are refused: the keys cannot be fetched (timeout)').waitFor()
    await page.getByText('Fetching has failed since').waitFor()
    expect(await axeFindings(page)).toEqual([])
    expect(await page.getByRole('main').getByRole('link', { name: 'Settings' }).getAttribute('href')).toBe(
      '/console/settings',
    )
  })

  test('ends a secret that has leaked, after a question, and says what that means', async () => {
    const page = await desk.visit('/identity')
    const { json: made } = await desk.service.call('POST', '/identity-secrets')
    await page.reload()
    await page.getByRole('button', { name: `End ${made.kid}` }).click()
    const dialog = page.getByRole('dialog')
    // The one of before has 24 h.
    expect(await dialog.textContent()).toMatch(/No reader is identified after .+, when [\da-f]{8} expires, unless/)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'End the secret' }).click()
    await page.getByRole('row', { name: made.kid }).getByText('expired').waitFor()
    const { data } = (await desk.service.call('GET', '/identity-secrets')).json
    const ended = data.find(({ kid }: { kid: string }) => kid === made.kid)
    expect(Date.parse(ended.expiresAt)).toBeLessThanOrEqual(Date.now())
    await page.getByText(/^Create a secret: the one there, [\da-f]{8}, expires in 2[34] h/).waitFor()
    const live = data.filter(({ expiresAt }: { expiresAt: string }) => Date.parse(expiresAt) > Date.now())
    for (const { kid } of live.slice(1)) await desk.service.call('DELETE', `/identity-secrets/${kid}`)
    await page.reload()
    const only = page.getByRole('row', { name: live[0].kid })
    await only.getByText('To end it, create a secret first.').waitFor()
    expect(await only.getByRole('button').count()).toBe(0)
    // The next test looks at a page with a current secret.
    await desk.service.call('POST', '/identity-secrets')
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await desk.visit('/identity', { view: NARROW })
    await page.getByRole('table').waitFor()
    await page.getByRole('tab', { name: 'Node' }).waitFor()
    await expectAccessible(page, 'identity')
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page)
  })
})
