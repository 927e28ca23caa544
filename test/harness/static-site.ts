import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { launchBrowser } from './browser.ts'
import { startService, type TestService } from './service.ts'
import { startStaticPages } from './static-pages.ts'
import { WAIT, type Window, windowOf } from './widget.ts'

/** The service, a site without a backend whose pages have the widget, and a visitors' browser. */
export interface StaticSite {
  service: TestService
  origin: string
  id: string
  publicKey: string
  /** The windows of one browser, which share what it stores. Another one after `leave`. */
  readonly context: BrowserContext
  /** Opens a path of the site, or an address. Its page must not meet a violation of its policy. */
  visit(path: string, prepare?: (page: Page) => Promise<unknown>): Promise<Window>
  /** A moderator's request, or one with these headers; fails where it is refused. */
  ok: TestService['ok']
  /** The external id of a page, for an address. */
  idOf(path: string): string
  /** Posts without the widget. */
  post(path: string, body: string): Promise<void>
  /** Closes what `visit` has opened, and looks for violations. */
  leave(): Promise<void>
  close(): Promise<void>
}

export const newPath = (): string => `/p-${newId()}`

export async function openStaticSite(env: Record<string, string>): Promise<StaticSite> {
  const service = await startService({
    env: { UNAUTHENTICATED_RATE_PER_SECOND: '500', UNAUTHENTICATED_RATE_BURST: '5000', ...env },
  })
  const { ok } = service
  let publicKey = ''
  const pages = await startStaticPages(service.url, () => publicKey)
  const { origin } = pages
  const site = await ok('POST', '/sites', { name: 'Pages', origins: [origin] })
  publicKey = site.publicKey
  const browser = await launchBrowser()
  let context = await browser.newContext()
  const idOf = (path: string): string => encodeURIComponent(origin + path)
  return {
    service,
    origin,
    id: site.id,
    publicKey,
    get context() {
      return context
    },
    visit: async (path, prepare) => {
      const page = await context.newPage()
      page.setDefaultTimeout(WAIT.timeout)
      await prepare?.(page)
      await page.goto(path.startsWith('http') ? path : origin + path)
      return windowOf(page)
    },
    ok,
    idOf,
    post: async (path, body) =>
      ok('POST', `/discussions/by-external/${idOf(path)}/comments`, { body }, await service.as('bob')),
    leave: async () => {
      const violations = await Promise.all(
        context.pages().map((page) => page.evaluate<string[] | undefined>('window.violations')),
      )
      await context.close()
      context = await browser.newContext()
      expect(violations.flat().filter(Boolean)).toEqual([])
    },
    close: async () => {
      await browser.close()
      await pages.close()
      await service.close()
    },
  }
}
