import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'

import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { useServiceAndBrowser } from '../harness/service-browser.ts'

const WAIT = { timeout: 20_000, interval: 20 }
const ARTICLE = 'night-trains'

/** As a cache asks: `fetch` would refuse a page that is kept. */
async function get(url: string, known = ''): Promise<{ status: number | undefined; etag: string; html: string }> {
  const [response] = (await once(request(url, { headers: { 'if-none-match': known } }).end(), 'response')) as [
    IncomingMessage,
  ]
  const html = await textOf(response)
  return { status: response.statusCode, etag: response.headers.etag ?? '', html }
}

describeInBrowser('examples/server-rendered', () => {
  const shared = useServiceAndBrowser()
  const post = (body: string): Promise<string> => shared.post(ARTICLE, 'cat', body)

  describe.each(['express', 'fastify', 'plain'])('%s.mjs', (name) => {
    let site: ChildProcess
    let url: string
    let asked: string[]
    beforeEach(async () => {
      asked = []
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      await shared.service.call('PATCH', '/settings', { body: { allowedOrigins: [url] } })
      const { PATH, HOME } = process.env
      site = spawn(process.execPath, [join(ROOT, `examples/server-rendered/${name}.mjs`)], {
        env: {
          PATH,
          HOME,
          SITE_PORT: String(port),
          ENGAGEMENT_URL: shared.service.url,
          ENGAGEMENT_API_KEY: shared.service.apiKey,
          ENGAGEMENT_TENANT: shared.service.tenant.slug,
          ENGAGEMENT_IDENTITY_SECRET: shared.service.identitySecret.secret,
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [line] = await once(site.stdout as NonNullable<typeof site.stdout>, 'data')
      expect(String(line)).toContain(url)
    })
    afterEach(async () => {
      const exited = once(site, 'exit')
      site.kill('SIGKILL')
      await exited
    })

    const read = async (javaScriptEnabled = true): Promise<Page> => {
      const context = await shared.browser.newContext({ javaScriptEnabled })
      const page = await context.newPage()
      page.on('request', (sent) => asked.push(new URL(sent.url()).pathname))
      await page.goto(`${url}/`)
      return page
    }

    test('sends the comments with the page, which the widget takes over, and follows them live', async () => {
      const text = `Comment of ${name}`
      await post(text)
      // The first one tells the service of the page.
      await get(url)
      const { html, etag } = await get(url)
      expect(html).toContain(text)
      expect(html).toContain('"@type":"DiscussionForumPosting"')
      expect((await get(url, etag)).status).toBe(304)
      const page = await read()
      const thread = page.locator('engagement-thread')
      const phase = (): Promise<unknown> => thread.evaluate((element) => (element as { phase?: string }).phase)
      await vi.waitFor(async () => expect(await phase()).toBe('ready'), WAIT)
      const later = `Later comment of ${name}`
      await post(later)
      expect((await get(url, etag)).status).toBe(200)
      await thread.getByRole('button', { name: '1 new comment' }).click()
      await thread.getByText(later).waitFor()
      expect(await thread.getByText(text, { exact: true }).count()).toBe(1)
      expect(asked.filter((path) => /^\/engagement\/(thread|comments)/.test(path))).toEqual([])
      await thread.getByRole('button', { name: 'Sign in to comment' }).click()
      await thread.getByRole('textbox', { name: 'Write a comment' }).fill(`Own comment of ${name}`)
      await thread.getByRole('button', { name: 'Post', exact: true }).click()
      await thread.locator('article').getByText(`Own comment of ${name}`).waitFor()
      await page.context().close()
    })

    test('shows the comments without JavaScript, page by page', async () => {
      const oldest = await post(`First without JavaScript, ${name}`)
      for (let n = 0; n < 20; n++) await post(`Filler ${n}`)
      const page = await read(false)
      const thread = page.locator('engagement-thread')
      await thread.getByText('Filler 19').first().waitFor()
      expect(await thread.locator(`#c-${oldest}`).count()).toBe(0)
      await thread.getByRole('link', { name: 'More comments' }).click()
      await thread.locator(`#c-${oldest}`).waitFor()
      await page.context().close()
    })
  })
})
