import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { launchBrowser } from './browser.ts'
import { first, type Processes, startProcesses } from './processes.ts'
import { type Publisher, startPublisher } from './publisher.ts'
import { startService, type TestResponse, type TestService } from './service.ts'

/** The service, a publisher's site with the widget, and a browser for its readers. */
export interface Newspaper {
  browser: Browser
  site: Publisher
  /**
   * Opens an article as a reader (signed out by default). Its page must not meet a violation of its
   * policy.
   */
  read(article: string, options?: ReadOptions): Promise<Window>
  set(settings: object): Promise<void>
  /** Sets them until the test ends. */
  setInTest(settings: object): Promise<void>
  /** Posts without the widget. */
  post(article: string, as: string, body: string, parentId?: string): Promise<string>
  /** A moderator's or a reader's request; throws if it is refused. */
  call: Call
  /** Closes what `read` has opened, and looks for violations. */
  leave(): Promise<void>
  close(): Promise<void>
}

type Call = (method: string, path: string, body?: object, as?: string) => Promise<TestResponse['json']>

export interface ReadOptions {
  as?: string
  query?: string
  width?: number
  javaScriptEnabled?: boolean
  /** How far the page must have come; `load` by default. */
  waitUntil?: 'commit' | 'load'
  /** Called before the page is opened. */
  prepare?: (page: Page) => Promise<unknown>
}

/** One reader's window. */
export interface Window {
  page: Page
  thread: Locator
  comment(text: string): Locator
  button(name: string | RegExp): Locator
  /** Opens the menu of the first comment with this text. Returns what can be chosen. */
  menu(text?: string): Promise<string[]>
  /** Chooses from the menu of the first comment with this text. */
  choose(name: string | RegExp, text?: string): Promise<void>
  write(text: string): Promise<void>
  sees(text: string | RegExp): Promise<void>
  seesNot(text: string): Promise<void>
}

export const WAIT = { timeout: 20_000, interval: 20 }
export const newArticle = (): string => `t-${newId()}`

/**
 * Of a service of this process, or one of its own at `serviceUrl`. Closing it leaves the service.
 */
export async function openNewspaper(
  service: TestService | Processes,
  serviceUrl: string,
  part?: 'whole' | 'shell',
): Promise<Newspaper> {
  const call: Call = async (method, path, body, as) => {
    const headers = as === undefined ? {} : await service.as(as)
    const { status, json, text } = await service.call(method, path, { ...(body && { body }), headers })
    if (status >= 400) throw new Error(`${method} ${path} answered ${status}: ${text}`)
    return json
  }
  // As a publisher should: a backend's key without capabilities.
  const { key: apiKey } = await call('POST', '/keys', { label: 'pages', capabilities: [] })
  const [tenant, identitySecret] =
    'slug' in service ? [service.slug, service.identitySecret] : [service.tenant.slug, service.identitySecret.secret]
  const site = await startPublisher({ serviceUrl, apiKey, tenant, identitySecret })
  await call('PATCH', '/settings', { allowedOrigins: [site.url] })
  const browser = await launchBrowser(part)
  const contexts = new Set<BrowserContext>()

  const read = async (article: string, options: ReadOptions = {}): Promise<Window> => {
    const { as, query = '', width = 1280, javaScriptEnabled = true, waitUntil = 'load', prepare } = options
    const context = await browser.newContext({ viewport: { width, height: 800 }, javaScriptEnabled })
    contexts.add(context)
    context.setDefaultTimeout(WAIT.timeout)
    if (as !== undefined) await context.addCookies([{ name: 'reader', value: as, url: site.url }])
    const page = await context.newPage()
    await prepare?.(page)
    await page.goto(`${site.url}/articles/${article}?${query}`, { waitUntil })
    return windowOf(page)
  }
  const leave = async (): Promise<void> => {
    const pages = [...contexts].flatMap((context) => context.pages())
    const violations = await Promise.all(pages.map((page) => page.evaluate<string[] | undefined>('window.violations')))
    // A request that a handler of a route still makes ends with its page.
    await Promise.all(pages.map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })))
    await Promise.all([...contexts].map((context) => context.close()))
    contexts.clear()
    expect(violations.flat().filter(Boolean)).toEqual([])
  }
  return {
    browser,
    site,
    read,
    leave,
    call,
    set: (settings) => call('PATCH', '/settings', settings),
    setInTest: async (settings) => {
      const before: object = await call('GET', '/settings')
      const earlier = Object.fromEntries(Object.entries(before).filter(([name]) => name in settings))
      onTestFinished(() => call('PATCH', '/settings', earlier))
      await call('PATCH', '/settings', settings)
    },
    post: async (article, as, body, parentId) =>
      (await call('POST', `/discussions/by-external/${article}/comments`, { body, ...(parentId && { parentId }) }, as))
        .id,
    close: async () => {
      await browser.close()
      await site.close()
    },
  }
}

type OfFile<Service> = Newspaper & { service: Service }

/** A newspaper for the tests of a file. What a test has opened is closed after it. */
export const useNewspaper = (): OfFile<TestService> =>
  useNewspaperOf(
    () => startService({ worker: false }),
    ({ url }) => url,
  )

/** The same, of a service in processes of its own. */
export const useNewspaperOfProcesses = (part?: 'whole'): OfFile<Processes> =>
  useNewspaperOf(
    () => startProcesses({ worker: 0 }),
    ({ apis }) => first(apis).url,
    part,
  )

function useNewspaperOf<Service extends TestService | Processes>(
  start: () => Promise<Service>,
  urlOf: (service: Service) => string,
  part?: 'whole',
): OfFile<Service> {
  const paper = {} as OfFile<Service>
  beforeAll(async () => {
    paper.service = await start()
    Object.assign(paper, await openNewspaper(paper.service, urlOf(paper.service), part))
  })
  afterEach(() => paper.leave())
  afterAll(async () => {
    // Missing where they could not be started.
    await (paper as Partial<Newspaper>).close?.()
    await (paper as Partial<typeof paper>).service?.close()
  })
  return paper
}

/** What stands in the field for a comment. */
export const textIn = ({ thread }: Window): Promise<string> =>
  thread.getByRole('textbox', { name: 'Write a comment' }).inputValue()

/** A reader of a page that holds the widget. */
export function windowOf(page: Page): Window {
  const thread = page.locator('engagement-thread')
  const text = () => thread.locator('section').innerText()
  const comment = (words: string): Locator => thread.locator('article').filter({ hasText: words }).first()
  const items = thread.getByRole('menuitem')
  const menu = async (words = ''): Promise<string[]> => {
    await comment(words).getByRole('button', { name: 'More actions' }).click()
    await items.first().waitFor()
    return items.allInnerTexts()
  }
  return {
    page,
    thread,
    comment,
    button: (name) => thread.getByRole('button', { name }),
    menu,
    choose: async (name, words) => {
      await menu(words)
      await thread.getByRole('menuitem', { name }).click()
    },
    write: async (words) => {
      await thread.getByRole('textbox', { name: 'Write a comment' }).fill(words)
      await thread.getByRole('button', { name: 'Post', exact: true }).click()
    },
    sees: (words) => vi.waitFor(async () => expect(await text()).toMatch(words), WAIT),
    seesNot: (words) => vi.waitFor(async () => expect(await text()).not.toContain(words), WAIT),
  }
}
