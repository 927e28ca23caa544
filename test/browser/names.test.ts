import { readFileSync } from 'node:fs'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { describeInBrowser, launchBrowser } from '../harness/browser.ts'

const css = (path: string): string => readFileSync(path, 'utf8')
const WIDGET = css('src/clients/widget/widget.css') + css('src/clients/widget/writing/names.css')
const CONSOLE = css('src/console/console.css')

describeInBrowser('a name of 26 stacked marks paints over nothing', () => {
  let browser: Browser
  beforeAll(async () => void (browser = await launchBrowser()))
  afterAll(() => browser?.close())

  test.each([
    ['of an author in the widget', WIDGET, '<p class="head"><span class="author"><bdi>NAME</bdi></span></p>'],
    [
      'with a link in the widget',
      WIDGET,
      '<p class="head"><span class="author"><a href="#"><bdi>NAME</bdi></a></span></p>',
    ],
    [
      'of a mention',
      WIDGET,
      '<div class="body" style="margin-top:-100px"><div style="height:100px"></div>By <span dir="auto">@NAME</span></div>',
    ],
    ['in a button of the widget', WIDGET, '<button class="plain">Mute NAME</button>'],
    ['in the list of names', WIDGET, '<div class="names"><ul><li>NAME</li></ul></div>'],
    ['in the lists of a front page', css('src/clients/widget/lists/lists.css'), '<bdi part="author">NAME</bdi>'],
    ['in a text of the console', CONSOLE, '<p class="mantine-Text-root">NAME</p>'],
    ['in a table of the console', CONSOLE, '<table><tr><td class="mantine-Table-td">NAME</td></tr></table>'],
  ])('%s', async (_where, sheet, markup) => {
    const page = await browser.newPage({ viewport: { width: 400, height: 400 } })
    try {
      const above = async (name: string): Promise<string> => {
        // The rules of the widget are those of a shadow tree.
        await page.setContent('<div id="host" style="margin-top:200px;line-height:1.5"></div>')
        await page.evaluate(
          ([rules = '', inner = '']) => {
            const root = document.getElementById('host')?.attachShadow({ mode: 'open' })
            if (root) root.innerHTML = `<style>${rules}</style>${inner}`
          },
          [sheet, markup.replace('NAME', name)],
        )
        // Below it begins the box of the name, and the margin of its clip.
        const picture = await page.screenshot({ clip: { x: 0, y: 0, width: 400, height: 180 } })
        return picture.toString('base64')
      }
      expect(await above(`A${'\u0301\u030A'.repeat(13)}nn`)).toBe(await above('Ann'))
    } finally {
      await page.close()
    }
  })
})
