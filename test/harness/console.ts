import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'

import { launchBrowser } from './browser.ts'
import { startService, type TestService } from './service.ts'

/** For what a page is to show: it comes when the page has asked again. */
export const WAIT = { timeout: 20_000, interval: 50 }

export interface View {
  width: number
  theme: 'light' | 'dark'
}

/** What every page is looked at in: a phone and a desk, in both themes. */
export const VIEWS: readonly View[] = [360, 1280].flatMap((width) =>
  (['light', 'dark'] as const).map((theme) => ({ width, theme })),
)

/** A person at the console, in a browser context of their own. */
export interface Visit {
  page: Page
  /** What the browser has refused or the page has thrown so far: there should be nothing. */
  complaints: readonly string[]
  close(): Promise<void>
}

interface VisitOptions {
  view?: View
  signIn?: boolean
}

/** A service, and a browser for those who look at it: there from the first hook of the tests on, and closed after them. */
export interface Desk {
  readonly browser: Browser
  readonly service: TestService
  /** Opens a page of the console, as the admin of the service's first tenant unless told. */
  visit(path?: string, options?: VisitOptions & { admin?: TestService['admin'] }): Promise<Visit>
  /** What the API answers to a call that it must not refuse. */
  // Tests look into any answer; a wrong path fails the assertion it stands in.
  // oxlint-disable-next-line typescript/no-explicit-any
  ok(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<any>
}

/** A desk for the tests of a `describe`. `start` is its service: one without a worker unless told. */
export function openDesk(start: () => Promise<TestService> = () => startService({ worker: false })): Desk {
  let service: TestService
  let browser: Browser
  beforeAll(async () => {
    service = await start()
    browser = await launchBrowser()
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
    visit: (path, { admin = service.admin, ...options } = {}) =>
      visitConsole(browser, { url: service.url, admin }, path, options),
    ok: async (method, path, body, headers = {}) => {
      const answer = await service.call(method, path, { headers, ...(body && { body }) })
      expect(answer.status, answer.text).toBeLessThan(300)
      return answer.json
    },
  }
}

/** Opens a page of the console, signed in as the tenant's admin unless told. */
export async function visitConsole(
  browser: Browser,
  service: Pick<TestService, 'url' | 'admin'>,
  path = '/',
  { view = { width: 1280, theme: 'light' }, signIn = true }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: view.width, height: 800 },
    colorScheme: view.theme,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // A refusal of the service is an answer that the page shows; the browser logs each.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  await page.goto(`${service.url}/console${path}`)
  if (signIn) await signInAs(page, service.admin)
  return { page, complaints, close: () => context.close() }
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

/** Presses Tab until the element has the focus, as somebody without a mouse does. Throws where it is never reached. */
export async function tabTo(target: Locator): Promise<void> {
  // Components hide the input of a control that they draw themselves.
  await target.waitFor({ state: 'attached' })
  // A dialog takes the focus a moment after it is there.
  await target.page().waitForFunction(isReachable, await target.elementHandle())
  for (let presses = 0; presses < 150; presses++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await target.page().keyboard.press('Tab')
  }
  throw new Error(`Tab never comes to ${String(target)}`)
}

/** Goes there by Tab and presses Enter. */
export async function enter(target: Locator): Promise<void> {
  await tabTo(target)
  await target.page().keyboard.press('Enter')
}
