import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'

describeInBrowser('API keys in the console', () => {
  const desk = openDesk()

  test('by keyboard alone: create a key, call the API with it, revoke it', async () => {
    const page = await desk.visit('/keys', { pollsFast: true })
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await enter(button('Create a key'))
    await tabTo(page.getByRole('textbox', { name: 'Label' }))
    await page.keyboard.type('For the tests')
    const chosen = () =>
      page
        .getByRole('checkbox', { checked: true })
        .evaluateAll((boxes) => boxes.map((box) => box.getAttribute('value')))
    await enter(button('Moderation tool'))
    expect(await chosen()).toEqual(['moderate_content', 'view_analytics'])
    await enter(button('Website'))
    expect(await chosen()).toEqual([])
    await tabTo(page.getByRole('checkbox', { name: 'view_analytics' }))
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')

    const key = (await page.getByLabel('The secret').textContent()) ?? ''
    await enter(button('Copy'))
    await button('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key)
    const call = () => desk.service.call('GET', '/analytics/summary', { headers: { 'x-api-key': key } })
    expect((await call()).status).toBe(200)
    await enter(button('I have stored it'))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(key)
    const row = page.getByRole('row', { name: /For the tests/ })
    await expect.poll(() => row.getByRole('cell').nth(4).textContent(), WAIT).not.toBe('never')

    await enter(button('Revoke For the tests'))
    await enter(button('Revoke'))
    await row.getByText('revoked').waitFor()
    expect((await call()).status).toBe(401)
  })

  test('the backend of pages is tested there, and what is typed outlives new keys', async () => {
    const page = await desk.visit('/keys#backend', { pollsFast: true })
    const heading = page.getByRole('heading', { name: 'Test your backend' })
    await expect.poll(() => heading.evaluate((each) => each === document.activeElement), WAIT).toBe(true)
    const address = page.getByRole('textbox', { name: 'Address of the backend' })
    await address.fill('https://127.0.0.1:9/engagement')
    await desk.ok('POST', '/keys', { label: 'Made meanwhile', capabilities: [] })
    await page.getByRole('row', { name: /Made meanwhile/ }).waitFor()
    expect(await address.inputValue()).toBe('https://127.0.0.1:9/engagement')
    await enter(page.getByRole('button', { name: 'Test', exact: true }))
    await page.getByText('The backend does not answer: connection refused.').waitFor()
  })

  test('at 390 pixels nothing lies over the capabilities of a key', async () => {
    await desk.ok('POST', '/keys', { label: 'Narrow', capabilities: ['moderate_content', 'view_analytics'] })
    const page = await desk.visit('/keys')
    await page.setViewportSize({ width: 390, height: 844 })
    const row = page.getByRole('row', { name: /Narrow/ })
    await row.waitFor()
    const ends = await row
      .locator('td')
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect()).map(({ left, right }) => [left, right]))
    expect(ends).toHaveLength(7)
    for (const [n, [left]] of ends.entries()) if (n > 0) expect(left).toBeGreaterThanOrEqual(ends[n - 1]![1]! - 1)
  })

  test('a refusal about no field is shown above the form, with the focus there', async () => {
    const setBudget = (activeKeyBudget: number) => desk.ok('PATCH', '/settings', { activeKeyBudget })
    await setBudget(1)
    const page = await desk.visit('/keys')
    await enter(page.getByRole('button', { name: 'Create a key' }))
    await tabTo(page.getByRole('textbox', { name: 'Label' }))
    await page.keyboard.type('One too many')
    await page.keyboard.press('Enter')
    const alert = page.getByRole('dialog').getByRole('alert')
    await alert.getByText('The budget is 1 active key;').waitFor()
    await expect.poll(() => alert.evaluate((element) => element === document.activeElement), WAIT).toBe(true)
    expect(await alert.evaluate((element) => element.getBoundingClientRect().top)).toBeGreaterThan(0)
    await setBudget(20)
  })

  test('finds a key by the words of its label, wherever it is in the list', async () => {
    for (const label of ['Print desk', 'Website, staging']) await desk.ok('POST', '/keys', { label, capabilities: [] })
    const page = await desk.visit('/keys')
    const rows = page.getByRole('table').getByRole('row')
    await rows.nth(2).waitFor()
    // The console asks for one key a page, so that the match is on a later one.
    await page.route('**/graphql', async (route) => {
      const body = route.request().postDataJSON()
      if (body.variables?.first === 100) body.variables.first = 1
      await route.continue({ postData: JSON.stringify(body) })
    })
    await page.reload()
    await page.getByRole('row').nth(1).waitFor()
    expect(await page.getByRole('button', { name: 'More' }).count()).toBe(1)
    await tabTo(page.getByRole('searchbox', { name: 'Label or beginning of the key' }))
    await page.keyboard.type('DESK print')
    await expect.poll(() => new URL(page.url()).search, WAIT).toBe('?search=DESK+print')
    await page.getByRole('row', { name: /Print desk/ }).waitFor()
    expect(await rows.count()).toBe(2)
    await page.getByRole('searchbox').fill('no such label')
    await page.getByText('No key was found').waitFor()
    await page.goto(`${desk.service.url}/console/keys?search=staging`)
    await page.getByRole('row', { name: /Website, staging/ }).waitFor()
    await expect.poll(() => rows.count(), WAIT).toBe(2)
    await page.getByText('Revoke', { exact: true }).click()
    await page.keyboard.press('Escape')
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await desk.visit('/keys', { view: NARROW })
    await page.getByRole('table').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page, 'keys')
  })
})
