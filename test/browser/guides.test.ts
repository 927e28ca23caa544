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

  test('the reference is a light list, until an operation is opened', { timeout: 60_000 }, async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } })
    const asked: string[] = []
    const warned: string[] = []
    page.on('console', (message) => message.type() === 'warning' && warned.push(message.text()))
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const answer = await page.goto(`${service.url}/docs`, { waitUntil: 'networkidle' })
    expect((await answer!.body()).length).toBeLessThan(60_000)
    expect(asked).toEqual(['/docs', '/docs/start.js'])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await page.getByRole('link', { name: 'POST /api/v1/comments/{id}/pin' }).click()
    await page.locator('#reference').getByText('Pin a comment').first().waitFor()
    expect(asked).toContain('/docs/scalar.js')
    // Scalar warns of each part of the document that it does not take.
    expect(warned).toEqual([])
    // An address of an operation opens it at once.
    const { hash } = new URL(page.url())
    const other = await browser.newPage()
    await other.goto(`${service.url}/docs${hash}`)
    await other.locator('#reference').getByText('Pin a comment').first().waitFor()
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
