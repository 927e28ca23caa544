import { expect, test } from 'vitest'

import { axeFindings } from '../harness/axe.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper } from '../harness/widget.ts'

describeInBrowser('the lists of a front page', () => {
  const paper = useNewspaper()

  /** Adds both lists to a page of the site, as a template of a front page has them. */
  async function open(attributes: Record<string, string>, width = 1280) {
    const { page } = await paper.read(newArticle(), { width })
    await page.evaluate(
      ([names, given]) => {
        const section = document.createElement('section')
        for (const name of names) {
          const element = document.createElement(name)
          element.append('Loading …')
          for (const [key, value] of Object.entries(given)) element.setAttribute(key, value)
          section.append(element)
        }
        document.body.append(section)
      },
      [['engagement-latest', 'engagement-most-discussed'], attributes] as const,
    )
    await page.evaluate(`import('${paper.service.url}/lists.js').then(() => null)`)
    const list = (name: string) => page.locator(`engagement-${name}`)
    return { page, latest: list('latest'), most: list('most-discussed') }
  }

  test('show the newest comments and the most discussed pages, with links that lead there', async () => {
    const [story, other] = [newArticle(), newArticle()]
    const url = (article: string) => `${paper.site.url}/articles/${article}`
    await paper.call('POST', '/discussions', { externalId: story, title: 'A story & more', url: url(story) })
    await paper
      .call('POST', '/discussions', { externalId: other, title: 'Another', url: 'javascript:alert(1)' })
      .catch(() => null)
    await paper.post(story, 'ann', 'First words')
    await paper.post(other, 'bob', 'On a page without an address')
    const id = await paper.post(story, 'bob', '**Bold** <img src=x onerror=alert(1)> & plain')
    const { page, latest, most } = await open({ limit: '2' })
    await latest.locator('li').nth(1).waitFor()
    expect(await latest.locator('li').count()).toBe(2)
    const newest = latest.locator('li').first()
    expect(await newest.locator('a').getAttribute('href')).toBe(`${url(story)}#comment-${id}`)
    expect(await newest.innerText()).toContain('Bold <img src=x onerror=alert(1)> & plain')
    expect(await newest.innerText()).toContain('A story & more')
    expect(await latest.locator('li').nth(1).locator('a').count()).toBe(0)
    expect(await most.locator('li').first().innerText()).toMatch(/A story & more\s+2 comments/)
    expect(await most.locator('a').first().getAttribute('href')).toBe(url(story))
    expect(await axeFindings(page, 'section:has(engagement-latest)')).toEqual([])
    await newest.locator('a').click()
    await page.waitForURL(`${url(story)}#comment-${id}`)
    await page.locator('engagement-thread').getByText('Bold').waitFor()
  })

  test('follow their attributes and language, and keep what the page has where nothing answers', async () => {
    const { page, latest } = await open({ lang: 'ar', window: 'week' }, 320)
    await latest.locator('ol[dir=rtl]').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await latest.evaluate((element) => element.setAttribute('limit', '1'))
    await expect.poll(() => latest.locator('li').count()).toBe(1)
    await page.route('**/nowhere/**', (route) => route.fulfill({ status: 404, body: '' }))
    const failed = await page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const element = document.createElement('engagement-latest')
          element.setAttribute('backend', '/nowhere')
          element.append('As it was')
          element.addEventListener('engagement-error', () => resolve(element.innerText))
          document.body.append(element)
        }),
    )
    expect(failed).toBe('As it was')
  })
})
