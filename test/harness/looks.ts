import type { Page } from 'playwright-core'

import { axeFindings, COLORS } from './axe.ts'
import { shoot } from './browser.ts'

/** A reader's screen and settings. */
interface Look {
  width: number
  media?: Parameters<Page['emulateMedia']>[0]
  /** Another language of the page, at the end: it stays. */
  lang?: string
}

const PLAIN = { colorScheme: 'light', forcedColors: 'none', reducedMotion: 'no-preference' } as const

const LOOKS: Readonly<Record<string, Look>> = {
  light: { width: 1280 },
  'dark, with reduced motion': { width: 390, media: { colorScheme: 'dark', reducedMotion: 'reduce' } },
  'forced colours': { width: 1280, media: { forcedColors: 'active', colorScheme: 'dark' } },
  // Of a screen of 1280 pixels.
  'at 200 %': { width: 640 },
  '320 pixels': { width: 320 },
  'right to left': { width: 320, lang: 'ar' },
}

/** What is moving. Runs in the page. */
const MOVING = `[document, document.querySelector('engagement-thread').shadowRoot]
  .flatMap((root) => root.getAnimations())
  .map((each) => 'it moves: ' + (each.animationName ?? each.transitionProperty))`

/** Texts of buttons that are cut off, and marks that show nothing. Runs in the page. */
const CUT = `[...document.querySelector('engagement-thread').shadowRoot.querySelectorAll('button, .badge')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 4)
  .map((each) => 'cut off: ' + each.textContent.trim())`

/**
 * What is wrong with the thread of a page as it stands, in each look: what axe finds, a page that
 * scrolls sideways, texts that are cut off, and what moves although the reader wants no motion.
 */
export async function faultsInEveryLook(page: Page, name: string): Promise<string[]> {
  const faults: string[] = []
  for (const [look, { width, media, lang }] of Object.entries(LOOKS)) {
    await page.emulateMedia({ ...PLAIN, ...media })
    await page.setViewportSize({ width, height: 1100 })
    if (lang !== undefined) await turn(page, lang)
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    // Chromium tells axe the page's own colour of a text, not the one that it forces on it.
    const but = media?.forcedColors === 'active' ? COLORS : []
    const found = await axeFindings(page, 'engagement-thread', undefined, but)
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
    if (wide > width) found.push(`the page is ${wide} pixels wide, of ${width}`)
    found.push(...(await page.evaluate<string[]>(CUT)))
    if (media?.reducedMotion === 'reduce') found.push(...(await page.evaluate<string[]>(MOVING)))
    faults.push(...found.map((fault) => `${look}: ${fault}`))
    await shoot(page, `widget ${name} ${look}`)
  }
  return faults
}

/** Gives the page and its thread another language. */
export async function turn(page: Page, lang: string, dir: 'ltr' | 'rtl' = 'rtl'): Promise<void> {
  await page.evaluate(`Object.assign(document.documentElement, { lang: '${lang}', dir: '${dir}' })
    document.querySelector('engagement-thread').setAttribute('lang', '${lang}')`)
  await page.locator(`engagement-thread [lang=${lang}][dir=${dir}]`).first().waitFor({ state: 'attached' })
}
