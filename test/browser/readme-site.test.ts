import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, expect, test, vi } from 'vitest'

import { describeInBrowser, launchBrowser } from '../harness/browser.ts'
import { useFolder } from '../harness/folders.ts'
import { freePort } from '../harness/ports.ts'
import { useService } from '../harness/service.ts'

const ROOT = join(import.meta.dirname, '../..')
const WAIT = { timeout: 20_000, interval: 20 }

/** The whole site of the widget's guide, unchanged. */
function serverOfGuide(): string {
  const guide = readFileSync(join(ROOT, 'docs/guides/widget.md'), 'utf8')
  const code = /```js\n(import express[^]*?)```/.exec(guide)?.[1]
  if (code === undefined) throw new Error('the guide of the widget has no site')
  return code
}

describeInBrowser('the site of the guide of the widget', () => {
  const service = useService()
  const folder = useFolder()
  beforeAll(async () => {
    writeFileSync(join(folder, 'server.mjs'), serverOfGuide())
    // As `npm install express <path to this folder>` does.
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(ROOT, 'node_modules/express'), join(folder, 'node_modules/express'))
    symlinkSync(ROOT, join(folder, 'node_modules/engagement-service'))
  })

  async function withSite(visit: (url: string) => Promise<void>): Promise<void> {
    const port = await freePort()
    const url = `http://localhost:${port}`
    const key = await service.call('POST', '/keys', { body: { label: 'pages', capabilities: [] } })
    await service.call('PATCH', '/settings', { body: { allowedOrigins: [url] } })
    const env = {
      ...process.env,
      SITE_PORT: String(port),
      ENGAGEMENT_URL: service.url,
      ENGAGEMENT_API_KEY: key.json.key,
      ENGAGEMENT_TENANT: service.tenant.slug,
      ENGAGEMENT_IDENTITY_SECRET: service.identitySecret.secret,
    }
    const site = spawn(process.execPath, ['server.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    site.stdout.on('data', (text: Buffer) => (said += text.toString()))
    try {
      await vi.waitFor(() => expect(said).toBe(`${url}\n`), WAIT)
      await visit(url)
    } finally {
      site.kill()
    }
  }

  test('runs as written: a reader signs in, comes back, writes, and gets events of others', () =>
    withSite(async (url) => {
      const browser = await launchBrowser()
      try {
        const page = await browser.newPage()
        const said: string[] = []
        page.on('console', (message) => said.push(message.text()))
        await page.goto(url)
        await page.getByRole('button', { name: 'Sign in to comment' }).click()
        await page.getByRole('link', { name: 'Ann' }).click()
        await page.getByRole('textbox', { name: 'Write a comment' }).fill('Hello')
        await page.getByRole('button', { name: 'Post', exact: true }).click()
        await page.getByRole('button', { name: 'More actions' }).click()
        await page.getByRole('menuitem', { name: 'Delete' }).waitFor()
        const { json } = await service.call('GET', '/discussions/by-external/article-123')
        expect(json).toMatchObject({ title: 'The night train is back', commentCount: 1 })
        const headers = await service.as('bob')
        await service.call('POST', `/discussions/${json.id}/comments`, { body: { body: 'Hello, Ann' }, headers })
        await page.getByRole('button', { name: '1 new comment' }).waitFor()
        expect(page.url()).toBe(`${url}/`)
        expect(said.filter((text) => !text.includes('favicon') && !text.includes('404'))).toEqual([])
      } finally {
        await browser.close()
      }
    }))

  test.each(['//evil.example', '/.//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)'])(
    'its sign-in leads to no other site: %s',
    (place) =>
      withSite(async (url) => {
        const asked = `${url}/login?as=ann&return=${encodeURIComponent(place)}`
        const { status, headers } = await fetch(asked, { redirect: 'manual' })
        expect(status).toBe(302)
        expect(new URL(headers.get('location') ?? '', url).origin).toBe(url)
      }),
  )
})
