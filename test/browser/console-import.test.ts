import { expect, test } from 'vitest'

import { workOnUploads } from '../../src/transfer/uploads/work.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, openDesk } from '../harness/console.ts'
import { fixture } from '../harness/sources.ts'

describeInBrowser('An import in the console', () => {
  const desk = openDesk()

  const work = () => workOnUploads(desk.service.app, new AbortController().signal)

  test.each([
    ['disqus.xml', 'Disqus', 'a quote'],
    ['wordpress.xml', 'WordPress', 'second line'],
  ])('of %s: uploads it, shows the rehearsal, and imports it', async (name, system, text) => {
    const bodies = async () =>
      ((await desk.ok('GET', '/comments')).data as { body: string | null }[]).map(({ body }) => body)
    const { page, complaints, close } = await desk.visit('/settings#import', { view: NARROW, pollsFast: true })
    // The first part fails once, and is sent again.
    let failures = 0
    await page.route('**/import-uploads/*/parts/*', (route) =>
      failures++ === 0 ? route.abort('connectionreset') : route.continue(),
    )
    await page.locator('input[type=file]').setInputFiles(fixture(name))
    await expect.poll(() => page.getByRole('combobox', { name: 'System' }).inputValue()).toBe(system)
    await enter(page.getByRole('button', { name: 'Upload', exact: true }))
    await page.getByText(`${name} is being rehearsed`).waitFor()
    expect(failures).toBeGreaterThan(1)
    await work()
    const run = page.getByRole('button', { name: 'Import now' })
    await run.waitFor()
    await page.getByText(/^Not taken: /).waitFor()
    await expectAccessible(page)
    expect(await bodies()).not.toContainEqual(expect.stringContaining(text))
    await enter(run)
    await page.getByText(`${name} is being imported`).waitFor()
    await work()
    await page.getByText(`${name} was imported.`).waitFor()
    await expectAccessible(page)
    expect(await bodies()).toContainEqual(expect.stringContaining(text))
    await enter(page.getByRole('button', { name: 'Dismiss' }))
    await page.getByText(`${name} was imported.`).waitFor({ state: 'detached' })
    expect(complaints.filter((each) => !each.includes('ERR_CONNECTION_RESET'))).toEqual([])
    await close()
  })
})
