import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'
import { open, shut } from './backends.ts'
import { launchBrowser } from './browser.ts'
import { type Processes, startProcesses } from './processes.ts'

export const TAB_WAIT = { timeout: 40_000, interval: 50 }

/**
 * A script that keeps the streams that a page has or tries to open itself in `streams`, and those
 * of them that the service has answered in `connected`.
 */
export const WATCH_STREAMS = `{
  const Own = window.EventSource
  window.streams = new Set()
  window.connected = new Set()
  window.EventSource = class extends Own {
    constructor(url) {
      super(url)
      window.streams.add(this)
      this.addEventListener('connected', () => window.connected.add(this))
    }
    close() {
      super.close()
      window.streams.delete(this)
      window.connected.delete(this)
    }
  }
}`

interface TabPage {
  /**
   * The page's module: `window.follow(given)` follows, `/credential` answers a POST with a fresh
   * credential. It may import the modules of `dist/clients`.
   */
  script: string
  /** How many connections a tab has open itself: an expression. */
  opened: string
  credential: (service: Processes) => Promise<{ json: unknown }>
}

/** A service in processes of its own, and a site whose tabs in one browser follow it together. */
interface TabSite {
  readonly service: Processes
  readonly browser: Browser
  readonly url: string
  /** Opens a tab, and has it follow. */
  follow(given: object): Promise<Page>
  /** The one of these tabs that holds the connection of all. */
  leaderOf(tabs: readonly Page[]): Promise<Page>
}

/** For the tests of a file. Each has a context of its own. */
export function useTabSite({ script, opened, credential }: TabPage): TabSite {
  let service: Processes
  let browser: Browser
  let context: BrowserContext
  let url: string
  const page = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module">${script}</script>`
  const site = createServer((request, response) => {
    const { url: path = '/' } = request
    if (path === '/credential') {
      credential(service).then(
        ({ json }) => response.end(JSON.stringify(json)),
        () => response.writeHead(502).end(),
      )
    } else if (/^\/\w+\/\w+\.js$/.test(path)) {
      response.setHeader('content-type', 'text/javascript')
      response.end(readFileSync(join(ROOT, 'dist/clients', path)))
    } else response.setHeader('content-type', 'text/html').end(page)
  })
  beforeAll(async () => {
    service = await startProcesses({ worker: 0 })
    url = await open(site)
    await service.call('PATCH', '/settings', { body: { allowedOrigins: [url] } })
    browser = await launchBrowser('whole')
  })
  afterAll(async () => {
    await browser?.close()
    await shut(site)
    await service?.close()
  })
  beforeEach(async () => void (context = await browser.newContext()))
  afterEach(() => context.close())
  const openIn = (tabs: readonly Page[]): Promise<number[]> =>
    Promise.all(tabs.map((tab) => tab.evaluate<number>(opened)))
  return {
    get service() {
      return service
    },
    get browser() {
      return browser
    },
    get url() {
      return url
    },
    follow: async (given) => {
      const tab = await context.newPage()
      await tab.goto(url)
      await tab.evaluate(`follow(${JSON.stringify(given)})`)
      return tab
    },
    leaderOf: async (tabs) => {
      const one = [...tabs.slice(1).map(() => 0), 1]
      await vi.waitFor(async () => expect((await openIn(tabs)).toSorted((a, b) => a - b)).toEqual(one), TAB_WAIT)
      return tabs[(await openIn(tabs)).indexOf(1)] as Page
    },
  }
}
