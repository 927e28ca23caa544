import type { Locator } from 'playwright-core'
import { describe, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, type ReadOptions, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

const MOD = process.platform === 'darwin' ? 'Meta' : 'Control'

describeInBrowser('writing in the widget', () => {
  const paper = useNewspaper()

  interface Writer extends Window {
    area: Locator
    bar: Locator
    tool: (name: string) => Locator
    value: (expected: string) => Promise<void>
  }

  /** Ann's field, in which she has begun to write. */
  async function write(options: ReadOptions = {}, article = newArticle()): Promise<Writer> {
    const window = await paper.read(article, { as: 'ann', ...options })
    const { thread } = window
    const area = thread.locator('form textarea').first()
    await area.click()
    const bar = thread.getByRole('toolbar')
    return {
      ...window,
      area,
      bar,
      tool: (name) => bar.locator(`.${name}`),
      value: (expected) => vi.waitFor(async () => expect(await area.inputValue()).toBe(expected), WAIT),
    }
  }
  const select = (area: Locator, start: number, end: number) =>
    area.evaluate((each: HTMLTextAreaElement, [from = 0, to = 0]) => each.setSelectionRange(from, to), [start, end])

  describe('the formatting bar', () => {
    test('comes with the first focus: nobody loads it to read', async () => {
      const asked: string[] = []
      const prepare = async (page: Window['page']) => {
        page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
      }
      const window = await paper.read(newArticle(), { as: 'ann', prepare })
      await window.thread.getByRole('textbox').waitFor()
      expect(asked.filter((path) => path.includes('.format.'))).toEqual([])
      expect(await window.thread.getByRole('toolbar').count()).toBe(0)
      await window.thread.getByRole('textbox').click()
      await window.thread.getByRole('toolbar').waitFor()
    })

    test('changes what is selected, which can be undone, and is kept', async () => {
      const { page, area, tool, value, bar } = await write()
      await bar.waitFor()
      await page.keyboard.type('so good')
      await select(area, 3, 7)
      await tool('bold').click()
      await value('so **good**')
      await tool('italic').click()
      await value('so ***good***')
      await page.keyboard.press(`${MOD}+z`)
      await value('so **good**')
      await page.keyboard.press(`${MOD}+z`)
      await value('so good')
      await select(area, 0, 0)
      await tool('quote').click()
      await value('> so good')
      await page.reload()
      await vi.waitFor(async () => expect(await area.inputValue()).toBe('> so good'), WAIT)
    })

    test('has the keys of editors, also on a keyboard of other letters', async () => {
      const { page, area, value, bar } = await write()
      await bar.waitFor()
      await page.keyboard.press(`${MOD}+b`)
      await page.keyboard.type('x')
      await value('**x**')
      await select(area, 5, 5)
      await page.keyboard.press(`${MOD}+i`)
      await page.keyboard.type('y')
      await value('**x***y*')
      await select(area, 8, 8)
      await page.keyboard.press(`${MOD}+k`)
      await page.keyboard.type('z')
      await value('**x***y*[z](https://)')
      await area.fill('')
      await area.dispatchEvent('keydown', { key: 'и', code: 'KeyB', ctrlKey: true })
      await value('****')
      expect(await area.evaluate((each: HTMLTextAreaElement) => each.selectionStart)).toBe(2)
    })

    test.each(['en', 'ar'])('is a toolbar: one stop of Tab, arrows within it (%s)', async (lang) => {
      const { page, bar, area } = await write({ query: `lang=${lang}` })
      await bar.waitFor()
      await area.press('Tab')
      const focused = () => bar.locator('button:focus').evaluate((each) => each.className)
      expect(await focused()).toContain('bold')
      const [on, back] = lang === 'ar' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowRight', 'ArrowLeft']
      await page.keyboard.press(on ?? '')
      expect(await focused()).toContain('italic')
      await page.keyboard.press('End')
      await page.keyboard.press(on ?? '')
      expect(await focused()).toContain('bold')
      await page.keyboard.press(back ?? '')
      await page.keyboard.press(back ?? '')
      expect(await focused()).toContain('list')
      // It is the stop from now on.
      await page.keyboard.press('Shift+Tab')
      expect(await area.evaluate((each) => each.matches(':focus'))).toBe(true)
      await page.keyboard.press('Tab')
      expect(await focused()).toContain('list')
      // The text gets the focus back, to write on.
      await page.keyboard.press('Enter')
      expect(await area.evaluate((each) => each.matches(':focus'))).toBe(true)
    })

    test('formatting="off" has neither bar nor keys', async () => {
      const { page, thread, area, value } = await write()
      await thread.evaluate((each) => each.setAttribute('formatting', 'off'))
      await page.reload()
      await thread.evaluate((each) => each.setAttribute('formatting', 'off'))
      await area.click()
      await page.keyboard.type('x')
      await thread.getByRole('button', { name: 'Post' }).waitFor()
      await page.keyboard.press(`${MOD}+b`)
      await value('x')
      expect(await thread.getByRole('toolbar').count()).toBe(0)
    })
  })

  describe('the preview', () => {
    test('is what the comment will be, and follows the text', async () => {
      const article = newArticle()
      await paper.post(article, 'bob', 'Something to answer')
      const window = await write({}, article)
      const { area, button, thread, page } = window
      await area.fill('*one* <b>')
      await button('Preview').click()
      await thread.locator('.preview em').waitFor()
      expect(await thread.locator('.preview').innerText()).toBe('one <b>')
      await area.press('End')
      await page.keyboard.type(' and `two`')
      await thread.locator('.preview code').waitFor()
      const shown = await thread.locator('.preview > div').innerHTML()
      await button('Post').click()
      await window.sees('one <b> and two')
      expect(await window.comment('and two').locator('.body > div').innerHTML()).toBe(shown)
      await vi.waitFor(async () => expect(await thread.locator('.preview').innerText()).toBe(''), WAIT)
    })

    test('shows the name of a mention', async () => {
      const article = newArticle()
      await paper.post(article, 'bob', 'Something to answer')
      const { area, page, thread, button } = await write({}, article)
      await page.keyboard.type('Hello @b')
      await thread.getByRole('option').first().click()
      await page.keyboard.type('!')
      const name = (await area.inputValue()).slice('Hello '.length, -2)
      expect(name).toMatch(/^@/)
      await button('Preview').click()
      await vi.waitFor(async () => expect(await thread.locator('.preview').innerText()).toBe(`Hello ${name} !`), WAIT)
    })

    test('says where it fails, keeps the text, and tries again', async () => {
      let isDown = true
      const { area, button, thread, page } = await write({
        prepare: (each) =>
          each.route('**/comment-preview', (route) =>
            isDown ? route.fulfill({ status: 429, json: { code: 'rate_limited' } }) : route.continue(),
          ),
      })
      await area.fill('*one*')
      await button('Preview').click()
      await thread.getByRole('alert').waitFor()
      expect(await area.inputValue()).toBe('*one*')
      isDown = false
      await area.press('End')
      await page.keyboard.type('!')
      await thread.locator('.preview em').waitFor()
      expect(await thread.getByRole('alert').count()).toBe(0)
    })
  })

  describe('a quote', () => {
    test('begins a reply with the comment, and goes on with one that is there', async () => {
      const article = newArticle()
      await paper.post(article, 'bob', 'First **line**\n\nSecond line')
      const ann = await paper.read(article, { as: 'ann' })
      await ann.choose('Quote', 'First line')
      const area = ann.comment('First line').getByRole('textbox')
      await vi.waitFor(async () => expect(await area.inputValue()).toBe('> First **line**\n>\n> Second line\n\n'), WAIT)
      expect(await area.evaluate((each) => each.matches(':focus'))).toBe(true)
      await ann.page.keyboard.type('Mine')
      await ann.choose('Quote', 'First line')
      const twice = '> First **line**\n>\n> Second line\n\nMine\n\n> First **line**\n>\n> Second line\n\n'
      await vi.waitFor(async () => expect(await area.inputValue()).toBe(twice), WAIT)
    })

    test('is of what is selected, by mouse and by keyboard', async () => {
      const article = newArticle()
      await paper.post(article, 'bob', 'One two three')
      await paper.post(article, 'dan', 'Of another')
      const ann = await paper.read(article, { as: 'ann' })
      await ann.sees('One two three')
      const selectIn = (text: string) =>
        ann
          .comment(text)
          .locator('.body p')
          .evaluate((p) => {
            const root = p.getRootNode() as ShadowRoot & { getSelection: () => Selection }
            root.getSelection().setBaseAndExtent(p.firstChild as Node, 4, p.firstChild as Node, 7)
          })
      await selectIn('One two three')
      await ann.choose('Quote', 'One two three')
      const area = ann.comment('One two three').getByRole('textbox')
      await vi.waitFor(async () => expect(await area.inputValue()).toBe('> two\n\n'), WAIT)
      await area.fill('')
      await selectIn('One two three')
      await ann.comment('One two three').getByRole('button', { name: 'More actions' }).press('Enter')
      await ann.thread.getByRole('menuitem', { name: 'Quote' }).press('Enter')
      await vi.waitFor(async () => expect(await area.inputValue()).toBe('> two\n\n'), WAIT)
      // What is selected of another comment is not of this one.
      await area.fill('')
      await ann.comment('One two three').getByRole('button', { name: 'Cancel' }).click()
      await selectIn('Of another')
      await ann.choose('Quote', 'One two three')
      await vi.waitFor(async () => expect(await area.inputValue()).toBe('> One two three\n\n'), WAIT)
    })

    test('names nobody: who is quoted with a mention gets no notification', async () => {
      const article = newArticle()
      const { id } = await paper.call('GET', '/readers/me', undefined, 'dan')
      await paper.post(article, 'dan', 'I was here')
      await paper.post(article, 'bob', `Ask [@](reader:${id})`)
      const ann = await paper.read(article, { as: 'ann' })
      await ann.choose('Quote', 'Ask @')
      await ann.comment('Ask @').getByRole('button', { name: 'Post' }).click()
      await ann.sees('Your comment is published.')
      const { data } = await paper.call('GET', '/readers/me/notifications', undefined, 'dan')
      expect(data.map(({ kind }: { kind: string }) => kind)).toEqual(['mention'])
    })
  })
})
