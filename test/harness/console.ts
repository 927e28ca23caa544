import type { Browser, Locator, Page } from 'playwright-core'

import type { TestService } from './service.ts'

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

/** Opens a page of the console, signed in as the tenant's admin unless told. */
export async function visitConsole(
  browser: Browser,
  service: Pick<TestService, 'url' | 'admin'>,
  path = '/',
  { view = { width: 1280, theme: 'light' }, signIn = true }: { view?: View; signIn?: boolean } = {},
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
