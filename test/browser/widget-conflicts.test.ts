import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

const CHANGED = 'It was changed elsewhere meanwhile.'

describeInBrowser('an edit on two devices', () => {
  const paper = useNewspaper()

  const mine = ({ thread }: Window) => thread.getByRole('textbox', { name: 'Edit' })
  const theirs = ({ thread }: Window) => thread.getByRole('textbox', { name: CHANGED })
  const bodyOf = async (id: string) => (await paper.call('GET', `/comments/${id}`)).body

  /** Ann writes at her desk. No stream tells that she has written on her phone. */
  async function edit(id: string, article: string, text: string, isLive = false): Promise<Window> {
    const desk = await paper.read(article, {
      as: 'ann',
      prepare: async (page) => {
        if (!isLive) await page.route('**/stream/**', (route) => route.abort())
      },
    })
    await desk.choose('Edit', await bodyOf(id))
    await mine(desk).fill(text)
    return desk
  }
  const onPhone = (id: string, body: string) => paper.call('PATCH', `/comments/${id}`, { body }, 'ann')

  test('shows both texts where the other device was faster, and saves the one that the reader chooses', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    const desk = await edit(id, article, 'From the desk')
    await onPhone(id, 'From the phone')
    await desk.button('Save').click()
    await desk.sees(CHANGED)
    expect([await theirs(desk).inputValue(), await mine(desk).inputValue()]).toEqual([
      'From the phone',
      'From the desk',
    ])
    expect(await theirs(desk).isEditable()).toBe(false)
    expect(await bodyOf(id)).toBe('From the phone')
    // The other device goes on: what is saved replaces only what was shown.
    await onPhone(id, 'From the phone again')
    await desk.button('Save').click()
    await vi.waitFor(async () => expect(await theirs(desk).inputValue()).toBe('From the phone again'), WAIT)
    expect(await bodyOf(id)).toBe('From the phone again')
    await desk.button('Save').click()
    await desk.sees(/edited[^]*From the desk/)
    expect(await bodyOf(id)).toBe('From the desk')
    await desk.seesNot(CHANGED)
  })

  test('leaves the text of the other device where the reader cancels', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    const desk = await edit(id, article, 'From the desk')
    await onPhone(id, 'From the phone')
    await desk.button('Save').click()
    await desk.sees(CHANGED)
    await desk.button('Cancel').click()
    await desk.sees('From the phone')
    await desk.choose('Edit')
    expect(await mine(desk).inputValue()).toBe('From the phone')
    expect(await theirs(desk).count()).toBe(0)
  })

  test('shows the text of the other device as soon as the stream brings it, and keeps the caret', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    const desk = await edit(id, article, 'From the desk', true)
    await mine(desk).evaluate((area) => (area as HTMLTextAreaElement).setSelectionRange(2, 3))
    const { id: discussionId } = await paper.call('GET', `/discussions/by-external/${article}`)
    const listens = async () => (await paper.call('GET', `/discussions/${discussionId}/presence`)).streams
    await vi.waitFor(async () => expect(await listens()).toBe(1), WAIT)
    await onPhone(id, 'From the phone')
    await vi.waitFor(async () => expect(await theirs(desk).inputValue()).toBe('From the phone'), WAIT)
    const caret = await mine(desk).evaluate((area) => {
      const { value, selectionStart, selectionEnd } = area as HTMLTextAreaElement
      return [area.matches(':focus'), value, selectionStart, selectionEnd]
    })
    expect(caret).toEqual([true, 'From the desk', 2, 3])
  })

  test('is found also where the edit was begun before a reload of the page', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    const desk = await edit(id, article, 'From the desk')
    await onPhone(id, 'From the phone')
    await desk.page.reload()
    await desk.sees(CHANGED)
    expect([await theirs(desk).inputValue(), await mine(desk).inputValue()]).toEqual([
      'From the phone',
      'From the desk',
    ])
  })

  test('is saved with a service of an earlier release, which refuses the revision', async () => {
    const article = newArticle()
    const id = await paper.post(article, 'ann', 'One')
    const desk = await edit(id, article, 'From the desk')
    const sent: string[] = []
    await desk.page.route('**/engagement/comments/*', async (route) => {
      const body = route.request().postData() ?? ''
      if (route.request().method() !== 'PATCH') return route.continue()
      sent.push(body)
      if (!body.includes('revision')) return route.continue()
      const errors = [{ pointer: '/revision', code: 'unknown_field', message: 'is not a field of this request' }]
      return route.fulfill({ status: 422, json: { code: 'validation_failed', errors } })
    })
    await desk.button('Save').click()
    await desk.sees(/edited[^]*From the desk/)
    expect(sent.map((body) => JSON.parse(body))).toEqual([
      { body: 'From the desk', revision: 1 },
      { body: 'From the desk' },
    ])
    expect(await bodyOf(id)).toBe('From the desk')
  })
})
