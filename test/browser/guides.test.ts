import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { describeInBrowser, launchBrowser } from '../harness/browser.ts'
import { readPages } from '../harness/markdown.ts'
import { startService, type TestService } from '../harness/service.ts'

describeInBrowser('the pages of the documentation', () => {
  let service: TestService
  let browser: Browser
  beforeAll(async () => {
    service = await startService({ worker: false })
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  test('none scrolls sideways at 390 pixels', { timeout: 120_000 }, async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } })
    const names = readPages().flatMap(({ path }) => /^docs\/(.*)\.md$/.exec(path)?.[1] ?? [])
    expect(names.length).toBeGreaterThan(50)
    const wide: string[] = []
    for (const name of names) {
      await page.goto(`${service.url}/docs/${name.replace(/(^|\/)README$/, '$1')}`)
      if ((await page.evaluate('document.documentElement.scrollWidth')) !== 390) wide.push(name)
    }
    expect(wide).toEqual([])
  })
})
