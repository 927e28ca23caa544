import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { describeInBrowser, launchBrowser } from '../harness/browser.ts'
import { useFolder } from '../harness/folders.ts'
import { ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { useService } from '../harness/service.ts'
import { windowOf } from '../harness/widget.ts'

const WAIT = { timeout: 20_000, interval: 20 }

/** The sites of frameworks in examples, and what builds and starts each. */
const SITES = [
  {
    folder: 'nextjs',
    framework: 'next',
    components: 'react',
    build: ['node_modules/next/dist/bin/next', 'build'],
    start: ['node_modules/next/dist/bin/next', 'start', '--hostname', '127.0.0.1'],
  },
  {
    folder: 'nuxt',
    framework: 'nuxt',
    components: 'vue',
    build: ['node_modules/nuxt/bin/nuxt.mjs', 'build'],
    start: ['.output/server/index.mjs'],
  },
]

describeInBrowser('examples', () => {
  describe.each(SITES)('$folder', ({ folder, framework, components, build, start }) => {
    const cwd = join(ROOT, 'examples', folder)
    const isInstalled = existsSync(join(cwd, 'node_modules', framework))
    const skipped = isInstalled ? '' : ' (skipped: its packages are not installed)'

    describe.skipIf(!isInstalled)(`as a site in production${skipped}`, () => {
      const service = useService()
      let browser: Browser
      let site: ChildProcess
      let url: string
      /** What the site has written to its log of errors. */
      let failures = ''
      const packages = useFolder()

      beforeAll(async () => {
        browser = await launchBrowser()
        execFileSync(process.execPath, [join(ROOT, 'deploy/npm/packages.mjs'), packages])
        for (const [from, name] of [
          [components, `engagement-${components}`],
          ['browser', 'engagement-service'],
        ] as const) {
          const to = join(cwd, 'node_modules', name)
          rmSync(to, { recursive: true, force: true })
          cpSync(join(packages, from), to, { recursive: true })
        }
        const { PATH, HOME } = process.env
        const quiet = { PATH, HOME, NEXT_TELEMETRY_DISABLED: '1' }
        // The build needs neither the service nor its keys.
        execFileSync(process.execPath, build, { cwd, env: quiet, stdio: 'pipe' })
        const port = await freePort()
        url = `http://127.0.0.1:${port}`
        await service.call('PATCH', '/settings', { body: { allowedOrigins: [url] } })
        const key = await service.call('POST', '/keys', { body: { label: 'pages', capabilities: [] } })
        site = spawn(process.execPath, start, {
          cwd,
          env: {
            ...quiet,
            HOST: '127.0.0.1',
            PORT: String(port),
            ENGAGEMENT_URL: service.url,
            ENGAGEMENT_API_KEY: key.json.key,
            ENGAGEMENT_TENANT: service.tenant.slug,
            ENGAGEMENT_IDENTITY_SECRET: service.identitySecret.secret,
          },
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        site.stderr?.on('data', (text) => (failures += String(text)))
        await vi.waitFor(() => fetch(url), WAIT)
      })
      afterEach(() => expect(failures).toBe(''))
      afterAll(async () => {
        if (site) {
          const exited = once(site, 'exit')
          site.kill()
          await exited
        }
        await browser?.close()
      })

      const post = async (body: string): Promise<void> => {
        const path = '/discussions/by-external/night-trains/comments'
        await service.ok('POST', path, { body }, await service.as('cat'))
      }

      test('draws the comments into its page, which the widget takes over, and signs readers in', async () => {
        await post('The first one')
        const html = await (await fetch(`${url}/articles/night-trains`)).text()
        expect(html).toMatch(/<template shadowrootmode="open">[^]*The first one/)
        expect(html).toContain('"@type":"DiscussionForumPosting"')
        const context = await browser.newContext()
        const page = await context.newPage()
        const asked: string[] = []
        const said: string[] = []
        page.on('request', (sent) => asked.push(new URL(sent.url()).pathname))
        page.on('console', (message) => said.push(message.text()))
        page.on('pageerror', (error) => said.push(error.message))
        await page.addInitScript(`window.shifts = []
        new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
          .observe({ type: 'layout-shift', buffered: true })`)
        await page.goto(`${url}/articles/night-trains`)
        const { button, sees, write, thread } = windowOf(page)
        await button('Sign in to comment').waitFor()
        expect(await page.evaluate('window.shifts')).toEqual([])
        await post('A later one')
        await button('1 new comment').click()
        await sees('A later one')
        expect(asked.filter((path) => /^\/engagement\/(thread|comments|me)/.test(path))).toEqual([])

        await button('Sign in to comment').click()
        await thread.getByRole('textbox', { name: 'Write a comment' }).waitFor()
        expect(new URL(page.url()).pathname).toBe('/articles/night-trains')
        await write('My own one')
        await thread.locator('article').getByText('My own one').waitFor()
        expect(said.filter((text) => !/favicon|404/.test(text))).toEqual([])
        await context.close()
      })

      test('shows the comments also where a reader comes by a link of the site', async () => {
        await post('Behind the link')
        const page = await browser.newPage()
        await page.goto(url)
        await page
          .locator('engagement-count')
          .getByText(/comments?$/)
          .waitFor()
        await page.evaluate('window.isOnePage = true')
        await page.getByRole('link', { name: 'The night train is back' }).click()
        await windowOf(page).sees('Behind the link')
        expect(await page.evaluate('window.isOnePage')).toBe(true)
        await page.close()
      })
    })
  })
})
