import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { describe } from 'vitest'

import { findProgram } from './programs.ts'

const CHROMIUM = findProgram(
  process.env.CHROMIUM,
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
)
/** It needs a quarter less CPU, and has no back/forward cache. */
const SHELL = findProgram(process.env.CHROMIUM, 'chromium-headless-shell') ?? CHROMIUM

export const hasBrowser = SHELL !== undefined
export const hasWholeBrowser = CHROMIUM !== undefined

const MISSING = hasBrowser ? '' : ' (skipped: there is no Chromium here; CHROMIUM is its path)'

/** Tests that need a browser. */
export function describeInBrowser(name: string, tests: () => void): void {
  describe.skipIf(!hasBrowser)(`${name}${MISSING}`, () => {
    tests()
  })
}

/** A headless Chromium, from Debian or installed otherwise: all of it, or what most pages need. */
export async function launchBrowser(part: 'whole' | 'shell' = 'shell'): Promise<Browser> {
  const program = (part === 'whole' ? CHROMIUM : undefined) ?? SHELL
  if (program === undefined) throw new Error('there is no Chromium here')
  return chromium.launch({
    executablePath: program,
    // Its sandbox refuses root, and /dev/shm is small in containers.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    // Readers have it.
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  })
}

/** A page that can sleep. Playwright keeps its own ones awake and in view. */
export interface Sleeper {
  evaluate<T>(expression: string): Promise<T>
  /** Makes the browser treat it like a tab that was long in the background. */
  freeze(): Promise<void>
  unfreeze(): Promise<void>
  close(): Promise<void>
}

export async function openSleeper(browser: Browser, url: string): Promise<Sleeper> {
  const devtools = await browser.newBrowserCDPSession()
  const { targetId } = await devtools.send('Target.createTarget', { url })
  const send = await attach(devtools, targetId)
  const setState = async (state: string): Promise<void> => void (await send('Page.setWebLifecycleState', { state }))
  return {
    evaluate: async <T>(expression: string) => {
      const { result, exceptionDetails } = (await send('Runtime.evaluate', { expression, returnByValue: true })) as {
        result: { value: T }
        exceptionDetails?: { text: string }
      }
      if (exceptionDetails !== undefined) throw new Error(`${expression}: ${exceptionDetails.text}`)
      return result.value
    },
    freeze: () => setState('frozen'),
    unfreeze: () => setState('active'),
    close: async () => {
      await devtools.send('Target.closeTarget', { targetId })
      await devtools.detach()
    },
  }
}

interface Answer {
  id: number
  result?: unknown
  error?: { message: string }
}

/**
 * Sends commands to one target, wrapped in messages of the browser's own session: Playwright gives
 * no other access.
 */
async function attach(
  devtools: CDPSession,
  targetId: string,
): Promise<(method: string, params: object) => Promise<unknown>> {
  const { sessionId } = await devtools.send('Target.attachToTarget', { targetId, flatten: false })
  const waiting = new Map<number, (answer: Answer) => void>()
  devtools.on('Target.receivedMessageFromTarget', ({ message }) => {
    const answer = JSON.parse(message) as Answer | { id?: undefined }
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
  })
  let id = 0
  return (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(error.message)),
      )
      devtools
        .send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method, params }) })
        .catch(reject)
    })
}

/** Pictures that the docs show. */
export const PICTURES = join(import.meta.dirname, '../../docs/pictures')

/**
 * A picture of the page, made where SCREENSHOTS is set: in the docs, where they have it, or else in
 * `test/browser/screenshots`.
 */
export async function shoot(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS === undefined) return
  const shown = join(PICTURES, `${name}.png`)
  const other = join(import.meta.dirname, '../browser/screenshots', `${name}.png`)
  await page.screenshot({ path: existsSync(shown) ? shown : other, animations: 'disabled' })
}
