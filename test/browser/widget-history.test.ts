import { beforeAll, expect, test } from 'vitest'

import { axeFindings, COLORS } from '../harness/axe.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, type Window } from '../harness/widget.ts'

describeInBrowser('the versions of a comment, in the widget', () => {
  const paper = useNewspaper()
  beforeAll(() => paper.set({ showEditHistory: true, suspectWords: ['suspect'] }))

  const edit = (id: string, body: string, as = 'ann') => paper.call('PATCH', `/comments/${id}`, { body }, as)
  const dialogOf = ({ thread }: Window) => thread.getByRole('dialog', { name: 'Versions of this comment' })
  const versionsOf = (reader: Window) => dialogOf(reader).locator('.version').allInnerTexts()

  test('open by the keyboard for a signed-out reader, with what changed, and close to their button', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'The red car')
    await edit(id, 'A suspect text')
    await edit(id, 'The blue car')
    await paper.call('POST', `/comments/${id}/approve`)
    await edit(id, 'The blue car stops')
    const reader = await paper.read(article, { width: 320 })
    const button = reader.button('edited')
    await button.focus()
    await reader.page.keyboard.press('Enter')
    const dialog = dialogOf(reader)
    await dialog.waitFor()
    expect(await versionsOf(reader)).toEqual(['The blue car stops', 'The redblue car', 'The red car'])
    expect(await dialog.locator('ins').allInnerTexts()).toEqual([' stops', 'blue'])
    expect(await dialog.locator('del').allInnerTexts()).toEqual(['red'])
    expect(await dialog.locator('li').first().innerText()).toContain('Current version')
    expect(await axeFindings(reader.page, 'engagement-thread')).toEqual([])
    expect(await axeFindings(reader.page, 'engagement-thread', COLORS)).toEqual([])
    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    await reader.page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => button.evaluate((own) => own.matches(':focus'))).toBe(true)
    await button.click()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  test('name who is mentioned, and take texts as texts', async () => {
    const article = newArticle()
    await paper.post(article, 'eve', 'Hello')
    const { data } = await paper.call('GET', `/discussions/by-external/${article}/comments`)
    const mention = `[@](reader:${data[0].author.id})`
    const id = await paper.post(article, 'ann', `${mention} <b>x</b> &amp;`)
    await edit(id, `${mention} <i>x</i> &amp;`)
    const reader = await paper.read(article)
    await reader.button('edited').click()
    await dialogOf(reader).waitFor()
    const name = data[0].author.name ?? ''
    expect((await versionsOf(reader))[1]).toBe(`@${name} <b>x</b> &amp;`)
    expect(await dialogOf(reader).locator('b, i').count()).toBe(0)
  })

  test('say that there is none to show, go on where there are more, and say what failed', async () => {
    const article = newArticle()
    const hidden = await paper.post(article, 'ann', 'A suspect text')
    await edit(hidden, 'Harmless')
    await paper.call('POST', `/comments/${hidden}/approve`)
    const many = await paper.post(article, 'bob', 'Number 1')
    for (let n = 2; n <= 22; n++) await edit(many, `Number ${n}`, 'bob')
    let isDown = true
    const reader = await paper.read(article, {
      prepare: (page) => page.route('**/history?*cursor=*', (route) => (isDown ? route.abort() : route.continue())),
    })
    await reader.comment('Harmless').getByRole('button', { name: 'edited' }).click()
    await dialogOf(reader).getByText('No earlier version is shown.').waitFor()
    await reader.page.keyboard.press('Escape')
    await reader.comment('Number 22').getByRole('button', { name: 'edited' }).click()
    const dialog = dialogOf(reader)
    await dialog.waitFor()
    expect(await dialog.locator('.version').count()).toBe(20)
    const shown = await dialog.locator('li').elementHandles()
    const more = dialog.getByRole('button', { name: 'Earlier versions' })
    // Some browsers take the focus from a button that is off.
    await reader.page.evaluate(`{
      const buttons = document.querySelector('engagement-thread').shadowRoot.querySelectorAll('dialog button')
      for (const button of buttons)
        new MutationObserver(() => (window.wasOff = true)).observe(button, { attributeFilter: ['disabled'] })
    }`)
    await more.click()
    await dialog.getByRole('alert').getByText('That did not work.').waitFor()
    expect(await more.evaluate((own) => own.matches(':focus'))).toBe(true)
    expect(await reader.page.evaluate('window.wasOff')).toBeUndefined()
    isDown = false
    await more.click()
    await expect.poll(() => dialog.locator('.version').count()).toBe(22)
    expect((await versionsOf(reader)).slice(-4)).toEqual(['Number 34', 'Number 23', 'Number 12', 'Number 1'])
    // What is shown stays, but for the last one, which is compared with the next.
    const stay = await Promise.all(shown.map((each) => each.evaluate((own) => own.isConnected)))
    expect(stay).toEqual([...Array<boolean>(19).fill(true), false])
    await expect
      .poll(() => dialog.getByRole('button', { name: 'Close' }).evaluate((own) => own.matches(':focus')))
      .toBe(true)
  })

  test('close when another reader takes over the page', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    await edit(id, 'A suspect text')
    await paper.call('POST', `/comments/${id}/approve`)
    await edit(id, 'Three')
    const author = await paper.read(article, { as: 'ann' })
    await author.button('edited').click()
    await dialogOf(author).waitFor()
    // It is drawn again for its reader, and stays.
    const reload = () =>
      author.page.evaluate(`new Promise((done) => {
        const own = document.querySelector('engagement-thread')
        own.addEventListener('engagement-ready', () => done(own.update()), { once: true })
        own.reload()
      })`)
    await reload()
    expect(await dialogOf(author).count()).toBe(1)
    await author.page.context().clearCookies()
    await reload()
    await dialogOf(author).waitFor({ state: 'detached' })
  })

  test('call a text the current one only if it is the one above', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    await edit(id, 'Two')
    const body = await paper.call('GET', `/comments/${id}/history`)
    await edit(id, 'Three')
    // As from a cache that has not seen the last edit.
    let isOld = true
    const reader = await paper.read(article, {
      prepare: (page) =>
        page.route('**/history?*', (route) => (isOld ? route.fulfill({ json: body }) : route.continue())),
    })
    await reader.comment('Three').getByRole('button', { name: 'edited' }).click()
    await dialogOf(reader).waitFor()
    expect(await dialogOf(reader).locator('li').first().innerText()).toContain('Two')
    expect(await dialogOf(reader).innerText()).not.toContain('Current version')
    await reader.page.keyboard.press('Escape')
    isOld = false
    await reader.button('edited').click()
    await dialogOf(reader).getByText('Current version').waitFor()
  })

  test('are no button without the setting', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    await edit(id, 'Two')
    await paper.set({ showEditHistory: false })
    const reader = await paper.read(article)
    await reader.comment('Two').getByText('edited').waitFor()
    expect(await reader.button('edited').count()).toBe(0)
    await paper.set({ showEditHistory: true })
  })
})
