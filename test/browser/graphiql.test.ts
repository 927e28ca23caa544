import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { browserNeeded, hasBrowser, launchBrowser } from '../harness/browser.ts'
import { startService, type TestService } from '../harness/service.ts'

const WAIT = { timeout: 20_000, interval: 50 }

describe.skipIf(!hasBrowser)(`GraphiQL${browserNeeded}`, () => {
  let browser: Browser
  let service: TestService

  beforeAll(async () => {
    service = await startService({ worker: false })
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  test('comes from the service alone, and runs a query with the key that is put among its headers', async () => {
    const page = await browser.newPage()
    const foreign: string[] = []
    page.on('request', (request) => {
      const url = request.url()
      if (!/^(blob|data):/.test(url) && !url.startsWith(service.url)) foreign.push(url)
    })
    await page.goto(`${service.url}/graphql?query=${encodeURIComponent('{ discussions { edges { node { id } } } }')}`)
    const said = page.getByRole('region', { name: 'Result Window' }).getByRole('textbox')
    await expect.poll(() => said.inputValue(), WAIT).toContain('invalid_api_key')
    await page.getByRole('region', { name: 'Headers' }).getByRole('textbox').focus()
    // Between the quotes of the second line.
    for (const key of ['Control+Home', 'ArrowDown', 'End', 'ArrowLeft']) await page.keyboard.press(key)
    await page.keyboard.insertText(service.apiKey)
    await page.getByRole('button', { name: /^Execute query/ }).click()
    await expect.poll(() => said.inputValue(), WAIT).toContain('edges')
    expect(foreign).toEqual([])
    await page.close()
  })
})
