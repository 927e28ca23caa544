import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, onTestFinished } from 'vitest'

import { axeFindings, COLORS } from './axe.ts'
import { launchBrowser, shoot } from './browser.ts'
import { overlaps } from './overlaps.ts'
import { startService, type Json, type TestService } from './service.ts'

/** For content that appears after the page's next poll. */
export const WAIT = { timeout: 20_000, interval: 50 }

export interface View {
  width: number
  theme: 'light' | 'dark'
}

/**
 * The views of every page: a phone and a desk, in both themes. Each differs from the previous one
 * in one respect: a page takes up to 0.3 s of CPU time to follow one change.
 */
export const VIEWS: readonly View[] = [
  { width: 360, theme: 'light' },
  { width: 360, theme: 'dark' },
  { width: 1280, theme: 'dark' },
  { width: 1280, theme: 'light' },
]

/** The first of them: a button within reach on a phone is so on a desk, too. */
export const NARROW: View = { width: 360, theme: 'light' }

const DEFAULT_VIEW: View = { width: 1280, theme: 'light' }

interface PageOptions {
  view?: View
  /**
   * Has the page poll every half second instead of every few seconds, for tests that wait for a
   * poll.
   */
  pollsFast?: boolean
}

interface VisitOptions extends PageOptions {
  signIn?: boolean
}

/**
 * A service and a browser for the tests: available from the first hook on, and closed after them.
 */
export interface Desk {
  readonly browser: Browser
  readonly service: TestService
  /**
   * Opens a page of the console, as the admin of the service's first tenant by default. The first
   * page of an admin signs in; the later ones are tabs beside it, which share its session, storage
   * and cache. The test fails if the browser or the page logs an error, and closes its pages.
   */
  visit(path?: string, options?: PageOptions & { admin?: TestService['admin'] }): Promise<Page>
  /** What the API answers to a call that it must not refuse. */
  ok: TestService['ok']
}

/**
 * A desk for the tests of a `describe`. `start` is its service: one without a worker by default.
 */
export function openDesk(start: () => Promise<TestService> = () => startService({ worker: false })): Desk {
  let service: TestService
  let browser: Browser
  const contexts = new Map<string, BrowserContext>()
  beforeAll(async () => {
    service = await start()
    browser = await launchBrowser()
  })
  // They would go on asking the service.
  afterEach(async () => {
    await Promise.all([...contexts.values()].flatMap((context) => context.pages()).map((page) => page.close()))
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })
  return {
    get browser() {
      return browser
    },
    get service() {
      return service
    },
    visit: async (path, { admin = service.admin, ...options } = {}) => {
      const known = contexts.get(admin.email)
      if (known !== undefined) return openPage(known, service.url, path, options)
      const context = await openContext(browser)
      const page = await openPage(context, service.url, path, options)
      await signInAs(page, admin)
      contexts.set(admin.email, context)
      return page
    },
    ok: (...asked) => service.ok(...asked),
  }
}

