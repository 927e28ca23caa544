import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { openDesk, WAIT } from '../harness/console.ts'

const resultOf = (page: Page) => page.getByRole('region', { name: 'Result Window' }).getByRole('textbox')

async function putKey(page: Page, key: string): Promise<void> {
  await page.getByRole('region', { name: 'Headers' }).getByRole('textbox').focus()
  // Between the quotes of the second line.
  for (const press of ['Control+Home', 'ArrowDown', 'End', 'ArrowLeft']) await page.keyboard.press(press)
  await page.keyboard.insertText(key)
}

describeInBrowser('GraphiQL', () => {
  const desk = openDesk()

  test('is served without third parties, and runs queries and subscriptions with the key in its headers', async () => {
    const page = await desk.browser.newPage()
    const foreign: string[] = []
    page.on('request', (request) => {
      const url = request.url()
      if (!/^(blob|data):/.test(url) && !url.startsWith(desk.service.url)) foreign.push(url)
    })
    await page.goto(`${desk.service.url}/graphql`)
    const said = resultOf(page)
    // The schema needs no key: completion and documentation work at once.
    await page.getByRole('button', { name: /Documentation Explorer/ }).click()
    await page.getByRole('link', { name: 'Query' }).or(page.getByText('query: Query')).first().waitFor()
    expect(await said.inputValue()).not.toContain('errors')
    await putKey(page, 'ek_wrong')
    const write = async (operation: string) => {
      await page.getByRole('region', { name: 'Operation Editor' }).getByRole('textbox').first().focus()
      await page.keyboard.press('Control+A')
      await page.keyboard.insertText(operation)
    }
    const run = async () => {
      // GraphiQL takes a moment to know a new operation.
      await page.keyboard.press('Control+Enter')
      return said.inputValue()
    }
    await write('subscription { moderationQueueChanged { pending } }')
    await expect.poll(run, { ...WAIT, interval: 500 }).toMatch(/^\{\s+"errors": \[\s+\{\s+"message": "X-API-Key/)
    await write('query Discussions { discussions { nodes { id } } }')
    await page.getByRole('region', { name: 'Headers' }).getByRole('textbox').focus()
    for (const _ of 'ek_wrong') await page.keyboard.press('Backspace')
    await page.keyboard.insertText(desk.service.apiKey)
    await page.getByRole('button', { name: /^Execute query/ }).click()
    await expect.poll(() => said.inputValue(), WAIT).toContain('nodes')
    // A subscription comes over SSE: its first event is a replay.
    const headers = await desk.service.as('ann')
    const path = '/discussions/by-external/followed/comments'
    const { json } = await desk.service.call('POST', path, { body: { body: 'Hello' }, headers })
    await write(
      `subscription { discussionEvents(discussionId: "${json.discussionId}", lastEventId: "0") { type seq } }`,
    )
    await expect.poll(run, { ...WAIT, interval: 500 }).toContain('comment_created')
    expect(foreign).toEqual([])
    await page.close()
  })

  test('opens with the explorer of fields, and a query that shows a page of comments', async () => {
    const headers = await desk.service.as('ann')
    const path = '/discussions/by-external/article-1/comments'
    await desk.service.call('POST', path, { body: { body: 'Hello' }, headers })
    const page = await desk.browser.newPage()
    await page.goto(`${desk.service.url}/graphql`)
    await page.locator('.graphiql-explorer-root').getByText('discussionCounts').waitFor()
    // At the beginning of the explorer, though it focuses the inputs that it makes.
    await page.locator('.graphiql-explorer-root').getByText('endCursor').waitFor({ state: 'attached' })
    expect(await page.evaluate(`document.querySelector('.graphiql-plugin').scrollTop`)).toBe(0)
    await putKey(page, desk.service.apiKey)
    await page.getByRole('button', { name: /^Execute query/ }).click()
    await expect.poll(() => resultOf(page).inputValue(), WAIT).toContain('"commentCount": 1')
    await page.close()
  })
})
