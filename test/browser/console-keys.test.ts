import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'

describeInBrowser('API keys in the console', () => {
  const desk = openDesk()

  test('by keyboard alone: create a key, call the API with it, revoke it', async () => {
    const { page, complaints, close } = await desk.visit('/keys', { pollsFast: true })
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await enter(button('Create a key'))
    await tabTo(page.getByRole('textbox', { name: 'Label' }))
    await page.keyboard.type('For the tests')
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
    expect(complaints).toEqual([])
    await close()
  })

  test('a refusal about no field is shown above the form, with the focus there', async () => {
    const setBudget = (activeKeyBudget: number) => desk.ok('PATCH', '/settings', { activeKeyBudget })
    await setBudget(1)
    const { page, close } = await desk.visit('/keys')
    await enter(page.getByRole('button', { name: 'Create a key' }))
    await tabTo(page.getByRole('textbox', { name: 'Label' }))
    await page.keyboard.type('One too many')
    await page.keyboard.press('Enter')
    const alert = page.getByRole('dialog').getByRole('alert')
    await alert.getByText('The budget is 1 active key;').waitFor()
    await expect.poll(() => alert.evaluate((element) => element === document.activeElement), WAIT).toBe(true)
    expect(await alert.evaluate((element) => element.getBoundingClientRect().top)).toBeGreaterThan(0)
    await setBudget(20)
    await close()
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const { page, complaints, close } = await desk.visit('/keys', { view: NARROW })
    await page.getByRole('table').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page, 'keys')
    expect(complaints).toEqual([])
    await close()
  })
})