const openContext = (browser: Browser): Promise<BrowserContext> =>
  browser.newContext({ reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'] })

/**
 * Opens a page of the console in a context of its own until the test ends, signed in by the form as
 * the tenant's admin by default.
 */
export async function visitConsole(
  browser: Browser,
  service: Pick<TestService, 'url' | 'admin'>,
  path = '/',
  { signIn = true, ...options }: VisitOptions = {},
): Promise<Page> {
  const context = await openContext(browser)
  onTestFinished(() => context.close())
  const page = await openPage(context, service.url, path, options)
  if (signIn) await signInAs(page, service.admin)
  return page
}

/** Pages with `changeAnswers`: React logs each row that it cannot draw. */
const changed = new WeakSet<Page>()

/** Opens a page whose errors fail the test. */
async function openPage(
  context: BrowserContext,
  url: string,
  path = '/',
  { view = DEFAULT_VIEW, pollsFast = false }: PageOptions = {},
): Promise<Page> {
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: string[] = []
  onTestFinished(() => {
    if (!changed.has(page)) expect(complaints).toEqual([])
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // A refusal is shown by the page, but the browser logs each.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  await emulateView(page, view)
  if (pollsFast) await page.addInitScript(pollFast)
  await page.goto(`${url}/console${path}`)
  return page
}

/** Changes the data of the page's answers from now on, as those of another release may differ. */
export async function changeAnswers(page: Page, change: (data: Json) => void): Promise<void> {
  changed.add(page)
  await page.route('**/graphql', async (route) => {
    const response = await route.fetch()
    const json = await response.json()
    change(json.data ?? {})
    await route.fulfill({ response, json })
  })
}

/** Runs in the page. */
function pollFast(): void {
  const original = setInterval
  globalThis.setInterval = ((callback: () => void, ms: number) =>
    original(callback, Math.min(ms, 500))) as typeof setInterval
}

async function emulateView(page: Page, { width, theme }: View): Promise<void> {
  await page.setViewportSize({ width, height: 800 })
  await page.emulateMedia({ colorScheme: theme })
}

/** Checks that the whole width of something is on the screen, without scrolling sideways. */
export async function expectInView(what: Locator): Promise<void> {
  await what.waitFor()
  const { x, width } = (await what.boundingBox()) ?? { x: Number.NaN, width: Number.NaN }
  expect(x).toBeGreaterThanOrEqual(0)
  expect(x + width).toBeLessThanOrEqual(what.page().viewportSize()?.width ?? 0)
}

/**
 * Checks the present page in every view: axe finds no violation, no element is wider than the
 * screen, and nothing lies over something else. A failure names its view. Open the page in the
 * first view; it is left in the last one. `picture` names the screenshots. Themes change only
 * colours, so the other rules are checked once for each width.
 */
export async function expectAccessible(page: Page, picture?: string): Promise<void> {
  const isWide = page.viewportSize()?.width === VIEWS.at(-1)?.width
  for (const view of isWide ? VIEWS.toReversed() : VIEWS) {
    const name = `${view.width} pixels, ${view.theme}`
    await showIn(page, view)
    expect(await axeFindings(page, ':root', view.theme === 'light' ? undefined : COLORS), name).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name}: fits`).toBe(true)
    if (view.theme === 'light') expect(await page.evaluate(overlaps), name).toEqual([])
    if (picture !== undefined) await shoot(page, `${picture}-${view.width}-${view.theme}`)
  }
}

/** Changes the view of a page that is open, and waits until the page has followed. */
async function showIn(page: Page, view: View): Promise<void> {
  await emulateView(page, view)
  await page.waitForFunction(
    ({ width, theme }) => innerWidth === width && document.documentElement.dataset.mantineColorScheme === theme,
    view,
  )
  await page.evaluate(settled)
}

/** Resolves once observers of sizes have been called and transitions are over. Runs in the page. */
async function settled(): Promise<void> {
  for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame)
  const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition)
  await Promise.allSettled(transitions.map(({ finished }) => finished))
}

/** Fills in the form of the login, by the keyboard alone. */
export async function signInAs(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('E-mail').focus()
  if (await page.getByLabel('E-mail').isEditable()) await page.keyboard.type(email)
  await page.locator('input[type=password]').focus()
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Sign in' }).waitFor({ state: 'detached' })
}

/** Whether it is in no dialog, or in the one that has the focus. Runs in the page. */
function isReachable(element: Element | null): boolean {
  const dialog = element?.closest('[role=dialog]')
  return dialog == null || dialog.contains(dialog.ownerDocument.activeElement)
}

/** How often Tab is pressed between two looks at where the focus is. */
const TABS = 16

/**
 * Presses Tab until the element has the focus, as somebody without a mouse does. Throws where it is
 * never reached.
 */
export async function tabTo(target: Locator): Promise<void> {
  const { keyboard } = target.page()
  // Components hide the input of a control that they draw themselves.
  await target.waitFor({ state: 'attached' })
  // A dialog takes the focus a moment after it is there.
  await target.page().waitForFunction(isReachable, await target.elementHandle())
  for (let looks = 0; looks < 10; looks++) {
    if (await target.evaluate(hasFocusOrStopsTab)) return
    // Held down: to press and look one by one takes a frame and two answers each.
    await Promise.all(Array.from({ length: TABS }, () => keyboard.down('Tab')))
    await keyboard.up('Tab')
  }
  throw new Error(`Tab never comes to ${String(target)}`)
}

/**
 * Whether the element has the focus. Where it does not, Tab shall not lead away from it once it
 * does. Runs in the page.
 */
function hasFocusOrStopsTab(element: Element): boolean {
  const hasFocus = () => element === element.ownerDocument.activeElement
  const stops = window as { stopTab?: (event: KeyboardEvent) => void }
  if (stops.stopTab) removeEventListener('keydown', stops.stopTab, true)
  if (hasFocus()) return true
  stops.stopTab = (event) => {
    if (event.key !== 'Tab' || !hasFocus()) return
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  addEventListener('keydown', stops.stopTab, true)
  return false
}

/** Goes there by Tab and presses Enter. */
export async function enter(target: Locator): Promise<void> {
  await tabTo(target)
  await target.page().keyboard.press('Enter')
}

/** Opens a menu by its button and chooses an item of it, by the keyboard alone. */
export async function choose(button: Locator, name: string): Promise<void> {
  const page = button.page()
  const item = page.getByRole('menuitem', { name, exact: true })
  await enter(button)
  await item.waitFor()
  const hasFocus = () => item.evaluate((element) => element === element.ownerDocument.activeElement)
  // The menu takes the focus a moment after it is there, and hears no key before.
  await expect
    .poll(async () => {
      if (await hasFocus()) return true
      await page.keyboard.press('ArrowDown')
      return hasFocus()
    }, WAIT)
    .toBe(true)
  await page.keyboard.press('Enter')
  // It fades out slowly, and would overlap the next one. Meanwhile its items may change.
  await page.getByRole('menu').waitFor({ state: 'detached' })
}
