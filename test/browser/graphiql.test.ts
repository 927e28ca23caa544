import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { openDesk, WAIT } from '../harness/console.ts'

describeInBrowser('GraphiQL', () => {
  const desk = openDesk()

  test('is served without third parties, and runs its first query with the key in its headers', async () => {
    const page = await desk.browser.newPage()
    const foreign: string[] = []
    page.on('request', (request) => {
      const url = request.url()
      if (!/^(blob|data):/.test(url) && !url.startsWith(desk.service.url)) foreign.push(url)
    })
    await page.goto(`${desk.service.url}/graphql`)
    const said = page.getByRole('region', { name: 'Result Window' }).getByRole('textbox')
    // The schema needs no key: completion and documentation work at once.
    await page.getByRole('button', { name: /Documentation Explorer/ }).click()
    await page.getByRole('link', { name: 'Query' }).or(page.getByText('query: Query')).first().waitFor()
    expect(await said.inputValue()).not.toContain('errors')
    await page.getByRole('region', { name: 'Headers' }).getByRole('textbox').focus()
    // Between the quotes of the second line.
    for (const key of ['Control+Home', 'ArrowDown', 'End', 'ArrowLeft']) await page.keyboard.press(key)
    await page.keyboard.insertText(desk.service.apiKey)
    await page.getByRole('button', { name: /^Execute query/ }).click()
    await expect.poll(() => said.inputValue(), WAIT).toContain('edges')
    expect(foreign).toEqual([])
    await page.close()
  })
})
