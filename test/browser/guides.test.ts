import { expect, test } from 'vitest'

import { axeFindings } from '../harness/axe.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { readPages } from '../harness/markdown.ts'
import { useServiceAndBrowser } from '../harness/service-browser.ts'

describeInBrowser('the pages of the documentation', () => {
  const shared = useServiceAndBrowser()

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`pages are sound by axe, ${colorScheme}, at a desk and on a phone`, async () => {
      const found: string[] = []
      for (const width of [1280, 320]) {
        const page = await shared.browser.newPage({ viewport: { width, height: 800 }, colorScheme })
        for (const name of ['', 'guides/webhooks', 'reference/rest/comments', 'reference/settings', 'nothing/here']) {
          await page.goto(`${shared.service.url}/docs/${name}`)
          found.push(...(await axeFindings(page)).map((finding) => `${width} ${name}: ${finding}`))
        }
        await page.close()
      }
      expect(found).toEqual([])
    })
  }

  test('a search is opened by /, and its result by the keyboard alone', async () => {
    const page = await shared.browser.newPage({ viewport: { width: 390, height: 800 } })
    const asked: string[] = []
    const errors: string[] = []
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.goto(`${shared.service.url}/docs/guides/`, { waitUntil: 'networkidle' })
    expect(asked.filter((path) => /search|index/.test(path))).toEqual([])
    await page.keyboard.press('/')
    const box = page.getByRole('combobox', { name: 'Search the documentation' })
    await box.waitFor()
    await page.keyboard.type('webhooks')
    const first = page.locator('#hits a').first()
    await first.waitFor()
    expect(await first.textContent()).toMatch(/^WebhooksGuides/)
    expect(await axeFindings(page, 'dialog')).toEqual([])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    expect(await first.getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/guides/webhooks')
    expect(errors).toEqual([])
    await page.close()
  })

  test('a search that finds nothing says so, and shows no text as HTML', async () => {
    const page = await shared.browser.newPage()
    await page.goto(`${shared.service.url}/docs/`)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('combobox', { name: 'Search the documentation' }).waitFor()
    await page.keyboard.type('zzzz <img src=x onerror=alert(1)>')
    await page.getByText('Nothing was found.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    // A block of code with tags is found as text.
    await page.keyboard.press('Control+k')
    await page.keyboard.type('engagement-thread')
    await page.locator('#hits a').first().waitFor()
    expect(await page.locator('#hits :is(script, img, engagement-thread)').count()).toBe(0)
    await page.close()
  })

  test('a phone has the pages in a menu, and a wrong address leads back', async () => {
    const page = await shared.browser.newPage({ viewport: { width: 320, height: 700 } })
    await page.goto(`${shared.service.url}/docs/guides/rest`)
    const pages = page.getByRole('navigation', { name: 'Pages of Guides' })
    expect(await pages.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Menu' }).click()
    expect(await pages.getByRole('link', { name: 'REST' }).getAttribute('aria-current')).toBe('page')
    await pages.getByRole('link', { name: 'Webhooks' }).click()
    await page.waitForURL('**/docs/guides/webhooks')
    await page.goto(`${shared.service.url}/docs/guides/no/such/page`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('combobox', { name: 'Search the documentation' }).waitFor()
    await page.keyboard.type('webhooks')
    // Results of the first letters are others.
    await page.locator('#hits a[href*=ebhook]').first().click()
    await page.waitForURL('**/docs/**ebhook**')
    await page.close()
  })

  test('the colours are chosen once, for the console as well', async () => {
    const context = await shared.browser.newContext({ colorScheme: 'light' })
    const page = await context.newPage()
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    await page.goto(`${shared.service.url}/docs/guides/`)
    const light = await background()
    await page.getByRole('combobox', { name: 'Colours' }).selectOption('dark')
    const dark = await background()
    expect(dark).not.toBe(light)
    await page.goto(`${shared.service.url}/docs/reference/`)
    expect(await background()).toBe(dark)
    await page.goto(`${shared.service.url}/console/`)
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
    await context.close()
  })

  test('code is copied by a button', async () => {
    const context = await shared.browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    const errors: string[] = []
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    await page.goto(`${shared.service.url}/docs/guides/widget`)
    const block = page.locator('.code').first()
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await block.locator('pre').textContent())
    expect(await page.locator('.code').count()).toBe(await page.locator('pre').count())
    expect(errors).toEqual([])
    await context.close()
  })

  test('examples name the service that serves them, but where the service names BASE_URL', async () => {
    const page = await shared.browser.newPage()
    const codeAt = async (name: string): Promise<string> => {
      await page.goto(`${shared.service.url}/docs/${name}`)
      return (await page.locator('main code').allTextContents()).join('\n')
    }
    expect(await codeAt('guides/static-page')).toContain(`src="${shared.service.url}/widget.js"`)
    expect(await codeAt('guides/react')).toContain(`service="${shared.service.url}"`)
    for (const name of ['README', 'google', 'okta', 'entra-id', 'keycloak']) {
      const code = await codeAt(`guides/single-sign-on/${name === 'README' ? '' : name}`)
      expect(code).toContain('https://comments.example.com/api/v1/admin/auth/oidc/callback')
      expect(code).not.toContain(shared.service.url)
    }
    expect(await codeAt('guides/notices')).toContain('"https://comments.example.com/console/moderation"')
    expect(await codeAt('operations/deploy')).toContain('BASE_URL=https://comments.example.com')
    await page.close()
  })

  test('none scrolls sideways at 320 pixels', async () => {
    const page = await shared.browser.newPage({ viewport: { width: 320, height: 800 } })
    const names = readPages().flatMap(({ path }) => /^docs\/(.*)\.md$/.exec(path)?.[1] ?? [])
    expect(names.length).toBeGreaterThan(50)
    const wide: string[] = []
    for (const name of names) {
      await page.goto(`${shared.service.url}/docs/${name.replace(/(^|\/)README$/, '$1')}`)
      if ((await page.evaluate('document.documentElement.scrollWidth')) !== 320) wide.push(name)
    }
    expect(wide).toEqual([])
  })
})
