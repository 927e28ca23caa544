import type { Locator } from 'playwright-core'
import { expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { newArticle, useNewspaper, WAIT, type Window } from '../harness/widget.ts'

describeInBrowser('the widget without a connection', () => {
  const paper = useNewspaper()

  const comments = async (article: string): Promise<string[]> => {
    const { data } = await paper.call('GET', `/discussions/by-external/${article}/comments?replies=3`)
    type Listed = { body: string; replies?: { data: Listed[] } }
    return data.flatMap(({ body, replies }: Listed) => [body, ...(replies?.data ?? []).map((each) => each.body)])
  }
  const setOffline = ({ page }: Window, isOffline: boolean) => page.context().setOffline(isOffline)
  const isShown = ({ page }: Window, text: string) => page.getByText(text).first().isVisible()

  test.each(['ann', undefined])('says so at once, and takes it back (signed in: %s)', async (as) => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    const window = await paper.read(article, as === undefined ? {} : { as })
    await window.sees('The first')
    await setOffline(window, true)
    await window.sees('You are offline.')
    await window.sees('The first')
    expect(await window.thread.getByRole('status').first().textContent()).toBe('You are offline.')
    await setOffline(window, false)
    await window.seesNot('You are offline.')
  })

  test('lets a comment and a reply wait, and sends each of them once when the line is back', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    const ann = await paper.read(article, { as: 'ann' })
    await ann.button('Reply').click()
    await setOffline(ann, true)
    await ann.thread.getByRole('textbox', { name: /^Reply to/ }).fill('A reply on the train')
    await ann.page.keyboard.press('Control+Enter')
    await ann.thread.getByRole('textbox', { name: 'Write a comment' }).fill('A comment on the train')
    await ann.page.keyboard.press('Control+Enter')
    const told = ann.thread.getByText('Your text is kept, and sent as soon as there is a connection.')
    await vi.waitFor(async () => expect(await told.count()).toBe(2), WAIT)
    // That is said once, above them.
    expect(await ann.thread.getByText('You are offline.').count()).toBe(1)
    expect(await comments(article)).toEqual(['The first'])
    await setOffline(ann, false)
    await ann.sees(/A comment on the train[^]*A reply on the train/)
    await vi.waitFor(async () => expect(await told.count()).toBe(0), WAIT)
    expect(await comments(article)).toEqual(['A comment on the train', 'The first', 'A reply on the train'])
    expect(await ann.thread.getByRole('textbox').inputValue()).toBe('')
  })

  test('sends a post whose answers were lost again by itself, and it exists once', async () => {
    const article = newArticle()
    const keys = new Set<string | undefined>()
    let lost = 0
    const ann = await paper.read(article, {
      as: 'ann',
      prepare: (page) =>
        page.route('**/engagement/comments?*', async (route) => {
          if (route.request().method() !== 'POST') return route.continue()
          keys.add(route.request().headers()['idempotency-key'])
          if (lost === 4) return route.continue()
          lost++
          await route.fetch()
          await route.abort()
        }),
    })
    await ann.write('Only once')
    await ann.sees('The service does not answer. Your text is kept, and sent as soon as there is a connection.')
    const box = ann.thread.getByRole('textbox')
    expect([await box.inputValue(), await box.isEditable()]).toEqual(['Only once', false])
    await vi.waitFor(async () => expect(await box.inputValue()).toBe(''), WAIT)
    expect(await comments(article)).toEqual(['Only once'])
    expect([lost, keys.size]).toEqual([4, 1])
  })

  test('does not send what the reader takes back, or closes', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    const ann = await paper.read(article, { as: 'ann' })
    await ann.button('Reply').click()
    await setOffline(ann, true)
    await ann.thread.getByRole('textbox', { name: /^Reply to/ }).fill('Not this')
    await ann.page.keyboard.press('Control+Enter')
    await ann.sees('Your text is kept, and sent')
    await ann.page.keyboard.press('Escape')
    await ann.write('Nor that')
    await ann.sees('Your text is kept, and sent')
    expect(await ann.thread.getByRole('textbox').isEditable()).toBe(false)
    await ann.button('Cancel').click()
    expect(await ann.thread.getByRole('textbox').isEditable()).toBe(true)
    const requests: string[] = []
    ann.page.on('request', (request) => request.method() === 'POST' && requests.push(request.url()))
    await setOffline(ann, false)
    await ann.seesNot('You are offline.')
    await paper.post(article, 'bob', 'The second')
    await ann.button('1 new comment').waitFor()
    expect(await ann.thread.getByRole('textbox').inputValue()).toBe('Nor that')
    expect(requests.filter((url) => url.includes('/comments'))).toEqual([])
    expect(await comments(article)).toEqual(['The second', 'The first'])
    await ann.button('Post').click()
    await ann.sees('Nor that')
  })

  /**
   * A line that loses what is posted, or the answers. The attempt with the number `held` waits for
   * `release`: what the reader does meanwhile, they do during an attempt.
   */
  const badLine = (held = 0) => {
    const line = { loses: 'posts' as 'posts' | 'answers' | 'nothing', held, begun: 0, failed: 0, release: () => {} }
    const isReleased = new Promise<void>((resolve) => (line.release = resolve))
    const prepare = async (page: Window['page']): Promise<void> => {
      page.on('requestfailed', (request) => void (request.method() === 'POST' && line.failed++))
      await page.route('**/engagement/comments?*', async (route) => {
        if (route.request().method() !== 'POST') return route.continue()
        const { loses } = line
        const response = loses === 'posts' ? null : await route.fetch()
        if (++line.begun === line.held) await isReleased
        return response === null || loses === 'answers' ? route.abort() : route.fulfill({ response })
      })
    }
    return { line, prepare }
  }

  /** A comment that Ann has posted in vain, four times. */
  const postInVain = async (text: string, held?: number) => {
    const article = newArticle()
    const { line, prepare } = badLine(held)
    const ann = await paper.read(article, { as: 'ann', prepare })
    await ann.write(text)
    await ann.sees('The service does not answer. Your text is kept, and sent')
    return { article, line, ann, box: ann.thread.getByRole('textbox') }
  }
  const isEditable = (box: Locator) => vi.waitFor(async () => expect(await box.isEditable()).toBe(true), WAIT)
  /** The answer to the post is there, so that no request outlives the test. */
  const isEmpty = (box: Locator) => vi.waitFor(async () => expect(await box.inputValue()).toBe(''), WAIT)
  const has = (article: string, bodies: readonly string[]) =>
    vi.waitFor(async () => expect(await comments(article)).toEqual(bodies), WAIT)
  /** The browser has noticed nothing. */
  const tellOfLine = ({ page }: Window) => page.evaluate(() => void dispatchEvent(new Event('online')))

  test('does not send what the reader takes back while it is tried again', async () => {
    const { article, line, ann, box } = await postInVain('Not this', 5)
    await tellOfLine(ann)
    await vi.waitFor(() => expect(line.begun).toBe(5), WAIT)
    await ann.button('Cancel').click()
    line.release()
    await isEditable(box)
    line.loses = 'nothing'
    await tellOfLine(ann)
    expect(await box.inputValue()).toBe('Not this')
    expect([line.begun, await comments(article)]).toEqual([5, []])
    await ann.button('Post').click()
    await has(article, ['Not this'])
    await isEmpty(box)
  })

  test('does not send a reply that the reader closes while it is sent', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    const { line, prepare } = badLine(1)
    const ann = await paper.read(article, { as: 'ann', prepare })
    await ann.button('Reply').click()
    const box = ann.thread.getByRole('textbox', { name: /^Reply to/ })
    await box.fill('Not this')
    await ann.page.keyboard.press('Control+Enter')
    await vi.waitFor(() => expect(line.begun).toBe(1), WAIT)
    await ann.page.keyboard.press('Escape')
    await vi.waitFor(async () => expect(await box.count()).toBe(0), WAIT)
    line.release()
    await vi.waitFor(() => expect(line.failed).toBe(1), WAIT)
    await ann.button('Reply').click()
    await isEditable(box)
    expect(await box.inputValue()).toBe('Not this')
    line.loses = 'nothing'
    await tellOfLine(ann)
    expect([line.begun, await comments(article)]).toEqual([1, ['The first']])
  })

  test('deletes a post that the reader takes back while the service takes it', async () => {
    const { article, line, ann, box } = await postInVain('Not this', 5)
    line.loses = 'nothing'
    await tellOfLine(ann)
    await vi.waitFor(() => expect(line.begun).toBe(5), WAIT)
    await ann.button('Cancel').click()
    line.release()
    await isEditable(box)
    expect([await box.inputValue(), await comments(article)]).toEqual(['Not this', []])
    expect(await ann.thread.locator('article').count()).toBe(0)
    // Under a key of its own.
    await ann.button('Post').click()
    await has(article, ['Not this'])
    await isEmpty(box)
  })

  test.each([
    { when: 'while the service takes it', held: 5, begun: 5 },
    { when: 'while it waits', held: 0, begun: 8 },
  ])('deletes a post that the reader takes back $when, where its answer is lost', async ({ held, begun }) => {
    const { article, line, ann, box } = await postInVain('Not this', held)
    line.loses = 'answers'
    await tellOfLine(ann)
    await vi.waitFor(() => expect(line.begun).toBe(begun), WAIT)
    await ann.button('Cancel').click()
    line.release()
    await isEditable(box)
    expect(await comments(article)).toEqual(['Not this'])
    line.loses = 'nothing'
    await tellOfLine(ann)
    await has(article, [])
    expect(await box.inputValue()).toBe('Not this')
    // Under a key of its own.
    await ann.button('Post').click()
    await has(article, ['Not this'])
    await isEmpty(box)
  })

  test('does not send what waits as another reader, who has signed in in another tab', async () => {
    const { article, line, ann, box } = await postInVain('Of ann')
    await ann.page.context().addCookies([{ name: 'reader', value: 'bob', url: paper.site.url }])
    line.loses = 'nothing'
    await tellOfLine(ann)
    await isEditable(box)
    expect([await box.inputValue(), line.begun, await comments(article)]).toEqual(['Of ann', 4, []])
  })

  test('says in its own place that the service is away, until it is back', async () => {
    const article = newArticle()
    await paper.post(article, 'bob', 'The first')
    let isDown = true
    const window = await paper.read(article, {
      query: 'written=The comments come with JavaScript.',
      prepare: (page) =>
        page.route('**/engagement/**', (route) =>
          isDown ? route.fulfill({ status: 503, body: '<h1>Bad gateway</h1>' }) : route.continue(),
        ),
    })
    expect(await isShown(window, 'The comments come with JavaScript.')).toBe(true)
    await window.page.getByText('The comments cannot be loaded.').waitFor()
    expect(await isShown(window, 'The comments come with JavaScript.')).toBe(false)
    await setOffline(window, true)
    await window.page.getByText('You are offline.').waitFor()
    isDown = false
    // Nobody presses the button.
    await setOffline(window, false)
    await window.sees('The first')
  })

  test('says of an edit that there is no connection until it is back, and keeps its text', async () => {
    const article = newArticle()
    await paper.post(article, 'ann', 'One')
    const ann = await paper.read(article, { as: 'ann' })
    await ann.choose('Edit')
    await ann.thread.getByRole('textbox', { name: 'Edit' }).fill('Two')
    await setOffline(ann, true)
    await ann.button('Save').click()
    await ann.sees('There is no connection. Try again in a moment.')
    await setOffline(ann, false)
    await ann.seesNot('There is no connection.')
    expect(await ann.thread.getByRole('textbox', { name: 'Edit' }).inputValue()).toBe('Two')
    await ann.button('Save').click()
    await ann.sees(/edited[^]*Two/)
  })

  test.each(['ann', undefined])('says of what has no text that it failed, until the line is back (%s)', async (as) => {
    const article = newArticle()
    for (let n = 0; n < 3; n++) await paper.post(article, `reader-${n}`, `Comment ${n}`)
    const window = await paper.read(article, { ...(as !== undefined && { as }), query: 'page-size=2' })
    await window.sees('Comment 2')
    await setOffline(window, true)
    await window.sees('You are offline.')
    await window.button('More comments').click()
    if (as !== undefined) await window.button('Like').first().click()
    const told = window.thread.getByRole('alert')
    await vi.waitFor(async () => expect(await told.count()).toBe(as === undefined ? 1 : 2), WAIT)
    for (const text of await told.allInnerTexts()) expect(text).toBe('There is no connection. Try again in a moment.')
    await setOffline(window, false)
    await vi.waitFor(async () => expect(await told.count()).toBe(0), WAIT)
  })
})
