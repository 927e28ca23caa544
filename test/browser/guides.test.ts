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
    const navigation = page.getByRole('navigation', { name: 'Documentation' })
    await navigation.getByRole('link', { name: 'Guides' }).waitFor()
    await page.getByRole('link', { name: 'POST /api/v1/comments/{id}/pin' }).click()
    await page.locator('#reference').getByText('Pin a comment').first().waitFor()
    expect(asked).toContain('/docs/scalar.js')
    await navigation.getByRole('link', { name: 'Guides' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    // Scalar warns of each part of the document that it does not take.
    expect(warned).toEqual([])
    // An address of an operation opens it at once.
    const { hash } = new URL(page.url())
    const other = await browser.newPage()
    await other.goto(`${service.url}/docs${hash}`)
    await other.locator('#reference').getByText('Pin a comment').first().waitFor()
  })

  test('code is copied by a button', { timeout: 60_000 }, async () => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    const errors: string[] = []
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    await page.goto(`${service.url}/docs/guides/widget`)
    const block = page.locator('.code').first()
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await block.locator('pre').textContent())
    expect(await page.locator('.code').count()).toBe(await page.locator('pre').count())
    expect(errors).toEqual([])
    await context.close()
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
